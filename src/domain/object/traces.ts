import {
  entryName,
  type IndexEntry,
  type ObjectPut,
  type StoredObject,
  type Traces,
} from '../store/objects'
import { hasOwnKey, indexedValues, indexKey } from '../value/index-key'
import { type WireObject, parseStored } from '../value/value'
import { blobsIn, mentionsBlobs } from '../value/blob'
import type { Table, TableIndex } from '../store/tables'

const NONE: readonly never[] = []

/** An object as its text, with its properties, which are read only where they are needed. */
export interface Readable {
  readonly text: string
  readonly object: WireObject
}

/**
 * The entries of an object in the indexes of a store. Its properties are read only if they are
 * needed.
 */
export function tracesOf(table: Table, readable: Readable): Traces {
  return {
    entries: table.indexes.length === 0 ? NONE : entriesOf(table, readable.object),
    blobs: mentionsBlobs(readable.text) ? blobsIn(readable.object) : NONE,
  }
}

/** A stored value, which is parsed when its properties are first needed. */
export function readableOf(text: string): Readable {
  let parsed: WireObject | undefined
  return {
    text,
    get object() {
      return (parsed ??= parseStored(text))
    },
  }
}

/** The traces of an object that is replaced or removed; none of a damaged one, whose value is lost. */
export function tracesBefore(table: Table, previous: StoredObject): Traces {
  if (previous.isDamaged === true) return { entries: NONE, blobs: NONE }
  return tracesOf(table, readableOf(previous.value))
}

/** The entries an object has in the declared indexes of its table. */
export function entriesOf(table: Table, object: WireObject): Entries {
  const parts = table.indexes.map((index) => ({ index, values: indexedValues(index, object) }))
  return encode(parts)
}

type Entries = Traces['entries']

/** The traces of an object that replaces another one. Entries that both have are left out. */
interface Replacement extends Required<Pick<ObjectPut, 'previousTraces'>>, Traces {
  /** How many entries of the replaced object are removed. */
  readonly removed: number
}

/** Compares a stored object with the one that replaces it, index by index. */
export function replacementOf(table: Table, previous: Readable, next: Readable): Replacement {
  const blobs = mentionsBlobs(next.text) ? blobsIn(next.object) : NONE
  const previousBlobs = mentionsBlobs(previous.text) ? blobsIn(previous.object) : NONE
  const [removed, added] = changedValues(table, previous, next)
  const [previousEntries, entries] = differing(removed, added)
  return {
    entries,
    blobs,
    previousTraces: { entries: previousEntries, blobs: previousBlobs },
    removed: countOf(removed),
  }
}

/** Values of an object that one index has keys for. */
interface Indexed {
  readonly index: TableIndex
  readonly values: readonly unknown[]
}

/** The values that only the first object has, and those that only the second one has. */
function changedValues(table: Table, previous: Readable, next: Readable): [Indexed[], Indexed[]] {
  const removed: Indexed[] = []
  const added: Indexed[] = []
  if (table.indexes.length > 0 && previous.text !== next.text) {
    const [before, after] = [previous.object, next.object]
    for (const index of table.indexes) {
      const old = indexedValues(index, before)
      const current = indexedValues(index, after)
      removed.push({ index, values: valuesWithout(old, current) })
      added.push({ index, values: valuesWithout(current, old) })
    }
  }
  return [removed, added]
}

/** The values whose key may not be among those of the others. */
function valuesWithout(values: readonly unknown[], others: readonly unknown[]): readonly unknown[] {
  if (values.length === 1 && others.length === 1) {
    return values[0] === others[0] && hasOwnKey(values[0]) ? NONE : values
  }
  const known = new Set(others)
  return values.filter((value) => !known.has(value) || !hasOwnKey(value))
}

/** The entries of both without those that both have. */
function differing(removed: readonly Indexed[], added: readonly Indexed[]): [Entries, Entries] {
  const [before, after] = [encode(removed), encode(added)]
  const isCompared = isList(before) && isList(after)
  return isCompared && hasShared(removed) && hasShared(added)
    ? [entriesWithout(before, after), entriesWithout(after, before)]
    : [before, after]
}

function hasShared(parts: readonly Indexed[]): boolean {
  return parts.some(({ values }) => values.some((value) => !hasOwnKey(value)))
}

function entriesWithout(entries: readonly IndexEntry[], others: readonly IndexEntry[]) {
  const known = new Set(others.map(entryName))
  return entries.filter((entry) => !known.has(entryName(entry)))
}

/** More entries are encoded one by one while they are written: thousands take time and memory. */
const MAX_LISTED_ENTRIES = 1_000

/** False for entries that are made while they are taken. */
function isList(entries: Entries): entries is readonly IndexEntry[] {
  return Array.isArray(entries)
}

function encode(parts: readonly Indexed[]): Entries {
  const count = countOf(parts)
  if (count > MAX_LISTED_ENTRIES) return { count, [Symbol.iterator]: () => encodeEach(parts) }
  const entries: IndexEntry[] = []
  for (const { index, values } of parts) {
    for (const value of values) {
      const key = indexKey(index, value)
      if (key !== undefined) entries.push({ index: index.number, key })
    }
  }
  return entries
}

function* encodeEach(parts: readonly Indexed[]): Generator<IndexEntry> {
  for (const { index, values } of parts) {
    for (const value of values) {
      const key = indexKey(index, value)
      if (key !== undefined) yield { index: index.number, key }
    }
  }
}

function countOf(parts: readonly Indexed[]): number {
  let count = 0
  for (const { values } of parts) count += values.length
  return count
}

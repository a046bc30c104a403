import type { Change, TimedObject } from '../store/objects'
import { type WireObject, getOwn, parseStored } from '../value/value'
import type { NamedKey } from './named-keys'
import { namesSince, readStamps, stampedSince } from '../object/stamps'

/** The operations of a message to clients, which fold them by key in any case (protocol.md §4.8). */
export interface Operations {
  /** `value` is the stored text of the object. */
  upsert(table: string, key: string, value: string): void
  /** Several at once: keys as JSON strings and stored texts, each joined by commas. */
  upserts(table: string, keys: string, values: string): void
  /** `spec` is the JSON text of a changeSpec. */
  update(table: string, key: string, spec: string): void
  delete(table: string, key: string): void
  /** The characters of the text so far, roughly. */
  readonly size: number
  /** `{table, muts}` entries as JSON, joined by commas; empty when there is no operation. */
  text(): string
}

type Type = 'upsert' | 'update' | 'delete'

/** The field of an operation that has one element for each key; deletes have none. */
const VALUES = { upsert: 'values', update: 'changeSpecs', delete: undefined } as const

/** Collects operations in their order. Consecutive ones of a table and type become one. */
export function createOperations(): Operations {
  const entries: string[] = []
  let muts: string[] = []
  let table: string | undefined
  let type: Type | undefined
  let keys: string[] = []
  let values: string[] = []
  let size = 0

  function endOperation(): void {
    if (type === undefined) return
    const field = VALUES[type]
    const list = field === undefined ? '' : `,"${field}":[${joined(values)}]`
    muts.push(`{"type":"${type}","keys":[${joined(keys)}]${list}}`)
    type = undefined
    keys = []
    values = []
  }

  function endTable(): void {
    endOperation()
    if (table === undefined) return
    entries.push(`{"table":${JSON.stringify(table)},"muts":[${joined(muts)}]}`)
    table = undefined
    muts = []
  }

  /** `key` is JSON; it and `value` may be several, joined by commas. */
  function add(toTable: string, ofType: Type, key: string, value: string): void {
    if (toTable !== table) {
      endTable()
      table = toTable
    }
    if (ofType !== type) {
      endOperation()
      type = ofType
    }
    keys.push(key)
    if (ofType !== 'delete') values.push(value)
    size += key.length + value.length
  }

  return {
    upsert: (toTable, key, value) => add(toTable, 'upsert', JSON.stringify(key), value),
    upserts(toTable, some, texts) {
      if (some !== '') add(toTable, 'upsert', some, texts)
    },
    update: (toTable, key, spec) => add(toTable, 'update', JSON.stringify(key), spec),
    delete: (toTable, key) => add(toTable, 'delete', JSON.stringify(key), ''),
    get size() {
      return size
    },
    text() {
      endTable()
      return joined(entries)
    },
  }
}

/** A single text is not copied: thousands of rows may be one. */
function joined(texts: readonly string[]): string {
  return texts.length === 1 ? (texts[0] ?? '') : texts.join(',')
}

/**
 * The operations that bring a client from revision `base` to these changes, as JSON (rule 8 of
 * merging): entries joined by commas, empty when there is none. The changes are those that the
 * client may see.
 */
export function changeMessage(changes: readonly Change[], base: number): string {
  const operations = createOperations()
  for (const change of changes) addChange(operations, change, base)
  return operations.text()
}

/** Adds the change of a row for a client that had all changes up to `base`. */
export function addChange(operations: Operations, change: Change, base: number): void {
  const { table, key, object } = change
  if (object === null) operations.delete(table, key)
  else addRow(operations, table, object, base)
}

/**
 * Adds a row as it is now: an `update` with the properties that were written after `base`, so that
 * properties of the client alone survive, and an `upsert` when the client cannot have the row, or
 * when an update cannot say the difference.
 */
function addRow(operations: Operations, table: string, object: TimedObject, base: number): void {
  const spec = object.entered > base ? undefined : specSince(object, base)
  add(operations, table, object, spec)
}

/**
 * Adds the row of a key that a request named (rule 8 of merging): the properties that were written
 * since its base or that the request wrote, unless the client cannot have the row.
 */
export function addNamedRow(
  operations: Operations,
  table: string,
  object: TimedObject,
  { base, isRejected, revision, names }: NamedKey,
): void {
  const isOwn = revision !== undefined && object.entered === revision
  const isKnown = isOwn || (base !== undefined && object.entered <= base)
  if (!isKnown || isRejected || names === undefined) {
    return operations.upsert(table, object.key, object.value)
  }
  const value = parseStored(object.value)
  const since = isOwn ? unknownTo(object, value, base ?? 0) : writtenSince(object, base ?? 0)
  add(operations, table, object, since && specOf(value, since.union(names)))
}

function add(
  operations: Operations,
  table: string,
  { key, value }: TimedObject,
  spec: string | undefined,
): void {
  if (spec === undefined) operations.upsert(table, key, value)
  else if (spec !== '{}') operations.update(table, key, spec)
}

/** The changeSpec of everything that was written after `base`; undefined when it cannot be said. */
function specSince(object: TimedObject, base: number): string | undefined {
  const names = writtenSince(object, base)
  return names && specOf(parseStored(object.value), names)
}

/**
 * The names of the properties of a row that a request made or moved into its realm, with those that
 * were removed since its base; undefined when they are not known because another replaced the row.
 */
function unknownTo(object: TimedObject, value: WireObject, base: number): Set<string> | undefined {
  const stamps = readStamps(object.stamps, object.updated, object.revision)
  const [, written] = stamps.rest
  if (written > base && written !== object.entered) return undefined
  return new Set(Object.keys(value)).union(stampedSince(stamps, base))
}

function writtenSince(object: TimedObject, base: number): Set<string> | undefined {
  return namesSince(readStamps(object.stamps, object.updated, object.revision), base)
}

/** Properties of an object as a changeSpec; undefined when one of the names would be a path. */
function specOf(value: WireObject, names: Iterable<string>): string | undefined {
  const members: string[] = []
  for (const name of names) {
    if (name.includes('.')) return undefined
    const text = Object.hasOwn(value, name) ? JSON.stringify(getOwn(value, name)) : UNDEFINED
    members.push(`${JSON.stringify(name)}:${text}`)
  }
  const spec = members.join(',')
  // Without it the application would see a reference that just arrived (protocol.md §8.3).
  const isFlagged = !spec.includes('"_bt":') || spec.includes('"_hasBlobRefs":')
  return isFlagged ? `{${spec}}` : `{${spec},"_hasBlobRefs":1}`
}

const UNDEFINED = '{"$t":"undefined"}'

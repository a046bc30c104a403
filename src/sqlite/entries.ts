import type { IndexEntry } from '../domain/store/objects'
import type { RealmRef } from '../domain/store/realms'
import type { Table } from '../domain/store/tables'
import { removeRefs } from './blobs'
import type { TxContext, WriteContext } from './context'
import { highestOf } from './located-rows'
import type { RowEntries } from './owed'

/** How many rows one statement adds: it costs almost as much as each of them. */
const ROWS = 8
const INSERT = 'INSERT OR IGNORE INTO index_entries (index_number, key, seq) VALUES'
const INSERT_ROW = `${INSERT} (?, ?, ?)`
const INSERT_ROWS = `${INSERT} ${Array.from({ length: ROWS }, (_, row) => `(?1, ?${2 * row + 2}, ?${2 * row + 3})`).join()}`

/** More entries than these are owed: they are written with others, between the steps of their unit. */
const FEW = 100

/** Adds entries of rows, now or before they are needed. */
export function putEntries(context: WriteContext, rows: readonly RowEntries[]): void {
  const { owed } = context.unit
  const count = countOf(rows)
  if (count > FEW || owed.count > 0) owed.add(rows, count)
  else
    for (const { seq, entries } of rows) for (const entry of entries) ADD.each(context, seq, entry)
}

/** Removes entries of rows, now or before they are needed. */
export function removeEntries(context: WriteContext, rows: readonly RowEntries[]): void {
  const { owed } = context.unit
  const count = countOf(rows)
  if (count > FEW || owed.count > 0) owed.remove(rows, count)
  else {
    for (const { seq, entries } of rows)
      for (const entry of entries) REMOVE.each(context, seq, entry)
  }
}

/** The number of entries; those that are made while they are taken say how many they are at most. */
function countOf(rows: readonly RowEntries[]): number {
  let count = 0
  for (const { entries } of rows) {
    if (Array.isArray(entries)) count += entries.length
    else count += (entries as { readonly count?: number }).count ?? FEW
  }
  return count
}

/** Writes the entries that the unit owes. Called before entries are looked up, and before a part that may be undone alone. */
export function payEntries(context: WriteContext): void {
  if (context.unit.owed.count === 0) return
  for (const _ of paying(context));
}

/** Writes the owed entries in slices of a few hundred. */
export function* paying(context: WriteContext): Generator<void> {
  for (const { removed, added } of context.unit.owed.take()) {
    yield* inKeyOrder(context, removed, REMOVE)
    yield* inKeyOrder(context, added, ADD)
  }
}

/** A change of the entries of one index. */
interface Change {
  each(context: WriteContext, seq: number, entry: IndexEntry): void
  /** Makes `ROWS` changes at once; `bindings` are key, position, key, position, and so on. */
  several?(context: WriteContext, index: number, bindings: readonly (Uint8Array | number)[]): void
}

const ADD: Change = {
  each(context, seq, { index, key }) {
    context.connection.prepare(INSERT_ROW).run(index, key, seq)
    noteHighest(context, index, key)
  },
  several(context, index, bindings) {
    context.connection.prepare(INSERT_ROWS).run(index, ...bindings)
    for (let at = 0; at < bindings.length; at += 2) {
      noteHighest(context, index, bindings[at] as Uint8Array)
    }
  },
}

const REMOVE: Change = {
  each({ connection }, seq, { index, key }) {
    connection
      .prepare('DELETE FROM index_entries WHERE index_number = ? AND key = ? AND seq = ?')
      .run(index, key, seq)
  },
}

function noteHighest(context: WriteContext, index: number, key: Uint8Array): void {
  const first = key[0] ?? 0
  if (first > highestOf(context, index)) context.unit.group.highest.set(index, first)
}

/** How many are put in order at once: they take memory, and their places must fit beside their ranks. */
export const MOST_OWED = 50_000

/** How many entries are gathered between two slices. */
const SLICE = 256

/** Takes the entries of rows in the order of their keys: neighbours in the index take half as long. */
function* inKeyOrder(
  context: WriteContext,
  rows: readonly RowEntries[],
  change: Change,
): Generator<void> {
  let gathered = new Map<number, Keyed>()
  let size = 0
  for (const { seq, entries } of rows) {
    for (const { index, key } of entries) {
      let keyed = gathered.get(index)
      if (keyed === undefined) gathered.set(index, (keyed = { keys: [], seqs: [] }))
      keyed.keys.push(key)
      keyed.seqs.push(seq)
      size += 1
      if (size % SLICE === 0) yield
      if (size < MOST_OWED) continue
      yield* takeGathered(context, gathered, change)
      gathered = new Map()
      size = 0
    }
  }
  yield* takeGathered(context, gathered, change)
}

/** Keys of one index, each with its position. */
interface Keyed {
  readonly keys: Uint8Array[]
  readonly seqs: number[]
}

function* takeGathered(
  context: WriteContext,
  gathered: ReadonlyMap<number, Keyed>,
  change: Change,
): Generator<void> {
  const size = change.several === undefined ? 1 : ROWS
  for (const [index, { keys, seqs }] of gathered) {
    const order = orderOf(keys)
    for (let from = 0; from < order.length; from += size) {
      const some = order.subarray(from, from + size)
      if (change.several === undefined || some.length < ROWS) {
        for (const at of some) change.each(context, seqs[at]!, { index, key: keys[at]! })
      } else {
        const bindings: (Uint8Array | number)[] = []
        for (const at of some) bindings.push(keys[at]!, seqs[at]!)
        change.several(context, index, bindings)
      }
      if (from % SLICE === 0) yield
    }
  }
}

/** Places beside the ranks of keys, all of which are exact in a number. */
const POSITIONS = 2 ** 16

/**
 * The places of keys in their order, as far as the first bytes in which they differ tell: to compare
 * whole keys would cost more than the order saves.
 */
function orderOf(keys: readonly Uint8Array[]): Float64Array {
  const shared = sharedBytes(keys)
  const order = new Float64Array(keys.length)
  for (let at = 0; at < keys.length; at += 1) order[at] = rankOf(keys[at]!, shared) * POSITIONS + at
  order.sort()
  for (let at = 0; at < keys.length; at += 1) order[at]! %= POSITIONS
  return order
}

/** The number of bytes with which all of the keys begin. */
function sharedBytes(keys: readonly Uint8Array[]): number {
  const [first = new Uint8Array()] = keys
  let shared = first.length
  for (const key of keys) {
    let at = 0
    while (at < shared && key[at] === first[at]) at += 1
    shared = at
  }
  return shared
}

/** The four and a half bytes from this place on as a number, which orders keys as their bytes do. */
function rankOf(key: Uint8Array, from: number): number {
  const byte = (at: number) => key[from + at] ?? 0
  return (((byte(0) * 256 + byte(1)) * 256 + byte(2)) * 256 + byte(3)) * 16 + (byte(4) >> 4)
}

export function dropEntries(context: TxContext, limit: number): number {
  const dropped = context.connection
    .prepare<{ number: number }>("SELECT number FROM indexes WHERE state = 'dropped' LIMIT 1")
    .get()
  if (dropped === null) return 0
  const { changes } = context.connection
    .prepare(
      'DELETE FROM index_entries WHERE (index_number, key, seq) IN (SELECT index_number, key, seq FROM index_entries WHERE index_number = ? LIMIT ?)',
    )
    .run(dropped.number, limit)
  if (changes === 0) {
    context.connection.prepare('DELETE FROM indexes WHERE number = ?').run(dropped.number)
  }
  return Math.max(changes, 1)
}

/** Removes the traces of a damaged object, which are not known: indexes and references are read whole. */
export function sweep(context: WriteContext, table: Table, seq: number): void {
  payEntries(context)
  const { prepare } = context.connection
  for (const { number } of table.indexes) {
    prepare('DELETE FROM index_entries WHERE index_number = ? AND seq = ?').run(number, seq)
  }
  const refs = prepare<{ blob: string; realm: RealmRef }>(
    'SELECT blob, realm FROM blob_refs WHERE seq = ? AND table_number = ?',
  ).all(seq, table.number)
  for (const { blob, realm } of refs) removeRefs(context, seq, { realm, blobs: [blob] })
}

import type { IndexEntry } from '../domain/store/objects'
import { andThen, type Awaitable } from '../domain/store/records'
import type { RealmRef } from '../domain/store/realms'
import type { Table } from '../domain/store/tables'
import { removeRefs } from './blobs'
import type { TxContext, WriteContext } from './context'
import { highestOf } from './places'
import type { Unit } from './unit'

/** Entries of the row at a position. */
export interface RowEntries {
  readonly seq: number
  readonly entries: Iterable<IndexEntry>
}

export function putEntries(context: WriteContext, rows: readonly RowEntries[]): Awaitable<void> {
  return inKeyOrder(context.unit, rows, (index, key, seq) => {
    context.connection
      .prepare('INSERT OR IGNORE INTO index_entries (index_number, key, seq) VALUES (?, ?, ?)')
      .run(index, key, seq)
    if ((key[0] ?? 0) > highestOf(context, index))
      context.unit.group.highest.set(index, key[0] ?? 0)
  })
}

export function removeEntries(context: WriteContext, rows: readonly RowEntries[]): Awaitable<void> {
  return inKeyOrder(context.unit, rows, (index, key, seq) => {
    context.connection
      .prepare('DELETE FROM index_entries WHERE index_number = ? AND key = ? AND seq = ?')
      .run(index, key, seq)
  })
}

/** Fewer entries are taken in the order in which they come. */
const FEW = 100

/**
 * Takes the entries of rows, those with the same key one after the other: neighbours in the index take
 * half as long. Entries that are made while they are taken follow row by row.
 */
function inKeyOrder(
  unit: Unit,
  rows: readonly RowEntries[],
  step: (index: number, key: Uint8Array, seq: number) => void,
): Awaitable<void> {
  let count = 0
  for (const { entries } of rows) if (Array.isArray(entries)) count += entries.length
  const isSimple = rows.length < 2 || count < FEW
  const groups = isSimple ? [] : groupByKey(rows)
  const others = isSimple ? rows : rows.filter(({ entries }) => !Array.isArray(entries))
  return andThen(
    inTurns(unit, groups, ({ index, key, seqs }) =>
      inTurns(unit, seqs, (seq) => step(index, key, seq)),
    ),
    () =>
      inTurns(unit, others, ({ seq, entries }) =>
        inTurns(unit, entries, ({ index, key }) => step(index, key, seq)),
      ),
  )
}

interface KeyGroup extends IndexEntry {
  readonly seqs: number[]
}

/** By the identity of keys: only equal values of one batch have the same one. */
function groupByKey(rows: readonly RowEntries[]): Iterable<KeyGroup> {
  const byIndex = new Map<number, Map<Uint8Array, KeyGroup>>()
  for (const { seq, entries } of rows) {
    if (!Array.isArray(entries)) continue
    for (const { index, key } of entries as readonly IndexEntry[]) {
      let byKey = byIndex.get(index)
      if (byKey === undefined) byIndex.set(index, (byKey = new Map<Uint8Array, KeyGroup>()))
      const group = byKey.get(key)
      if (group === undefined) byKey.set(key, { index, key, seqs: [seq] })
      else group.seqs.push(seq)
    }
  }
  return byIndex.values().flatMap((byKey) => byKey.values())
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
  const { prepare } = context.connection
  for (const { number } of table.indexes) {
    prepare('DELETE FROM index_entries WHERE index_number = ? AND seq = ?').run(number, seq)
  }
  const refs = prepare<{ blob: string; realm: RealmRef }>(
    'SELECT blob, realm FROM blob_refs WHERE seq = ? AND table_number = ?',
  ).all(seq, table.number)
  for (const { blob, realm } of refs) removeRefs(context, seq, { realm, blobs: [blob] })
}

/** How many items are taken between two readings of the clock. */
const ITEMS_PER_LOOK = 16

/**
 * Takes one item after the other. When the unit has run for a while, others get a turn between two
 * of them, and the unit may be ended there: `step` takes its connection from the context each time.
 */
export function inTurns<T>(
  unit: Unit,
  items: Iterable<T>,
  step: (item: T) => Awaitable<void>,
): Awaitable<void> {
  if (Array.isArray(items) && items.length === 0) return
  const rest = items[Symbol.iterator]()
  let count = 0

  function go(): Awaitable<void> {
    for (let next = rest.next(); next.done !== true; next = rest.next()) {
      count += 1
      const pause = step(next.value) ?? (count % ITEMS_PER_LOOK === 0 ? unit.breathe() : undefined)
      if (pause !== undefined) return pause.then(go)
    }
  }

  return go()
}

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

/** How many rows one statement adds: it costs almost as much as each of them. */
const ROWS = 8
const INSERT = 'INSERT OR IGNORE INTO index_entries (index_number, key, seq) VALUES'
const INSERT_ROW = `${INSERT} (?, ?, ?)`
const INSERT_ROWS = `${INSERT} ${Array.from({ length: ROWS }, (_, row) => `(?1, ?${2 * row + 2}, ?${2 * row + 3})`).join()}`

export function putEntries(context: WriteContext, rows: readonly RowEntries[]): Awaitable<void> {
  return inKeyOrder(context, rows, {
    each(index, key, seq) {
      context.connection.prepare(INSERT_ROW).run(index, key, seq)
      noteHighest(context, index, key)
    },
    several(index, bindings) {
      context.connection.prepare(INSERT_ROWS).run(index, ...bindings)
      for (let at = 0; at < bindings.length; at += 2) {
        noteHighest(context, index, bindings[at] as Uint8Array)
      }
    },
  })
}

function noteHighest(context: WriteContext, index: number, key: Uint8Array): void {
  const first = key[0] ?? 0
  if (first > highestOf(context, index)) context.unit.group.highest.set(index, first)
}

export function removeEntries(context: WriteContext, rows: readonly RowEntries[]): Awaitable<void> {
  return inKeyOrder(context, rows, {
    each(index, key, seq) {
      context.connection
        .prepare('DELETE FROM index_entries WHERE index_number = ? AND key = ? AND seq = ?')
        .run(index, key, seq)
    },
  })
}

/** A change of the entries of one index. */
interface Step {
  readonly each: (index: number, key: Uint8Array, seq: number) => void
  /** The same for `ROWS` of them, given as their keys and positions in turns. */
  readonly several?: (index: number, bindings: readonly (Uint8Array | number)[]) => void
}

/** Fewer entries are taken in the order in which they come. */
const FEW = 100
/** How many are put in order at once: they take memory, and their places must fit beside their ranks. */
const MOST = 50_000

/** Takes the entries of rows in the order of their keys: neighbours in the index take half as long. */
function inKeyOrder(
  { unit }: WriteContext,
  rows: readonly RowEntries[],
  step: Step,
): Awaitable<void> {
  let count = 0
  for (const { entries } of rows) count += Array.isArray(entries) ? entries.length : FEW
  if (count < FEW) {
    return inTurns(unit, rows, ({ seq, entries }) =>
      inTurns(unit, entries, ({ index, key }) => step.each(index, key, seq)),
    )
  }
  let gathered = new Map<number, Keyed>()
  let size = 0
  const takeGathered = () => {
    const all = gathered
    gathered = new Map()
    size = 0
    return inTurns(unit, [...all], ([index, keyed]) => takeOrdered(unit, index, keyed, step))
  }
  const gather = (seq: number, { index, key }: IndexEntry) => {
    let keyed = gathered.get(index)
    if (keyed === undefined) gathered.set(index, (keyed = { keys: [], seqs: [] }))
    keyed.keys.push(key)
    keyed.seqs.push(seq)
    size += 1
    return size < MOST ? undefined : takeGathered()
  }
  const gathering = inTurns(unit, rows, ({ seq, entries }) =>
    inTurns(unit, entries, (entry) => gather(seq, entry)),
  )
  return andThen(gathering, takeGathered)
}

/** Keys of one index, each with its position. */
interface Keyed {
  readonly keys: Uint8Array[]
  readonly seqs: number[]
}

function takeOrdered(
  unit: Unit,
  index: number,
  { keys, seqs }: Keyed,
  { each, several }: Step,
): Awaitable<void> {
  const order = orderOf(keys)
  const group = several === undefined ? 1 : ROWS
  const groups = Array.from({ length: Math.ceil(order.length / group) }, (_, at) => at * group)
  return inTurns(unit, groups, (from) => {
    const bindings: (Uint8Array | number)[] = []
    const end = Math.min(from + group, order.length)
    for (let place = from; place < end; place += 1) {
      const at = order[place]!
      if (several === undefined || end - from < ROWS) each(index, keys[at]!, seqs[at]!)
      else bindings.push(keys[at]!, seqs[at]!)
    }
    if (bindings.length > 0) several?.(index, bindings)
  })
}

/** Places beside the ranks of keys, all of which are exact in a number. */
const PLACES = 2 ** 16

/**
 * The places of keys in their order, as far as the first bytes in which they differ tell: to compare
 * whole keys would cost more than the order saves.
 */
function orderOf(keys: readonly Uint8Array[]): Float64Array {
  const shared = sharedBytes(keys)
  const order = new Float64Array(keys.length)
  for (let at = 0; at < keys.length; at += 1) order[at] = rankOf(keys[at]!, shared) * PLACES + at
  order.sort()
  for (let at = 0; at < keys.length; at += 1) order[at]! %= PLACES
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

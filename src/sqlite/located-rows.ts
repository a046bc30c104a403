import type { IndexLookup, StoredRow } from '../domain/store/objects'
import { objectTable } from './tables'
import { erasing } from './realms'
import type { TxContext } from './context'
import { checkedRow, type Summed } from './soundness'
import type { RealmRef } from '../domain/store/realms'
import type { Table } from '../domain/store/tables'

/**
 * The value of a row that may be of a realm that is not shown: a large one is null, because it takes
 * so long to read that a caller could tell that it is there (`shownRow`).
 */
export const SMALL_VALUE = 'CASE WHEN octet_length(value) <= 2048 THEN value END AS value'

type KeyRange = NonNullable<IndexLookup['range']>

export type FoundRow = Summed<Omit<StoredRow, 'value'> & { readonly value: string | null }>

/** The maximum size of values that one read holds, in bytes; else they are read one by one. */
export const READ_BYTES = 8 * 1024 * 1024

/** The row with its value, which is read when it is large. */
export function shownRow(context: TxContext, table: Table, row: FoundRow): StoredRow {
  return checkedRow(context, table, whole(context, table, row))
}

export function whole<Row extends FoundRow>(
  context: TxContext,
  table: Table,
  row: Row,
): Row & { readonly value: string } {
  return isWhole(row) ? row : { ...row, value: valueAt(context, table, row.seq) }
}

function isWhole<Row extends FoundRow>(row: Row): row is Row & { readonly value: string } {
  return row.value !== null
}

/** The value of a row that is there. */
function valueAt({ connection }: TxContext, table: Table, seq: number): string {
  const row = connection
    .prepare<{ value: string | null }>(
      `SELECT value FROM ${objectTable(table.number)} WHERE seq = ?`,
    )
    .get(seq)
  return row?.value ?? ''
}

/** The size of a value as far as it is held; that of a damaged row is not. */
export function sizeOf(row: StoredRow): number {
  return row.isDamaged === true ? 0 : row.value.length
}

/** Positions of the next rows of a list: it takes the memory of those, however long it is. */
export interface Located {
  /** Ascending. */
  readonly positions: Float64Array
  /** True when no others follow. */
  readonly isAll: boolean
  /** True when each of them is under a key of the look-up. */
  readonly isExact?: boolean
}

/** Positions that are located at once. */
const MAX_LOCATED_ROWS = 20_000
/** Entries that are visited at once, which takes about twenty milliseconds. */
const MAX_VISITED_ENTRIES = 100_000

/**
 * Locates the rows of realms after `after`; undefined when the realms have more than `bound` rows. Their index is
 * not in order of creation: all entries of the realms are visited.
 */
export function locateRealms(
  context: TxContext,
  table: Table,
  realms: ReadonlySet<RealmRef>,
  after: number,
  bound = MAX_VISITED_ENTRIES,
): Located | undefined {
  const { connection } = context
  const list = listOf(context, realms)
  const isMore = connection.prepare(`SELECT 1 ${inRealms(table)} LIMIT 1 OFFSET ?2`)
  if (isMore.get(list, bound) !== null) return undefined
  const rows = connection
    .prepare(`SELECT seq ${inRealms(table)} WHERE seq > ?2 ORDER BY seq LIMIT ?3`)
    .values(list, after, MAX_LOCATED_ROWS) as [number][]
  return {
    positions: Float64Array.from(rows, ([seq]) => seq),
    isAll: rows.length < MAX_LOCATED_ROWS,
  }
}

/**
 * Locates the rows after `after` that a look-up with a range leads to; undefined when the range has too many
 * entries. Those of one key are in order of creation, those of a range are not: all of them are visited.
 */
export function locateRange(
  context: TxContext,
  index: number,
  keys: IndexLookup['keys'],
  { lower, upper }: KeyRange,
  after: number,
): Located | undefined {
  const { connection } = context
  const range = 'FROM index_entries WHERE index_number = ?1 AND key >= ?2 AND key < ?3'
  const isMore = connection.prepare(`SELECT 1 ${range} LIMIT 1 OFFSET ?4`)
  if (isMore.get(index, lower, upper, MAX_VISITED_ENTRIES) !== null) return undefined
  // One row may have several entries in the range.
  const rows = connection
    .prepare(`SELECT DISTINCT seq ${range} AND seq > ?4 ORDER BY seq LIMIT ?5`)
    .values(index, lower, upper, after, MAX_LOCATED_ROWS) as [number][]
  const equal = positionsOfKeys(context, index, keys, after, MAX_LOCATED_ROWS)
  const both = new Set(equal)
  for (const [seq] of rows) both.add(seq)
  const positions = Float64Array.from(both).toSorted().subarray(0, MAX_LOCATED_ROWS)
  return { positions, isAll: positions.length < MAX_LOCATED_ROWS, isExact: rows.length === 0 }
}

/** True when the index may have entries in the range: most properties are never arrays. */
export function mayHold(context: TxContext, index: number, { lower }: KeyRange): boolean {
  return (lower[0] ?? 0) <= highestOf(context, index)
}

/** The first `most` positions after `after` that these keys lead to, ascending. */
export function positionsOfKeys(
  context: TxContext,
  index: number,
  keys: IndexLookup['keys'],
  after: number,
  most: number,
): Float64Array {
  const statement = context.connection.prepare(
    'SELECT seq FROM index_entries WHERE index_number = ? AND key = ? AND seq > ? AND seq <= ? ORDER BY seq LIMIT ?',
  )
  let first = new Float64Array(0)
  let last = Number.MAX_SAFE_INTEGER
  for (const key of keys) {
    const rows = statement.values(index, key, after, last, most) as [number][]
    if (rows.length === 0) continue
    if (keys.length === 1) return Float64Array.from(rows, ([seq]) => seq)
    const both = new Set([...first, ...rows.map(([seq]) => seq)])
    first = Float64Array.from(both).toSorted().subarray(0, most)
    if (first.length === most) last = first.at(-1)!
  }
  return first
}

/** The rows of realms in order of creation; undefined when there are more than `most`. */
export function rowsOfRealms(
  context: TxContext,
  table: Table,
  most: number,
  realms: ReadonlySet<RealmRef>,
): FoundRow[] | undefined {
  const rows = context.connection
    .prepare<FoundRow>(`SELECT seq, realm, ${SMALL_VALUE}, sum ${inRealms(table)} LIMIT ?2`)
    .all(listOf(context, realms), most + 1)
  return rows.length > most ? undefined : rows.toSorted((one, other) => one.seq - other.seq)
}

/** The rows at these positions that are still there, in their order, in one statement. */
export function rowsAt(
  { connection }: TxContext,
  table: Table,
  positions: Float64Array,
): FoundRow[] {
  if (positions.length === 0) return []
  return connection
    .prepare<FoundRow>(
      `SELECT seq, realm, ${SMALL_VALUE}, sum FROM (SELECT value AS wanted FROM json_each(?)) CROSS JOIN ${objectTable(table.number)} ON seq = wanted`,
    )
    .all(`[${positions.join(',')}]`)
}

/** One statement for all realms: a user may be in thousands of them. */
export function inRealms(table: Table): string {
  const name = objectTable(table.number)
  return `FROM (SELECT value AS wanted FROM json_each(?1)) CROSS JOIN ${name} INDEXED BY ${name}_realm ON realm = wanted`
}

export function listOf(context: TxContext, realms: ReadonlySet<RealmRef>): string {
  const hidden = erasing(context)
  const shown = hidden.size === 0 ? realms : [...realms].filter((realm) => !hidden.has(realm))
  return JSON.stringify([...shown])
}

/** No key of the index begins with a greater byte. */
export function highestOf({ committed, unit }: TxContext, index: number): number {
  return unit?.group.highest.get(index) ?? committed.highest.get(index) ?? 0
}

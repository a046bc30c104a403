import type { ChunkSize, IndexLookup, Places, StoredRow } from '../domain/store/objects'
import { objectTable } from './tables'
import { erasing } from './realms'
import type { TxContext } from './context'
import { memorizeText } from './state'
import { checkedRow, type Summed } from './soundness'
import type { RealmRef } from '../domain/store/realms'
import type { Table } from '../domain/store/tables'

/**
 * The value of a row that may be of a realm that is not shown: a large one is null, because it takes
 * so long to read that a caller could tell that it is there (`shownRow`).
 */
export const SMALL_VALUE = 'CASE WHEN octet_length(value) <= 2048 THEN value END AS value'

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

/** The rows that realms or a look-up lead to, undefined when there are more than one read may take. */
export function gather(
  context: TxContext,
  table: Table,
  after: number,
  size: ChunkSize,
  by: Places,
): StoredRow[] | undefined {
  const found =
    'lookup' in by
      ? rowsOfLookup(context, table, after, size.rows, by.lookup)
      : rowsOfRealms(context, table, after, size.rows, by.realms)
  if (found === undefined) return undefined
  const hidden = erasing(context)
  const rows: StoredRow[] = []
  let left = READ_BYTES
  for (const row of found) {
    if (by.realms?.has(row.realm) === false || hidden.has(row.realm)) continue
    const shown = shownRow(context, table, row)
    rows.push(shown)
    left -= sizeOf(shown)
    if (left < 0) return undefined
  }
  return rows.length < 2 ? rows : inOrder(rows)
}

/**
 * The values of the rows that `gather` finds in realms, joined by commas, in order of creation. The same
 * text again needs no look at its rows: their sums were right.
 */
export function gatherText(
  context: TxContext,
  table: Table,
  size: ChunkSize,
  realms: ReadonlySet<RealmRef>,
): string | undefined {
  const { verified, largest } = context.committed
  const isLight = (size.rows + 1) * (largest.get(table.number) ?? Infinity) <= READ_BYTES
  const list = listOf(context, realms)
  const place = `${table.number} of ${list.length < LONG_LIST ? list : Bun.hash.xxHash3(list)}`
  const known = verified.get(place)
  if (isLight && known !== undefined) {
    const text = joinedOf(context, table, size.rows, list)
    if (text !== undefined && Bun.hash.xxHash3(text) === known) return text
  }
  const rows = gather(context, table, 0, size, { realms })
  if (rows === undefined) return undefined
  const text = rows.map(({ value }) => value).join(',')
  if (isLight) memorizeText(context.committed, place, Bun.hash.xxHash3(text))
  return text
}

/** A longer list of realms, in characters, is known by its hash. */
const LONG_LIST = 100

/**
 * Joined by the database, no sum checked; undefined when there are more than `most` rows. SQLite visits the
 * members of an IN in their order, and sorting the values themselves would take three times as long.
 */
function joinedOf(
  context: TxContext,
  table: Table,
  most: number,
  list: string,
): string | undefined {
  const row = context.connection
    .prepare<{ text: string | null; total: number }>(
      `SELECT group_concat(value, ',') AS text, count(*) AS total FROM ${objectTable(table.number)} WHERE seq IN (SELECT seq ${inRealms(table)} LIMIT ?2)`,
    )
    .get(list, most + 1)
  return row === null || row.total > most ? undefined : (row.text ?? '')
}

function rowsOfRealms(
  context: TxContext,
  table: Table,
  after: number,
  most: number,
  realms: ReadonlySet<RealmRef>,
): FoundRow[] | undefined {
  // Not `seq > ?`: in a large realm that would skip over a large part of the index.
  const rows = context.connection
    .prepare<FoundRow>(`SELECT seq, realm, ${SMALL_VALUE}, sum ${inRealms(table)} LIMIT ?2`)
    .all(listOf(context, realms), most + 1)
  if (rows.length > most) return undefined
  return after === 0 ? rows : rows.filter(({ seq }) => seq > after)
}

/** One statement for all realms: a user may be in thousands of them. */
function inRealms(table: Table): string {
  const name = objectTable(table.number)
  return `FROM (SELECT value AS wanted FROM json_each(?1)) CROSS JOIN ${name} INDEXED BY ${name}_realm ON realm = wanted`
}

function listOf(context: TxContext, realms: ReadonlySet<RealmRef>): string {
  const hidden = erasing(context)
  const shown = hidden.size === 0 ? realms : [...realms].filter((realm) => !hidden.has(realm))
  return JSON.stringify([...shown])
}

function rowsOfLookup(
  context: TxContext,
  table: Table,
  after: number,
  most: number,
  { index, keys, range }: IndexLookup,
): FoundRow[] | undefined {
  if (!Number.isSafeInteger(index)) throw new RangeError('an index number is an integer')
  const since = after === 0 ? '' : 'AND seq > ?'
  const parameters = after === 0 ? [] : [after]
  const name = objectTable(table.number)
  let rows: FoundRow[] = []
  for (const key of keys) {
    const equal = context.connection.prepare<FoundRow>(equalTo(table, index, since, most + 1))
    const found = equal.all(key, ...parameters)
    rows = rows.length === 0 ? found : [...rows, ...found]
    if (rows.length > most) return undefined
  }
  // Most properties are never arrays, and then there is nothing to look for.
  if (range !== undefined && (range.lower[0] ?? 0) <= highestOf(context, index)) {
    // A join, because a row counts once for each of its entries in the range.
    const between = context.connection.prepare<FoundRow>(
      `SELECT seq, realm, ${SMALL_VALUE}, sum FROM index_entries CROSS JOIN ${name} USING (seq) WHERE index_number = ${index} AND index_entries.key >= ? AND index_entries.key < ? ${since} LIMIT ${most + 1}`,
    )
    rows.push(...between.all(range.lower, range.upper, ...parameters))
  }
  return rows.length > most ? undefined : rows
}

/** By table, index and limit: the text of a statement takes long to make and to hash. */
const EQUAL_TO: string[][][] = []

/**
 * Binding a parameter takes a tenth of the look-up, so our own numbers are part of the statement. Not a
 * join, which takes nearly twice as long for a single row.
 */
function equalTo({ number }: Table, index: number, since: string, limit: number): string {
  const texts = ((EQUAL_TO[number] ??= [])[index] ??= [])
  const known = since === '' ? texts[limit] : undefined
  if (known !== undefined) return known
  const text = `SELECT seq, realm, ${SMALL_VALUE}, sum FROM ${objectTable(number)} WHERE seq IN (SELECT seq FROM index_entries WHERE index_number = ${index} AND key = ? ${since} LIMIT ${limit})`
  if (since === '') texts[limit] = text
  return text
}

/** No key of the index begins with a greater byte. */
export function highestOf({ committed, unit }: TxContext, index: number): number {
  return unit?.group.highest.get(index) ?? committed.highest.get(index) ?? 0
}

/** Sorts by position and removes duplicates: several keys may lead to one row. */
function inOrder(rows: readonly StoredRow[]): StoredRow[] {
  const sorted = rows.toSorted((one, other) => one.seq - other.seq)
  return sorted.filter((row, place) => row.seq !== sorted[place - 1]?.seq)
}

/** The first positions that realms or a look-up lead to. */
export function locate(
  context: TxContext,
  table: Table,
  after: number,
  by: Places,
  most: number,
): Float64Array {
  return 'lookup' in by
    ? positionsOfLookup(context, by.lookup, after, most)
    : positionsOfRealms(context, table, by.realms, after, most)
}

/** How many rows of a table are skipped before the index of its realms is read instead. */
const NEAR = 20_000

/**
 * SQLite holds no more than `most` of them at a time, however many rows the realms have. Their index is
 * not in order of creation: all entries of the realms would be visited for each page, so those among the
 * next rows of the table come first. At most one page in that many rows visits the entries.
 */
function positionsOfRealms(
  context: TxContext,
  table: Table,
  realms: ReadonlySet<RealmRef>,
  after: number,
  most: number,
): Float64Array {
  const near = most < NEAR / 2 ? nearPositions(context, table, realms, after, most) : []
  if (near.length === most) return Float64Array.from(near, ([seq]) => seq)
  const rows = context.connection
    .prepare(`SELECT seq ${inRealms(table)} WHERE seq > ?2 ORDER BY seq LIMIT ?3`)
    .values(listOf(context, realms), after, most) as [number][]
  return Float64Array.from(rows, ([seq]) => seq)
}

function nearPositions(
  context: TxContext,
  { number }: Table,
  realms: ReadonlySet<RealmRef>,
  after: number,
  most: number,
): [number][] {
  return context.connection
    .prepare(
      `SELECT seq FROM (SELECT seq, realm FROM ${objectTable(number)} WHERE seq > ?2 ORDER BY seq LIMIT ${NEAR}) WHERE realm IN (SELECT value FROM json_each(?1)) ORDER BY seq LIMIT ?3`,
    )
    .values(listOf(context, realms), after, most) as [number][]
}

function positionsOfLookup(
  context: TxContext,
  lookup: IndexLookup,
  after: number,
  most: number,
): Float64Array {
  const first = firstPositions(context, lookup, after, most)
  if (lookup.range === undefined) return first
  const { lower, upper } = lookup.range
  const statement = context.connection.prepare(
    'SELECT seq FROM index_entries WHERE index_number = ? AND key >= ? AND key < ? AND seq > ? ORDER BY seq LIMIT ?',
  )
  const between = new Set<number>()
  // One row may have several entries in the range.
  for (let from: number | undefined = after; from !== undefined && between.size < most;) {
    const rows = statement.values(lookup.index, lower, upper, from, most) as [number][]
    for (const [seq] of rows) between.add(seq)
    from = rows.length < most ? undefined : rows.at(-1)?.[0]
  }
  return Float64Array.from(between.union(new Set(first)))
    .toSorted()
    .subarray(0, most)
}

/** Entries of one key are in order of creation, those of a range are not. */
export function mayWalk(context: TxContext, { index, range }: IndexLookup): boolean {
  const highest = highestOf(context, index)
  return range === undefined || (range.lower[0] ?? 0) > highest
}

/** The first `most` positions after `after` that these keys lead to, ascending. */
export function firstPositions(
  context: TxContext,
  { index, keys }: IndexLookup,
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

import type { RealmRef } from '../domain/store/realm'
import type { ChunkSize, IndexLookup, Places, StoredRow } from '../domain/store/objects'
import type { Table } from '../domain/store/table'
import { erasing } from './erasing'
import { objectTable } from './object-table'
import type { Scope } from './scope'

/** The rows that realms or a look-up lead to, undefined when there are more than one read may take. */
export function gather(
  scope: Scope,
  table: Table,
  after: number,
  size: ChunkSize,
  by: Places,
): StoredRow[] | undefined {
  if (!isLight(scope, table, size.rows)) return undefined
  const rows =
    'realms' in by
      ? ofRealms(scope, table, after, size.rows, by.realms)
      : ofLookup(scope, table, after, size.rows, by.lookup)
  if (rows === undefined || rows.length < 2) return rows
  return inOrder(rows)
}

/** What rows read in one go may weigh at the most, in bytes; else they are taken one by one. */
const HEAVIEST = 8 * 1024 * 1024

/** Whether so many rows of this table can be read without looking at their size first. */
export function isLight({ committed }: Scope, { number }: Table, rows: number): boolean {
  return rows * (committed.largest.get(number) ?? Infinity) <= HEAVIEST
}

function ofRealms(
  scope: Scope,
  table: Table,
  after: number,
  most: number,
  realms: ReadonlySet<RealmRef>,
): StoredRow[] | undefined {
  const name = objectTable(table.number)
  const statement = scope.connection.prepare<StoredRow>(
    `SELECT seq, realm, value FROM ${name} INDEXED BY ${name}_realm WHERE realm = ? LIMIT ?`,
  )
  const hidden = erasing(scope)
  const rows: StoredRow[] = []
  for (const realm of realms) {
    if (hidden.has(realm)) continue
    // Not `seq > ?`: in a large realm that passes over a large part of the index.
    rows.push(...statement.all(realm, most + 1 - rows.length))
    if (rows.length > most) return undefined
  }
  return after === 0 ? rows : rows.filter(({ seq }) => seq > after)
}

function ofLookup(
  scope: Scope,
  table: Table,
  after: number,
  most: number,
  { index, keys, range }: IndexLookup,
): StoredRow[] | undefined {
  if (!Number.isSafeInteger(index)) throw new RangeError('an index number is an integer')
  // Every parameter is a tenth of such a look-up: our own numbers are part of its text.
  const since = after === 0 ? '' : 'AND seq > ?'
  const parameters = after === 0 ? [] : [after]
  const name = objectTable(table.number)
  const rows: StoredRow[] = []
  // Not a join, which takes nearly twice as long for a single row.
  const equal = scope.connection.prepare<StoredRow>(
    `SELECT seq, realm, value FROM ${name} WHERE seq IN (SELECT seq FROM index_entries WHERE index_number = ${index} AND key = ? ${since} LIMIT ${most + 1})`,
  )
  for (const key of keys) {
    rows.push(...equal.all(key, ...parameters))
    if (rows.length > most) return undefined
  }
  // Most properties are never arrays, and then there is nothing to look for.
  if (range !== undefined && (range.lower[0] ?? 0) <= highestOf(scope, index)) {
    // A join, because a row with several entries in the range is to count as often.
    const between = scope.connection.prepare<StoredRow>(
      `SELECT seq, realm, value FROM index_entries CROSS JOIN ${name} USING (seq) WHERE index_number = ${index} AND index_entries.key >= ? AND index_entries.key < ? ${since} LIMIT ${most + 1}`,
    )
    rows.push(...between.all(range.lower, range.upper, ...parameters))
  }
  if (rows.length > most) return undefined
  const hidden = erasing(scope)
  return hidden.size === 0 ? rows : rows.filter(({ realm }) => !hidden.has(realm))
}

/** No key of the index begins with a greater byte. */
export function highestOf({ committed, unit }: Scope, index: number): number {
  return unit?.group.highest.get(index) ?? committed.highest.get(index) ?? 0
}

/** By position, and a row that several keys lead to once. */
function inOrder(rows: StoredRow[]): StoredRow[] {
  const sorted = rows.toSorted((one, other) => one.seq - other.seq)
  return sorted.filter((row, place) => row.seq !== sorted[place - 1]?.seq)
}

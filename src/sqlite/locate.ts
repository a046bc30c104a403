import type { RealmRef } from '../domain/store/realm'
import type { IndexLookup, Places } from '../domain/store/objects'
import type { Table } from '../domain/store/table'
import { erasing } from './erasing'
import { objectTable } from './object-table'
import type { Scope } from './scope'

/** Positions are gathered up to this part of a table; beyond, a scan is the better way (design.md §3). */
const GATHERED_PART = 1 / 4
/** A table smaller than this is gathered whatever the part. */
const SMALL = 1_000

/** The positions that realms or a look-up lead to, or undefined: scan instead. */
export function locate(
  scope: Scope,
  table: Table,
  after: number,
  by: Places,
): Float64Array | undefined {
  const within = (most: number) =>
    'realms' in by
      ? ofRealms(scope, table, by.realms, after, most)
      : ofLookup(scope, by.lookup, after, most)
  return within(SMALL) ?? within(Math.max(SMALL, Math.ceil(newest(scope, table) * GATHERED_PART)))
}

/** At most this many rows: positions only grow. */
function newest(scope: Scope, table: Table): number {
  const name = objectTable(table.number)
  const row = scope.connection
    .prepare<{ first: number | null; last: number | null }>(
      `SELECT (SELECT min(seq) FROM ${name}) AS first, (SELECT max(seq) FROM ${name}) AS last`,
    )
    .get()
  return row === null || row.first === null || row.last === null ? 0 : row.last - row.first + 1
}

function ofRealms(
  scope: Scope,
  table: Table,
  realms: ReadonlySet<RealmRef>,
  after: number,
  most: number,
): Float64Array | undefined {
  const name = objectTable(table.number)
  const statement = scope.connection.prepare<{ seq: number }>(
    `SELECT seq FROM ${name} INDEXED BY ${name}_realm WHERE realm = ? LIMIT ?`,
  )
  const hidden = erasing(scope)
  const found: number[] = []
  let seen = 0
  for (const realm of realms) {
    if (hidden.has(realm)) continue
    const rows = statement.values(realm, most + 1 - seen) as [number][]
    seen += rows.length
    if (seen > most) return undefined
    for (const [seq] of rows) if (seq > after) found.push(seq)
  }
  return Float64Array.from(found).toSorted()
}

function ofLookup(
  scope: Scope,
  lookup: IndexLookup,
  after: number,
  most: number,
): Float64Array | undefined {
  const found = new Set<number>()
  /** False when rows were left out: one row may have several entries, so `found` does not tell. */
  const collect = (rows: [number][]) => {
    for (const [seq] of rows) found.add(seq)
    return rows.length <= most && found.size <= most
  }
  const exact = scope.connection.prepare(
    'SELECT seq FROM index_entries WHERE index_number = ? AND key = ? AND seq > ? LIMIT ?',
  )
  for (const key of lookup.keys) {
    if (!collect(exact.values(lookup.index, key, after, most + 1) as [number][])) return undefined
  }
  if (lookup.range !== undefined) {
    const between = scope.connection.prepare(
      'SELECT seq FROM index_entries WHERE index_number = ? AND key >= ? AND key < ? AND seq > ? LIMIT ?',
    )
    const { lower, upper } = lookup.range
    const rows = between.values(lookup.index, lower, upper, after, most + 1) as [number][]
    if (!collect(rows)) return undefined
  }
  return Float64Array.from(found).toSorted()
}

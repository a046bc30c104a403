import type { IndexLookup, PageEnd, PageQuery } from '../domain/store/objects'
import type { RealmRef } from '../domain/store/realms'
import type { Table } from '../domain/store/tables'
import type { TxContext } from './context'
import { type FoundRow, inRealms, listOf, mayHold, rowsAt } from './located-rows'
import { objectTable } from './tables'

/** Of realms with more rows than this, enough are among the newest rows of the table. */
const MAX_VISITED_ROWS = 20_000

/** The next rows of a query, the newest first. */
export function newestRows(
  context: TxContext,
  table: Table,
  { lookup, realms, after, size }: PageQuery,
): { readonly found: Iterable<FoundRow>; readonly isExact: boolean } {
  const below = after?.seq ?? Number.MAX_SAFE_INTEGER
  const most = size.rows + 1
  if (lookup !== undefined && hasEntriesInOrder(context, lookup)) {
    const positions = newestUnder(context, lookup, below, most)
    return { found: rowsAt(context, table, positions), isExact: true }
  }
  const positions = realms && newestIn(context, table, realms, below, most)
  if (positions !== undefined) {
    return { found: rowsAt(context, table, positions), isExact: false }
  }
  const found = context.connection
    .prepare<FoundRow>(
      `SELECT seq, realm, value, sum FROM ${objectTable(table.number)} WHERE seq < ? ORDER BY seq DESC`,
    )
    .iterate(below)
  return { found, isExact: false }
}

/** Entries of a key lie in order of creation, those of a range do not. */
function hasEntriesInOrder(context: TxContext, { index, range }: IndexLookup): boolean {
  return range === undefined || !mayHold(context, index, range)
}

/** The newest `most` positions with one of the keys in the index. */
function newestUnder(
  { connection }: TxContext,
  { index, keys }: IndexLookup,
  below: number,
  most: number,
): Float64Array {
  const select = connection.prepare(
    'SELECT seq FROM index_entries WHERE index_number = ? AND key = ? AND seq < ? ORDER BY seq DESC LIMIT ?',
  )
  const positions = new Set<number>()
  for (const key of keys) {
    for (const [seq] of select.values(index, key, below, most) as [number][]) positions.add(seq)
  }
  return Float64Array.from(positions).toSorted().toReversed().subarray(0, most)
}

/** The newest `most` positions in these realms; undefined when the realms have too many rows to visit all. */
function newestIn(
  context: TxContext,
  table: Table,
  realms: ReadonlySet<RealmRef>,
  below: number,
  most: number,
): Float64Array | undefined {
  const { connection } = context
  const list = listOf(context, realms)
  const isMore = connection.prepare(`SELECT 1 ${inRealms(table)} LIMIT 1 OFFSET ?2`)
  if (isMore.get(list, MAX_VISITED_ROWS) !== null) return undefined
  const rows = connection
    .prepare(`SELECT seq ${inRealms(table)} WHERE seq < ?2 ORDER BY seq DESC LIMIT ?3`)
    .values(list, below, most) as [number][]
  return Float64Array.from(rows, ([seq]) => seq)
}

/** The next rows whose keys begin with `prefix`, by their keys. */
export function* rowsByKey(
  { connection }: TxContext,
  table: Table,
  prefix: string,
  after: PageEnd | undefined,
): Generator<FoundRow & { readonly key: string }> {
  const found = connection
    .prepare<FoundRow & { readonly key: string }>(
      `SELECT seq, realm, key, value, sum FROM ${objectTable(table.number)} WHERE key >= ?1 AND key > ?2 ORDER BY key`,
    )
    .iterate(prefix, after?.key ?? '')
  for (const row of found) {
    if (!row.key.startsWith(prefix)) return
    yield row
  }
}

import { type Access, accessOf, mayRead } from '../access/access'
import type { Actor } from '../access/actor'
import type { Chunk, ChunkSize, StoredRow } from '../store/objects'
import { PUBLIC_REALM_REF, type RealmRef } from '../store/realms'
import type { ReadTx } from '../store/store'
import type { ViewName } from '../access/view'
import { type Filter, type ListQuery, matches } from './filter'
import { findByIndex } from './index-lookup'
import { parseStored } from '../value/value'
import type { Table } from '../store/tables'

/** One short read of a list (design.md §3 Lists). */
export const CHUNK: ChunkSize = { rows: 1_000, bytes: 256 * 1024 }

/** How the rows of a list are found, decided once for all its chunks. */
export interface Reading {
  readonly table: Table
  readonly actor: Actor
  readonly view: ViewName
  /** Only rows of these realms, if they are named. */
  readonly realms: ReadonlySet<RealmRef> | undefined
  /** Filters that the way of reading does not settle: each row is looked at. */
  readonly filters: readonly Filter[]
  /** Where the rows are, when an index knows. */
  readonly positions: Float64Array | undefined
  /** All rows, when they are so few that finding them was reading them. */
  readonly rows: readonly StoredRow[] | undefined
}

/** Chooses the cheapest way to the rows of a list after `start`. */
export async function prepareReading(
  tx: ReadTx,
  table: Table,
  actor: Actor,
  view: ViewName,
  query: ListQuery,
  start: number,
): Promise<Reading> {
  const access = await accessOf(tx, actor)
  const inView = realmsInView(access, view, table)
  const named = query.filters.find(({ path }) => path === 'realmId')
  const realms = named === undefined ? inView : await realmsNamed(tx, named, inView)
  const filters = query.filters.filter((filter) => filter !== named)
  const base: Reading = {
    table,
    actor,
    view,
    realms,
    filters,
    positions: undefined,
    rows: undefined,
  }
  const found = await findByIndex(tx, table, start, CHUNK, filters)
  if (found !== undefined) {
    const reading = { ...base, ...found }
    return { ...reading, rows: found.rows?.filter((row) => isListed(reading, access, row)) }
  }
  if (realms === undefined) return base
  const rows = await tx.objects.gather(table, start, CHUNK, { realms })
  if (rows !== undefined) {
    return { ...base, rows: rows.filter((row) => isListed(base, access, row)) }
  }
  return { ...base, positions: await tx.objects.locate(table, start, { realms }) }
}

/** The rows of the list in the next chunk after `after`. */
export async function nextRows(
  tx: ReadTx,
  reading: Reading,
  after: number,
  size: ChunkSize,
): Promise<Chunk> {
  const { table, realms, positions, actor } = reading
  const chunk =
    positions === undefined
      ? await tx.objects.scan(table, after, size, realms)
      : await tx.objects.load(table, positionsAfter(positions, after), size)
  const access = await accessOf(tx, actor)
  return { ...chunk, rows: chunk.rows.filter((row) => isListed(reading, access, row)) }
}

/** The same as one text, when every row in the realms belongs to the list as it lies there. */
export async function nextText(tx: ReadTx, reading: Reading, after: number) {
  const { table, realms, positions, filters, view, actor } = reading
  if (positions !== undefined || filters.length > 0) return undefined
  if (view === 'my') {
    if (table.builtIn) return undefined
    // The reader may have lost a realm since the chunk before.
    const { realmRefs } = await accessOf(tx, actor)
    if (realms?.isSubsetOf(realmRefs) !== true) return undefined
  }
  return tx.objects.scanText(table, after, CHUNK, realms)
}

function realmsInView(
  access: Access,
  view: ViewName,
  table: Table,
): ReadonlySet<RealmRef> | undefined {
  switch (view) {
    case 'all':
      return undefined
    case 'public':
      return new Set([PUBLIC_REALM_REF])
    case 'my':
      return access.pending.size === 0 || !table.builtIn
        ? access.realmRefs
        : new Set([...access.realmRefs, ...access.pending.keys()])
  }
}

async function realmsNamed(
  tx: ReadTx,
  filter: Filter,
  inView: ReadonlySet<RealmRef> | undefined,
): Promise<ReadonlySet<RealmRef>> {
  const refs = new Set<RealmRef>()
  for (const id of filter.texts) {
    const realm = await tx.realms.find(id)
    if (realm !== undefined && inView?.has(realm.ref) !== false) refs.add(realm.ref)
  }
  return refs
}

/** `positions` is ascending. */
function positionsAfter(positions: Float64Array, after: number): Float64Array {
  let low = 0
  let high = positions.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((positions[middle] ?? 0) <= after) low = middle + 1
    else high = middle
  }
  return positions.subarray(low)
}

function isListed(reading: Reading, access: Access, row: StoredRow): boolean {
  const { table, view, realms, filters } = reading
  if (realms?.has(row.realm) === false) return false
  if (view === 'my' && !mayRead(access, table.name, row.realm, () => keyOfRow(row))) return false
  return filters.length === 0 || matches(filters, parseStored(row.value))
}

/** Asked for member rows only, whose key is `id`. */
function keyOfRow(row: StoredRow): unknown {
  return parseStored(row.value)['id']
}

import { type Access, accessOf, mayRead } from './access'
import type { Actor } from './actor'
import { SatchelError } from './error'
import { type Filter, type ListQuery, matches } from './filter'
import { findByIndex } from './index-lookup'
import { PUBLIC_REALM_REF, type RealmRef } from './realm'
import type { Chunk, ChunkSize, Database, ReadTx, StoredRow } from './store'
import { type Table, requireTable } from './table'
import { parseStored } from './value'
import { nextTurn } from './turn'
import type { ViewName } from './view'

/** One short read of a list (design.md §3 Lists). */
const CHUNK: ChunkSize = { rows: 1_000, bytes: 256 * 1024 }
/** A page is held in memory: it ends here even when `$limit` asks for more rows. */
const PAGE_BYTES = 16 * 1024 * 1024

/** A list on its way out: stored texts, chunk by chunk, in order of creation. */
export interface List {
  readonly texts: readonly string[]
  /** The next chunk; undefined when this one is the last. */
  readonly more: (() => Promise<List>) | undefined
  /** The `$after` of the next page, when `$limit` ended this one. */
  readonly after: string | undefined
}

/**
 * Lists the objects of a table that a view shows and that match the filters (spec.md §4.1 rule 8,
 * design.md §6). Each chunk is a read of its own: the list holds every object that existed
 * throughout, once, in its current version. The caller has checked the scopes of the view. Throws
 * `UNKNOWN_TABLE`, `INVALID_REQUEST`.
 */
export async function listObjects(
  database: Database,
  actor: Actor,
  view: ViewName,
  tableName: string,
  query: ListQuery,
): Promise<List> {
  const start = query.after === undefined ? 0 : parseAfter(query.after)
  const reading = await database.read(async (tx) => {
    const table = await requireTable(tx, tableName)
    return prepare(tx, table, actor, view, query, start)
  })
  return query.limit === undefined
    ? wholeList(database, reading, start)
    : page(database, reading, start, query.limit)
}

interface Reading {
  readonly table: Table
  readonly actor: Actor
  readonly view: ViewName
  /** Only rows of these realms, if they are named. */
  readonly realms: ReadonlySet<RealmRef> | undefined
  /** Filters that the way of reading does not settle: each row is looked at. */
  readonly filters: readonly Filter[]
  /** Where the rows are, when an index knows. */
  readonly positions: Float64Array | undefined
}

async function prepare(
  tx: ReadTx,
  table: Table,
  actor: Actor,
  view: ViewName,
  query: ListQuery,
  start: number,
): Promise<Reading> {
  const inView = realmsInView(await accessOf(tx, actor), view, table)
  const named = query.filters.find(({ path }) => path === 'realmId')
  const realms = named === undefined ? inView : await realmsNamed(tx, named, inView)
  const others = query.filters.filter((filter) => filter !== named)
  const base = { table, actor, view, realms }
  const found = await findByIndex(tx, table, start, others)
  if (found !== undefined) return { ...base, ...found }
  const positions = realms && (await tx.objects.locate(table, start, { realms }))
  return { ...base, filters: others, positions }
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
      return access.invitations.size === 0 || !table.builtIn
        ? access.realmRefs
        : new Set([...access.realmRefs, ...access.invitations.keys()])
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

async function readChunk(
  database: Database,
  reading: Reading,
  after: number,
  size: ChunkSize = CHUNK,
): Promise<Chunk> {
  return database.read(async (tx) => {
    const access = await accessOf(tx, reading.actor)
    const chunk = await nextRows(tx, reading, after, size)
    return { ...chunk, rows: chunk.rows.filter((row) => isListed(reading, access, row)) }
  })
}

/** The whole list, as chunks that are read when they are asked for. */
async function wholeList(database: Database, reading: Reading, after: number): Promise<List> {
  const { rows, next } = await readChunk(database, reading, after)
  return {
    texts: textsOf(rows),
    more:
      next === undefined
        ? undefined
        : async () => {
            await nextTurn()
            return wholeList(database, reading, next)
          },
    after: undefined,
  }
}

/** A page is read whole, and one row more, because its header says whether there is a next one. */
async function page(
  database: Database,
  reading: Reading,
  start: number,
  limit: number,
): Promise<List> {
  const rows: StoredRow[] = []
  let bytes = PAGE_BYTES
  let after: number | undefined = start
  while (after !== undefined && rows.length <= limit && bytes > 0) {
    const wanted = reading.filters.length === 0 ? limit + 1 - rows.length : CHUNK.rows
    const size = { rows: Math.min(wanted, CHUNK.rows), bytes: CHUNK.bytes }
    const chunk: Chunk = await readChunk(database, reading, after, size)
    rows.push(...chunk.rows)
    for (const row of chunk.rows) bytes -= row.value.length
    after = chunk.next
    await nextTurn()
  }
  const shown = rows.slice(0, limit)
  const last = shown.at(-1)
  const isEnd = after === undefined && rows.length <= limit
  return {
    texts: textsOf(shown),
    more: undefined,
    after: isEnd || last === undefined ? undefined : formatAfter(last.seq),
  }
}

function textsOf(rows: readonly StoredRow[]): string[] {
  return rows.map(({ value }) => value)
}

function nextRows(tx: ReadTx, reading: Reading, after: number, size: ChunkSize) {
  const { table, realms, positions } = reading
  if (positions === undefined) return tx.objects.scan(table, after, size, realms)
  return tx.objects.load(table, positionsAfter(positions, after), size)
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

function formatAfter(seq: number): string {
  return `s${seq.toString(36)}`
}

function parseAfter(text: string): number {
  const seq = /^s[0-9a-z]{1,11}$/.test(text) ? Number.parseInt(text.slice(1), 36) : Number.NaN
  if (Number.isSafeInteger(seq)) return seq
  throw new SatchelError(
    'INVALID_REQUEST',
    '"$after" is not one of ours: take it from the Link header of the page before',
  )
}

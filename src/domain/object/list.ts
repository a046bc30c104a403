import { type Access, accessOf, mayRead } from '../access/access'
import { type Actor, requireStanding } from '../access/actor'
import type { ViewName } from '../access/view'
import type { ChunkSize, Page, PageEnd, PageOrder, StoredRow } from '../store/objects'
import type { RealmRef } from '../store/realms'
import type { Database, ReadTx } from '../store/store'
import type { Table } from '../store/tables'
import { invalidRequest } from '../value/error'
import { nextTurn } from '../value/turn'
import { parseStored } from '../value/value'
import { type Filter, indexedFilter, type ListQuery, matches } from './filter'
import { realmsInView, showsAllPublic } from './object'
import { requireTable } from './tables'

/** A page is held in memory: it ends here even when `$limit` asks for more rows. */
const PAGE_BYTES = 16 * 1024 * 1024
/** A page that exceeds this has the memory of the largest page reserved: pages must not starve each other. */
const LARGE_PAGE_BYTES = 1024 * 1024

/** A list that is read chunk by chunk, in order of creation. */
export interface List {
  /** Stored objects as JSON, each text one object or several with commas between them. */
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
 * `UNKNOWN_TABLE`, `INVALID_REQUEST`, and as `requireStanding`, which each chunk asks again: a list
 * may take long (promise 15). `reserve` is called with the memory that a page needs, in bytes, before
 * it is taken, and may throw.
 */
export async function listObjects(
  database: Database,
  actor: Actor,
  view: ViewName,
  tableName: string,
  query: ListQuery,
  reserve: (bytes: number) => void = () => undefined,
): Promise<List> {
  const listing = { database, actor, view, tableName, filters: query.filters }
  const after = query.after === undefined ? undefined : parseAfter(query.after)
  return query.limit === undefined
    ? await listFrom(listing, after)
    : await limitedList(listing, after, query.limit, reserve)
}

export interface Listing {
  readonly database: Database
  readonly actor: Actor
  readonly view: ViewName
  readonly tableName: string
  readonly filters: readonly Filter[]
  /** Rows must pass this too; absent: all do. */
  readonly passes?: ((row: StoredRow) => boolean) | undefined
  /** Absent: the order of creation. */
  readonly order?: PageOrder | undefined
  /** The rows have their keys. */
  readonly hasKeys?: boolean
}

/** A list that begins with this chunk; those after it are read when they are asked for. */
async function listFrom(listing: Listing, after: PageEnd | undefined): Promise<List> {
  const { rows, text, next } = await readPage(listing, after)
  const more = async () => {
    await nextTurn()
    return await listFrom(listing, next)
  }
  const texts = text === undefined ? textsOf(rows) : text === '' ? [] : [text]
  return { texts, more: next && more, after: undefined }
}

/** Read whole, and one row more, because its header says whether there is a next page. */
async function limitedList(
  listing: Listing,
  after: PageEnd | undefined,
  limit: number,
  reserve: (bytes: number) => void,
): Promise<List> {
  const rows: StoredRow[] = []
  let bytes = PAGE_BYTES
  let next = after
  for (let reads = 0; reads === 0 || next !== undefined; reads += 1) {
    if (reads > 0) await nextTurn()
    // Rows of other realms are passed over: each read is larger than the one before.
    const page = await readPage(listing, next, (limit + 1 - rows.length) * 4 ** reads)
    rows.push(...page.rows)
    for (const row of page.rows) bytes -= row.value.length
    const read = PAGE_BYTES - bytes
    reserve(read > LARGE_PAGE_BYTES ? Math.max(read, PAGE_BYTES) : read)
    next = page.next
    if (rows.length > limit || bytes <= 0) break
  }
  const shown = rows.slice(0, limit)
  const last = shown.at(-1)
  const isEnd = next === undefined && rows.length <= limit
  return {
    texts: textsOf(shown),
    more: undefined,
    after: isEnd || last === undefined ? undefined : `s${last.seq.toString(36)}`,
  }
}

function textsOf(rows: readonly StoredRow[]): string[] {
  return rows.map(({ value }) => value)
}

function parseAfter(text: string): PageEnd {
  const seq = /^s[0-9a-z]{1,11}$/.test(text) ? Number.parseInt(text.slice(1), 36) : Number.NaN
  if (Number.isSafeInteger(seq)) return { seq }
  throw invalidRequest('Invalid "$after": use the one in the Link header of the previous page')
}

/** One short read of a list (design.md §3 Lists). */
const CHUNK: ChunkSize = { rows: 1_000, bytes: 256 * 1024 }

/** A page of a list, and how many rows were looked at for it. */
export interface ReadPage extends Page {
  readonly seen: number
}

/** The next rows of a list, about `wanted` of them, or as one text unless their number is `wanted`. */
export async function readPage(
  { database, actor, view, tableName, filters, passes, order, hasKeys = false }: Listing,
  after: PageEnd | undefined,
  wanted?: number,
): Promise<ReadPage> {
  return database.read((tx) => {
    requireStanding(tx, actor)
    const table = requireTable(tx, tableName)
    const access = accessOf(tx, actor)
    const named = filters.find(({ path }) => path === 'realmId')
    const others = filters.filter((filter) => filter !== named)
    const inView = realmsInView(access, view, table)
    const realms = named === undefined ? inView : realmsNamed(tx, named, inView)
    const indexed = indexedFilter(table, others)
    const unindexed = others.filter((filter) => filter !== indexed?.filter)
    const isWhole = showsWhole(view, actor, table)
    const page = tx.objects.page(table, {
      after,
      // Rows that filters leave out are passed over, too.
      size:
        wanted === undefined || unindexed.length > 0 || passes !== undefined
          ? CHUNK
          : { ...CHUNK, rows: Math.min(wanted, CHUNK.rows) },
      realms,
      lookup: indexed?.lookup,
      joined: isWhole && others.length === 0 && wanted === undefined,
      hasKeys,
      order,
    })
    const seen = page.rows.length
    const left = page.isExact === true && indexed?.isExact === true ? unindexed : others
    if (isWhole && left.length === 0 && passes === undefined) return { ...page, seen }
    const isListed = (row: StoredRow) =>
      (isWhole || mayReadRow(access, table, row)) &&
      passes?.(row) !== false &&
      (left.length === 0 || matches(left, parseStored(row.value)))
    return { ...page, seen, rows: page.rows.filter(isListed) }
  })
}

/** True when every row in the realms of a view is shown in it. */
function showsWhole(view: ViewName, actor: Actor, table: Table): boolean {
  switch (view) {
    case 'all':
      return true
    case 'public':
      return showsAllPublic(actor, table)
    case 'my':
      return !table.builtIn
  }
}

function mayReadRow(access: Access, table: Table, row: StoredRow): boolean {
  // Called only for member rows, whose key is `id`.
  return mayRead(access, table.name, row.realm, () => parseStored(row.value)['id'])
}

function realmsNamed(
  tx: ReadTx,
  filter: Filter,
  inView: ReadonlySet<RealmRef> | undefined,
): ReadonlySet<RealmRef> {
  const refs = new Set<RealmRef>()
  for (const id of filter.texts) {
    const realm = tx.realms.find(id)
    if (realm !== undefined && inView?.has(realm.ref) !== false) refs.add(realm.ref)
  }
  return refs
}

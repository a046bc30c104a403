import { type Actor, requireStanding } from '../access/actor'
import { SatchelError } from '../value/error'
import type { Chunk, ChunkSize, Places, StoredRow } from '../store/objects'
import { andThen, type Awaitable } from '../store/records'
import type { Database, ReadTx } from '../store/store'
import { nextTurn } from '../value/turn'
import type { ViewName } from '../access/view'
import {
  type Filter,
  findByIndex,
  type Found,
  type IndexPath,
  type ListQuery,
  matches,
} from './filter'
import { realmsInView, showsAllPublic } from './object'
import { requireTable } from './tables'
import { type Access, accessOf, mayRead } from '../access/access'
import type { RealmRef } from '../store/realms'
import { parseStored } from '../value/value'
import type { Table } from '../store/tables'

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
export function listObjects(
  database: Database,
  actor: Actor,
  view: ViewName,
  tableName: string,
  query: ListQuery,
  reserve: (bytes: number) => void = () => undefined,
): Awaitable<List> {
  const start = query.after === undefined ? 0 : parseAfter(query.after)
  const { limit } = query
  const prepare = (tx: ReadTx) =>
    andThen(requireStanding(tx, actor), () =>
      andThen(requireTable(tx, tableName), (table) =>
        prepareReading(tx, table, actor, view, query, start),
      ),
    )
  if (limit !== undefined) {
    return andThen(database.read(prepare), (reading) =>
      page(database, reading, start, limit, reserve),
    )
  }
  const begun = database.read((tx) =>
    andThen(prepare(tx), (reading) =>
      andThen(nextTexts(tx, reading, start), (chunk) => ({ reading, chunk })),
    ),
  )
  return andThen(begun, ({ reading, chunk }) => listFrom(database, reading, chunk))
}

/** A list that begins with this chunk; those after it are read when they are asked for. */
function listFrom(database: Database, reading: Reading, { texts, next }: TextChunk): List {
  if (next === undefined) return { texts, more: undefined, after: undefined }
  const more = async () => {
    await nextTurn()
    const chunk = await database.read(async (tx) => {
      requireStanding(tx, reading.actor)
      return nextTexts(tx, reading, next)
    })
    return listFrom(database, reading, chunk)
  }
  return { texts, more, after: undefined }
}

/** The texts of a chunk, and the `seq` to go on after. */
interface TextChunk {
  readonly texts: readonly string[]
  readonly next: number | undefined
}

function nextTexts(tx: ReadTx, reading: Reading, after: number): Awaitable<TextChunk> {
  if (reading.text !== undefined) return textChunk(reading.text, undefined)
  if (reading.rows !== undefined) return { texts: textsOf(reading.rows), next: undefined }
  return andThen(nextText(tx, reading, after), (joined) => {
    if (joined !== undefined) return textChunk(joined.text, joined.next)
    return andThen(nextRows(tx, reading, after, CHUNK), ({ rows, next }) => ({
      texts: textsOf(rows),
      next,
    }))
  })
}

function textChunk(text: string, next: number | undefined): TextChunk {
  return { texts: text === '' ? [] : [text], next }
}

/** A page is read whole, and one row more, because its header says whether there is a next one. */
async function page(
  database: Database,
  reading: Reading,
  start: number,
  limit: number,
  reserve: (bytes: number) => void,
): Promise<List> {
  const rows: StoredRow[] = reading.rows?.slice(0, limit + 1) ?? []
  let bytes = PAGE_BYTES
  let chunks = 0
  let after: number | undefined = reading.rows === undefined ? start : undefined
  while (after !== undefined && rows.length <= limit && bytes > 0) {
    const from: number = after
    // Rows of other realms are passed over: each chunk is larger than the one before.
    const few = (limit + 1 - rows.length) * 4 ** chunks
    const wanted = reading.filters.length === 0 ? few : CHUNK.rows
    chunks += 1
    const size = { rows: Math.min(wanted, CHUNK.rows), bytes: CHUNK.bytes }
    const chunk: Chunk = await database.read((tx) => {
      requireStanding(tx, reading.actor)
      return nextRows(tx, reading, from, size)
    })
    rows.push(...chunk.rows)
    for (const row of chunk.rows) bytes -= row.value.length
    const read = PAGE_BYTES - bytes
    reserve(read > LARGE_PAGE_BYTES ? Math.max(read, PAGE_BYTES) : read)
    after = chunk.next
    if (after !== undefined) await nextTurn()
  }
  const shown = rows.slice(0, limit)
  const last = shown.at(-1)
  const isEnd = after === undefined && rows.length <= limit
  const next = isEnd || last === undefined ? undefined : formatAfter(last.seq)
  return { texts: textsOf(shown), more: undefined, after: next }
}

function textsOf(rows: readonly StoredRow[]): string[] {
  return rows.map(({ value }) => value)
}

function formatAfter(seq: number): string {
  return `s${seq.toString(36)}`
}

function parseAfter(text: string): number {
  const seq = /^s[0-9a-z]{1,11}$/.test(text) ? Number.parseInt(text.slice(1), 36) : Number.NaN
  if (Number.isSafeInteger(seq)) return seq
  throw new SatchelError(
    'INVALID_REQUEST',
    'Invalid "$after": use the one in the Link header of the previous page',
  )
}

/** One short read of a list (design.md §3 Lists). */
const CHUNK: ChunkSize = { rows: 1_000, bytes: 256 * 1024 }

/** How the rows of a list are found, decided once for all its chunks. */
interface Reading {
  readonly table: Table
  readonly actor: Actor
  readonly view: ViewName
  /** Only rows of these realms, if they are named. */
  readonly realms: ReadonlySet<RealmRef> | undefined
  /** Filters that finding the rows has not applied yet. */
  readonly filters: readonly Filter[]
  /** Where the rows are, when an index knows. */
  readonly located: Located | undefined
  /** The way to the rows, when an index has them in order of creation. */
  readonly path: IndexPath | undefined
  /** All rows, when they are few and were read with their places. */
  readonly rows: readonly StoredRow[] | undefined
  /** Their values, joined, when they were read in that form. */
  readonly text: string | undefined
}

/** Positions that are located some at a time: a list takes the memory of those, however long it is. */
interface Located {
  readonly by: Places
  readonly most: number
  /** Those after the last chunk, ascending; there are no more when they are fewer than `most`. */
  positions: Float64Array
}

/** Positions of a list that are located at once. */
const MOST_LOCATED = 20_000

/** Chooses the cheapest way to the rows of a list after `start`. */
function prepareReading(
  tx: ReadTx,
  table: Table,
  actor: Actor,
  view: ViewName,
  query: ListQuery,
  start: number,
): Awaitable<Reading> {
  const named = query.filters.find(({ path }) => path === 'realmId')
  const filters =
    named === undefined ? query.filters : query.filters.filter((filter) => filter !== named)
  // A page and one row more are enough to find by looking at all of them.
  const most = query.limit === undefined ? CHUNK.rows : Math.min(CHUNK.rows, query.limit + 1)
  const size = { rows: most, bytes: CHUNK.bytes }
  return andThen(accessOf(tx, actor), (access) => {
    const inView = realmsInView(access, view, table)
    return andThen(named === undefined ? inView : realmsNamed(tx, named, inView), (realms) => {
      const base = { table, actor, view, realms, filters, ...NOWHERE }
      return andThen(findByIndex(tx, table, start, size, filters, realms), (found) => {
        if (found !== undefined) return readingOf(tx, base, access, found, start)
        if (realms === undefined) return base
        return readingInRealms(tx, base, realms, access, query, start, size)
      })
    })
  })
}

const NOWHERE = { located: undefined, path: undefined, rows: undefined, text: undefined } as const

/** Reads the rows that an index has found, or where it says. */
function readingOf(
  tx: ReadTx,
  base: Reading,
  access: Access,
  { places, rows, path, filters }: Found,
  start: number,
): Awaitable<Reading> {
  const reading = { ...base, filters, path }
  if (places !== undefined) {
    const located = locate(tx, base.table, start, places, MOST_LOCATED)
    return andThen(located, (found) => ({ ...reading, located: found }))
  }
  return { ...reading, rows: rows?.filter((row) => isListed(reading, access, row)) }
}

/** Reads the rows of the realms that are shown. */
function readingInRealms(
  tx: ReadTx,
  base: Reading,
  realms: ReadonlySet<RealmRef>,
  access: Access,
  query: ListQuery,
  start: number,
  size: ChunkSize,
): Awaitable<Reading> {
  const many = () => readingOfMany(tx, base, realms, query, start, size)
  if (query.limit === undefined && start === 0 && showsWhole(base, access)) {
    return andThen(tx.objects.gatherText(base.table, CHUNK, realms), (text) =>
      text === undefined ? many() : { ...base, text },
    )
  }
  return andThen(tx.objects.gather(base.table, start, CHUNK, { realms }), (rows) =>
    rows === undefined
      ? many()
      : { ...base, rows: rows.filter((row) => isListed(base, access, row)) },
  )
}

function readingOfMany(
  tx: ReadTx,
  base: Reading,
  realms: ReadonlySet<RealmRef>,
  { limit }: ListQuery,
  start: number,
  size: ChunkSize,
): Reading {
  const { table, filters } = base
  const near = tx.objects.scan(table, start, size, realms)
  // Where the realms have a large part of the rows, they are passed over faster than located.
  if (near.rows.length === size.rows || near.next === undefined) return base
  const wanted = limit === undefined || filters.length > 0 ? MOST_LOCATED : limit + 1
  return { ...base, located: locate(tx, table, start, { realms }, wanted) }
}

function locate(tx: ReadTx, table: Table, after: number, by: Places, most: number) {
  return { by, most, positions: tx.objects.locate(table, after, by, most) }
}

/** The rows of the list in the next chunk after `after`. */
function nextRows(tx: ReadTx, reading: Reading, after: number, size: ChunkSize): Chunk {
  const chunk = nextCandidates(tx, reading, after, size)
  const { actor } = reading
  const access = accessOf(tx, actor)
  return { ...chunk, rows: chunk.rows.filter((row) => isListed(reading, access, row)) }
}

function nextCandidates(
  tx: ReadTx,
  { table, realms, located, path }: Reading,
  after: number,
  size: ChunkSize,
): Chunk {
  if (located !== undefined) return loadLocated(tx, table, located, after, size, realms)
  const walked = path && tx.objects.walk(table, after, size, path.lookup, realms)
  if (walked !== undefined) return walked
  const chunk = tx.objects.scan(table, after, size, realms)
  if (path === undefined) return chunk
  // Since the list began, an array was stored under the index.
  return { ...chunk, rows: chunk.rows.filter((row) => passes([path.filter], row)) }
}

function loadLocated(
  tx: ReadTx,
  table: Table,
  located: Located,
  after: number,
  size: ChunkSize,
  realms: ReadonlySet<RealmRef> | undefined,
): Chunk {
  const { by, most } = located
  let positions = positionsAfter(located.positions, after)
  if (positions.length === 0 && located.positions.length === most) {
    positions = tx.objects.locate(table, after, by, most)
    located.positions = positions
  }
  const chunk = tx.objects.load(table, positions, size, realms)
  const isLast = located.positions.length < most
  return chunk.next !== undefined || isLast ? chunk : { ...chunk, next: positions.at(-1) }
}

function passes(filters: readonly Filter[], row: StoredRow): boolean {
  return matches(filters, parseStored(row.value))
}

/** The same as one text, when every row in the realms belongs to the list unchanged. */
function nextText(tx: ReadTx, reading: Reading, after: number) {
  const { table, realms, located, path, actor } = reading
  if (located !== undefined || path !== undefined) return undefined
  return andThen(accessOf(tx, actor), (access) =>
    showsWhole(reading, access) ? tx.objects.scanText(table, after, CHUNK, realms) : undefined,
  )
}

/** True when every row in the realms of a list belongs to it unchanged. */
function showsWhole({ table, realms, filters, view, actor }: Reading, access: Access): boolean {
  if (filters.length > 0) return false
  if (view === 'public') return showsAllPublic(actor, table)
  if (view !== 'my') return true
  // The reader may have lost a realm since the list began.
  const { realmRefs } = access
  return !table.builtIn && (realms === realmRefs || realms?.isSubsetOf(realmRefs) === true)
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
  const { table, view, actor, realms, filters } = reading
  if (realms?.has(row.realm) === false) return false
  const isWhole = view === 'all' || (view === 'public' && showsAllPublic(actor, table))
  if (!isWhole && !mayRead(access, table.name, row.realm, () => keyOfRow(row))) return false
  return filters.length === 0 || passes(filters, row)
}

/** Called only for member rows, whose key is `id`. */
function keyOfRow(row: StoredRow): unknown {
  return parseStored(row.value)['id']
}

import type { IndexLookup, Page, PageEnd, PageQuery, StoredRow } from '../domain/store/objects'
import type { RealmRef } from '../domain/store/realms'
import type { Table } from '../domain/store/tables'
import type { TxContext } from './context'
import {
  type FoundRow,
  listOf,
  type Located,
  locateRange,
  locateRealms,
  mayHold,
  positionsOfKeys,
  rowsAt,
  rowsOfRealms,
  shownRow,
  sizeOf,
  SMALL_VALUE,
} from './located-rows'
import { erasing } from './realms'
import { newestRows, rowsByKey } from './ordered-pages'
import { objectTable } from './tables'
import { type JoinedText, knownText, textFrom, textOfRows } from './texts'

/** The end of a page with the way on, which is chosen once for all pages where that is possible. */
interface End extends PageEnd {
  /** The positions of the next rows. */
  readonly located?: Located
  /** Known when the realms have more rows than one read may return. */
  readonly density?: Density
}

type Density = 'dense' | 'sparse'

/** `ObjectReader.page`: each way visits a bounded number of rows and entries. */
export function page(context: TxContext, table: Table, query: PageQuery): Page {
  const found = pageInOrder(context, table, query)
  if (query.hasKeys === true) addKeys(context, table, found.rows)
  return found
}

function pageInOrder(context: TxContext, table: Table, query: PageQuery): Page {
  const { order } = query
  if (order === undefined) return pageByCreation(context, table, query)
  if (order === 'newest') {
    const { found, isExact } = newestRows(context, table, query)
    return { ...pageOf(context, table, query, found), isExact }
  }
  return pageOf(context, table, query, rowsByKey(context, table, order.prefix, query.after))
}

function addKeys({ connection }: TxContext, { number }: Table, rows: readonly StoredRow[]): void {
  const select = connection.prepare<{ key: string }>(
    `SELECT key FROM ${objectTable(number)} WHERE seq = ?`,
  )
  for (const row of rows) Object.assign(row, { key: select.get(row.seq)?.key })
}

function pageByCreation(context: TxContext, table: Table, query: PageQuery): Page {
  const { lookup, realms } = query
  const end: End | undefined = query.after
  if (end?.located !== undefined) return pageOfLocated(context, table, query, end.located)
  const found = lookup && pageOfLookup(context, table, query, lookup)
  if (found !== undefined) return found
  return realms === undefined
    ? pageOfTable(context, table, query)
    : pageOfRealms(context, table, query, realms, end)
}

function pageOfTable(context: TxContext, table: Table, query: PageQuery): Page {
  const { size, joined } = query
  const after = query.after?.seq ?? 0
  const text = joined === true ? textFrom(context, table, after, size.rows) : undefined
  if (text !== undefined) return pageOfText(text)
  const found = context.connection
    .prepare<FoundRow>(
      `SELECT seq, realm, value, sum FROM ${objectTable(table.number)} WHERE seq > ? ORDER BY seq`,
    )
    .iterate(after)
  return pageOf(context, table, query, found)
}

/** A page of all rows that an index look-up finds; undefined when there are too many in its range. */
function pageOfLookup(
  context: TxContext,
  table: Table,
  query: PageQuery,
  { index, keys, range }: IndexLookup,
): Page | undefined {
  const after = query.after?.seq ?? 0
  if (range !== undefined && mayHold(context, index, range)) {
    const located = locateRange(context, index, keys, range, after)
    return located && pageOfLocated(context, table, query, located)
  }
  const [key] = keys
  if (key === undefined) return { rows: [], isExact: true, next: undefined }
  const found =
    keys.length === 1
      ? rowsOfKey(context, table, index, key, query)
      : rowsAt(context, table, positionsOfKeys(context, index, keys, after, query.size.rows + 1))
  return { ...pageOf(context, table, query, found), isExact: true }
}

/** By table, index and limit: the text of a statement takes long to make and to hash. */
const OF_KEY: string[][][] = []

/**
 * One more than a page may have. The entries of a key lie in order of creation, and SQLite visits the members of an
 * IN in their order: an ORDER BY would take half as long again. Binding a parameter takes a tenth of the
 * look-up, so our own numbers are part of the statement. A join takes longer.
 */
function rowsOfKey(
  { connection }: TxContext,
  { number }: Table,
  index: number,
  key: Uint8Array,
  { after, size: { rows } }: PageQuery,
): FoundRow[] {
  if (!Number.isSafeInteger(index)) throw new RangeError('an index number is an integer')
  const select = (since: string) =>
    `SELECT seq, realm, ${SMALL_VALUE}, sum FROM ${objectTable(number)} WHERE seq IN (SELECT seq FROM index_entries WHERE index_number = ${index} AND key = ? ${since} LIMIT ${rows + 1})`
  if (after !== undefined)
    return connection.prepare<FoundRow>(select('AND seq > ?')).all(key, after.seq)
  const texts = ((OF_KEY[number] ??= [])[index] ??= [])
  return connection.prepare<FoundRow>((texts[rows] ??= select(''))).all(key)
}

function pageOfLocated(context: TxContext, table: Table, query: PageQuery, located: Located): Page {
  const { positions, isAll, isExact = false } = located
  const some = positions.subarray(0, query.size.rows)
  const { rows, next } = pageOf(context, table, query, rowsAt(context, table, some))
  const end = next?.seq ?? some.at(-1)
  if (end === undefined) return { rows, isExact, next: undefined }
  const rest = positions.subarray(positions.indexOf(end) + 1)
  const onward: End = { seq: end, located: { ...located, positions: rest } }
  if (rest.length > 0) return { rows, isExact, next: onward }
  return { rows, isExact, next: isAll ? undefined : endOf(end, 'sparse') }
}

/** So many rows of realms are looked for by their index first, however few a page may have. */
const ROWS_BY_INDEX_FIRST = 1_000

function pageOfRealms(
  context: TxContext,
  table: Table,
  query: PageQuery,
  realms: ReadonlySet<RealmRef>,
  end: End | undefined,
): Page {
  const few = end?.density === undefined ? pageOfFew(context, table, query, realms) : undefined
  if (few !== undefined) return few
  const density = end?.density ?? densityOf(context, table, query, realms)
  const [realm, other] = realms
  if (realm === undefined) return { rows: [], next: undefined }
  // The realms of a list may be others than those of the page before.
  const isText = query.joined === true && density === 'dense' && other === undefined
  const text = isText ? textFrom(context, table, end?.seq ?? 0, query.size.rows, realm) : undefined
  return text === undefined ? pageNear(context, table, query, realms, density) : pageOfText(text)
}

/** Undefined when the realms have more rows than one read may return. */
function pageOfFew(
  context: TxContext,
  table: Table,
  query: PageQuery,
  realms: ReadonlySet<RealmRef>,
): Page | undefined {
  const { after, size } = query
  const isText = query.joined === true && after === undefined
  const known = isText ? knownText(context, table, size.rows, realms) : undefined
  if (known !== undefined) return pageOfText({ text: known, next: undefined })
  const rows = rowsOfRealms(context, table, size.rows, realms)
  if (rows === undefined) {
    if (size.rows >= ROWS_BY_INDEX_FIRST) return undefined
    const located = locateRealms(context, table, realms, after?.seq ?? 0, ROWS_BY_INDEX_FIRST)
    return located && pageOfLocated(context, table, query, located)
  }
  const text = isText ? textOfRows(context, table, size.rows, realms, rows) : undefined
  if (text !== undefined) return pageOfText({ text, next: undefined })
  const left = after === undefined ? rows : rows.filter(({ seq }) => seq > after.seq)
  return pageOf(context, table, query, left)
}

/** Whether a single realm has so many of the first rows that passing over the others is cheap. */
function densityOf(
  { connection }: TxContext,
  { number }: Table,
  { size, joined }: PageQuery,
  realms: ReadonlySet<RealmRef>,
): Density {
  const [realm = 0, other] = realms
  if (joined !== true || other !== undefined) return 'sparse'
  const row = connection
    .prepare<{ total: number }>(
      `SELECT count(*) AS total FROM (SELECT realm FROM ${objectTable(number)} ORDER BY seq LIMIT ?2) WHERE realm = ?1`,
    )
    .get(realm, 4 * size.rows)
  return row !== null && row.total >= size.rows ? 'dense' : 'sparse'
}

/** How many rows of a table are passed over before the index of its realms is read instead. */
const MAX_ROWS_PASSED = 20_000

/** The rows of realms among the next ones of the table; where these are few, the index locates them. */
function pageNear(
  context: TxContext,
  table: Table,
  query: PageQuery,
  realms: ReadonlySet<RealmRef>,
  density: Density,
): Page {
  const { connection } = context
  const after = query.after?.seq ?? 0
  const name = objectTable(table.number)
  const found = connection
    .prepare<FoundRow>(
      `SELECT seq, realm, ${SMALL_VALUE}, sum FROM (SELECT seq AS near, realm AS place FROM ${name} WHERE seq > ?2 ORDER BY seq LIMIT ${MAX_ROWS_PASSED}) CROSS JOIN ${name} ON seq = near WHERE place IN (SELECT value FROM json_each(?1)) LIMIT ?3`,
    )
    .all(listOf(context, realms), after, query.size.rows + 1)
  const { rows, next } = pageOf(context, table, query, found)
  if (next !== undefined) return { rows, next: endOf(next.seq, density) }
  const last = connection
    .prepare<{ seq: number }>(
      `SELECT seq FROM ${name} WHERE seq > ? ORDER BY seq LIMIT 1 OFFSET ${MAX_ROWS_PASSED - 1}`,
    )
    .get(after)
  if (last === null) return { rows, next: undefined }
  const located = locateRealms(context, table, realms, after)
  if (located !== undefined) return pageOfLocated(context, table, query, located)
  return { rows, next: endOf(last.seq, density) }
}

/** A page of rows in their order: it ends early when it is heavy, and before a row that is too many. */
function pageOf(
  context: TxContext,
  table: Table,
  { size, realms }: PageQuery,
  found: Iterable<FoundRow & { readonly key?: string }>,
): Page {
  const hidden = erasing(context)
  const rows: StoredRow[] = []
  let visits = 0
  let bytes = size.bytes
  let last: (FoundRow & { readonly key?: string }) | undefined
  for (const row of found) {
    // Rows that are not shown cost time too.
    if (last !== undefined && (visits === size.rows || bytes <= 0)) {
      const { seq, key } = last
      return { rows, next: key === undefined ? { seq } : { seq, key } }
    }
    visits += 1
    last = row
    if (hidden.has(row.realm) || realms?.has(row.realm) === false) continue
    const shown = shownRow(context, table, row)
    rows.push(shown)
    bytes -= sizeOf(shown)
  }
  return { rows, next: undefined }
}

function pageOfText({ text, next }: JoinedText): Page {
  return { rows: [], text, next: next === undefined ? undefined : endOf(next, 'dense') }
}

function endOf(seq: number, density: Density): End {
  return { seq, density }
}

import { quoted, SatchelError } from '../value/error'
import { decodePercent } from '../value/percent'
import { timeOfDate } from '../value/time'
import { propertyAt } from '../value/property'
import type { ChunkSize, IndexLookup, Places, StoredRow } from '../store/objects'
import type { RealmRef } from '../store/realms'
import { andThen, type Awaitable } from '../store/records'
import type { ReadTx } from '../store/store'
import { ARRAY_RANGE, candidateKeys, isCutKey } from '../value/index-key'
import { parseStored } from '../value/value'
import type { Table, TableIndex } from '../store/tables'

/** A property that must have one of these values. */
export interface Filter {
  /** Where it lies in a stored object: a name, or names with dots between them. */
  readonly path: string
  /** Each once, in the order they came. */
  readonly texts: readonly string[]
}

export interface ListQuery {
  readonly filters: readonly Filter[]
  /** 1 to `MAX_LIMIT` objects. */
  readonly limit?: number
  /** Where the page before this one ended. */
  readonly after?: string
}

export const MAX_LIMIT = 10_000

/**
 * Reads filters and paging from a raw query, without its `?` (design.md §6). A property that begins
 * with `$` is written as it is stored, `$$x`. Throws `INVALID_REQUEST`.
 */
export function parseFilters(rawQuery: string): ListQuery {
  const textsByPath = new Map<string, Set<string>>()
  const options = new Map<string, string>()
  for (const pair of rawQuery.split('&')) {
    if (pair === '') continue
    const [name, text] = decodePair(pair)
    if (name.startsWith('$') && !name.startsWith('$$')) {
      if (options.has(name)) throw refusal(`${quoted(name)} is given twice`)
      options.set(name, text)
    } else {
      const texts = textsByPath.get(name)
      if (texts === undefined) textsByPath.set(name, new Set([text]))
      else texts.add(text)
    }
  }
  const filters = Array.from(textsByPath, ([path, texts]) => ({ path, texts: [...texts] }))
  return { filters, ...parseOptions(options) }
}

/**
 * Whether an object passes all filters. A text matches a string, a number by its JSON text, true,
 * false, null, a Date by its ISO text, and an array that has such an element. A missing property
 * matches nothing.
 */
export function matches(filters: readonly Filter[], object: object): boolean {
  return filters.every(({ path, texts }) => {
    const value = propertyAt(object, path)
    return Array.isArray(value)
      ? value.some((element) => isOneOf(texts, element))
      : isOneOf(texts, value)
  })
}

function decodePair(pair: string): [name: string, text: string] {
  const plain = pair.replaceAll('+', ' ')
  const equals = plain.indexOf('=')
  if (equals < 0) return [decodePercent(plain), '']
  return [decodePercent(plain.slice(0, equals)), decodePercent(plain.slice(equals + 1))]
}

function parseOptions(options: ReadonlyMap<string, string>): Omit<ListQuery, 'filters'> {
  const parsed: { limit?: number; after?: string } = {}
  for (const [name, text] of options) {
    if (name === '$limit') parsed.limit = parseLimit(text)
    else if (name === '$after') parsed.after = parseAfter(text)
    else throw refusal(`${quoted(name)} is unknown: use "$limit" or "$after"`)
  }
  return parsed
}

function parseLimit(text: string): number {
  const limit = Number(text)
  if (/^[1-9]\d{0,4}$/.test(text) && limit <= MAX_LIMIT) return limit
  throw refusal(`"$limit" must be a whole number from 1 to ${MAX_LIMIT}`)
}

function parseAfter(text: string): string {
  if (text === '') throw refusal('"$after" must be the one in the Link header of the previous page')
  return text
}

function isOneOf(texts: readonly string[], value: unknown): boolean {
  const text = textOf(value)
  return text !== undefined && texts.includes(text)
}

/** The text of a value in a filter; undefined for a value that filters cannot express. */
function textOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value
  if (typeof value === 'number' || typeof value === 'boolean' || value === null) {
    return JSON.stringify(value)
  }
  const time = typeof value === 'object' ? timeOfDate(value) : undefined
  return time === undefined ? undefined : new Date(time).toISOString()
}

function refusal(message: string): SatchelError {
  return new SatchelError('INVALID_REQUEST', message)
}

/** The rows that pass the filters according to an index. */
export interface Found {
  /** Filters that each row must still be compared with. */
  readonly filters: readonly Filter[]
  /** Where to locate the candidates; undefined when they are in `rows` or on `path`. */
  readonly places: Places | undefined
  readonly rows: readonly StoredRow[] | undefined
  readonly path: IndexPath | undefined
}

/** A look-up whose rows are found chunk by chunk, and the filter that they pass. */
export interface IndexPath {
  readonly lookup: IndexLookup
  readonly filter: Filter
}

const NOWHERE = { places: undefined, rows: undefined, path: undefined } as const

/**
 * Lets the first index that narrows the table down answer its filter; undefined when none does.
 * `rows` are of these realms only if they are named.
 */
export function findByIndex(
  tx: ReadTx,
  table: Table,
  after: number,
  size: ChunkSize,
  filters: readonly Filter[],
  realms: ReadonlySet<RealmRef> | undefined,
): Awaitable<Found | undefined> {
  const filter = filters.find((each) => indexFor(table, each) !== undefined)
  const index = filter && indexFor(table, filter)
  if (filter === undefined || index === undefined) return undefined
  const lookup = lookupOf(index, filter)
  return andThen(findRows(tx, table, after, size, filter, lookup, realms), (rows) => {
    const others = filters.filter((other) => other !== filter)
    if (rows !== undefined) return { ...NOWHERE, rows, filters: others }
    return andThen(tx.objects.mayWalk(lookup), (mayWalk) => {
      if (!mayWalk) return { ...NOWHERE, places: { lookup }, filters }
      const isExact = !lookup.keys.some(isCutKey)
      return { ...NOWHERE, path: { lookup, filter }, filters: isExact ? others : filters }
    })
  })
}

/** The rows that pass this one filter, when they are few. */
function findRows(
  tx: ReadTx,
  table: Table,
  after: number,
  size: ChunkSize,
  filter: Filter,
  { index, keys, range }: IndexLookup,
  realms: ReadonlySet<RealmRef> | undefined,
): Awaitable<readonly StoredRow[] | undefined> {
  const isMatch = (row: StoredRow) => matches([filter], parseStored(row.value))
  const gather = (lookup: IndexLookup) => tx.objects.gather(table, after, size, { lookup, realms })
  return andThen(gather({ index, keys }), (equal) => {
    if (equal === undefined) return undefined
    const exact = keys.some(isCutKey) ? equal.filter(isMatch) : equal
    if (range === undefined) return exact
    return andThen(gather({ index, keys: [], range }), (arrays) => {
      if (arrays === undefined || exact.length + arrays.length > size.rows) return undefined
      if (arrays.length === 0) return exact
      return [...exact, ...arrays.filter(isMatch)].toSorted((one, other) => one.seq - other.seq)
    })
  })
}

/** Without `*` an array is indexed whole, and one of its elements may match. */
function lookupOf(index: TableIndex, filter: Filter): IndexLookup {
  const keys = filter.texts.flatMap(candidateKeys)
  return { index: index.number, keys, ...(index.multi ? {} : { range: ARRAY_RANGE }) }
}

function indexFor(table: Table, { path }: Filter): TableIndex | undefined {
  return table.indexes.find(
    (index) => index.state === 'ready' && !index.compound && index.paths[0] === path,
  )
}

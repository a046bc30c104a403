import { quoted, invalidRequest } from '../value/error'
import { decodePercent } from '../value/percent'
import { timeOfDate } from '../value/time'
import { propertyAt } from '../value/property'
import type { IndexLookup } from '../store/objects'
import { ARRAY_RANGE, candidateKeys, isCutKey } from '../value/index-key'
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
      if (options.has(name)) throw invalidRequest(`${quoted(name)} is given twice`)
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
    else throw invalidRequest(`${quoted(name)} is unknown: use "$limit" or "$after"`)
  }
  return parsed
}

function parseLimit(text: string): number {
  const limit = Number(text)
  if (/^[1-9]\d{0,4}$/.test(text) && limit <= MAX_LIMIT) return limit
  throw invalidRequest(`"$limit" must be a whole number from 1 to ${MAX_LIMIT}`)
}

function parseAfter(text: string): string {
  if (text === '')
    throw invalidRequest('"$after" must be the one in the Link header of the previous page')
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

/** A filter that an index answers. */
export interface IndexedFilter {
  readonly filter: Filter
  readonly lookup: IndexLookup
  /** True when each object under the keys of the look-up passes the filter. */
  readonly isExact: boolean
}

/** The first filter that an index narrows the table down to. */
export function indexedFilter(table: Table, filters: readonly Filter[]): IndexedFilter | undefined {
  for (const filter of filters) {
    const index = indexFor(table, filter)
    if (index === undefined) continue
    const lookup = lookupOf(index, filter)
    return { filter, lookup, isExact: !lookup.keys.some(isCutKey) }
  }
  return undefined
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

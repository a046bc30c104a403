import { quoted, invalidRequest } from '../value/error'
import { jsonOf } from '../value/escape'
import { foldText } from '../value/fold'
import { decodePercent } from '../value/percent'
import {
  USER_TYPES,
  type UserType,
  USER_ORDERS,
  type UserOrder,
  type UserQuery,
  type UserPosition,
} from '../store/users'

/** The most users of one page, and how many there are when nothing is said. */
export const MAX_USERS = 1_000

/** Reads a raw query, without its `?` (spec.md §4.2). Throws `INVALID_REQUEST`. */
export function parseUserQuery(rawQuery: string): UserQuery {
  const texts = readTexts(rawQuery)
  const order = USER_ORDERS.find((name) => name === (texts.get('sort') ?? 'userId'))
  if (order === undefined) throw invalidRequest(`"sort" must be one of ${USER_ORDERS.join(', ')}`)
  const isDescending = texts.has('desc') && readFlag('desc', texts.get('desc') || 'true')
  const [search, active, type, pagingKey] = ['search', 'active', 'type', 'pagingKey'].map((name) =>
    texts.get(name),
  )
  return {
    order,
    isDescending,
    limit: readLimit(texts.get('limit')),
    ...(search === undefined || search === '' ? {} : { search: readSearch(search) }),
    ...(active === undefined ? {} : { active: readFlag('active', active) }),
    ...(type === undefined ? {} : { type: readType(type) }),
    ...(pagingKey === undefined ? {} : { after: readPagingKey(pagingKey, order, isDescending) }),
  }
}

/** The opaque `pagingKey` that leads on from a page. */
export function pagingKeyOf({ order, isDescending }: UserQuery, end: UserPosition): string {
  const parts = [...headOf(order, isDescending), end.value, end.incarnation]
  return Buffer.from(JSON.stringify(parts)).toString('base64url')
}

const NAMES = ['search', 'active', 'type', 'sort', 'desc', 'limit', 'pagingKey']
/** Longer than every user id and name that is searched. */
const LONGEST_SEARCH = 1_000

function readTexts(rawQuery: string): ReadonlyMap<string, string> {
  const texts = new Map<string, string>()
  for (const part of rawQuery.split('&')) {
    if (part === '') continue
    const [name = '', ...rest] = part.replaceAll('+', ' ').split('=')
    const decoded = decodePercent(name)
    if (!NAMES.includes(decoded)) {
      throw invalidRequest(`${quoted(decoded)} is unknown: use ${NAMES.join(', ')}`)
    }
    if (texts.has(decoded)) throw invalidRequest(`${quoted(decoded)} is given twice`)
    texts.set(decoded, decodePercent(rest.join('=')))
  }
  return texts
}

function readSearch(text: string): string {
  if (text.length > LONGEST_SEARCH) {
    throw invalidRequest(`"search" may have at most ${LONGEST_SEARCH} characters`)
  }
  return foldText(text)
}

function readFlag(name: string, text: string): boolean {
  if (text === 'true' || text === 'false') return text === 'true'
  throw invalidRequest(`"${name}" must be true or false`)
}

function readType(text: string): UserType {
  const type = USER_TYPES.find((known) => known === text)
  if (type !== undefined) return type
  throw invalidRequest(`"type" must be one of ${USER_TYPES.join(', ')}`)
}

/** More than a page holds is a page. */
function readLimit(text = String(MAX_USERS)): number {
  if (/^\d{1,15}$/.test(text) && Number(text) > 0) return Math.min(Number(text), MAX_USERS)
  throw invalidRequest('"limit" must be a whole number of at least 1')
}

/** A key is good only for the order that it was given for. */
function readPagingKey(text: string, order: UserOrder, isDescending: boolean): UserPosition {
  const parts = parseParts(Buffer.from(text, 'base64url').toString())
  const [value, incarnation] = parts.slice(2)
  const isSame = headOf(order, isDescending).every((part, index) => parts[index] === part)
  const isValue = typeof value === 'string' || typeof value === 'number'
  if (isSame && isValue && Number.isSafeInteger(incarnation) && parts.length === 4) {
    return { value, incarnation } as UserPosition
  }
  throw invalidRequest(
    '"pagingKey" must be the one of the previous page, with the other parameters unchanged',
  )
}

function headOf(order: UserOrder, isDescending: boolean): readonly [string, number] {
  return [order, isDescending ? 1 : 0]
}

function parseParts(json: string): readonly unknown[] {
  const parts = jsonOf(json)
  return Array.isArray(parts) ? parts : []
}

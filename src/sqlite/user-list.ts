import type { TxContext } from './context'
import type {
  UserFilter,
  UserOrder,
  UserPage,
  UserPosition,
  UserQuery,
  User,
} from '../domain/store/users'
import { damaged, sumOfRow } from './sum'

/** One page: the places of its users first, along an index or from a look-up, then their rows. */
export function listUsers(context: TxContext, query: UserQuery): UserPage {
  const found = findPlaces(context, query)
  const users = load(context, found.slice(0, query.limit))
  return { users, end: users.length < found.length ? found[users.length - 1] : undefined }
}

/** A page is held in memory and ends at this size, in bytes. */
const PAGE_BYTES = 4 * 1024 * 1024
/** Rows that are read at once. */
const BATCH = 250

/** How many users pass the filter, up to `most`. */
export function countUsers(context: TxContext, filter: UserFilter, most: number): number {
  const { sql, parameters } = where(conditionsOf(filter))
  const statement = `SELECT count(*) AS total FROM (SELECT 1 FROM users ${sql} LIMIT ?)`
  return context.connection.prepare<{ total: number }>(statement).get(...parameters, most)!.total
}

/** How many users for each place of the page are looked up and sorted before anything else is tried. */
const FEW = 3
/** Users to walk past, and more for each place, before a larger look-up is tried. */
const NEAR = { page: 5_000, place: 10 }
/** Looking up and sorting this many takes as long as walking past 100,000. */
const MANY = 12_000

/** Up to one place more than the page holds, in order. */
function findPlaces(context: TxContext, query: UserQuery): UserPosition[] {
  const candidates = lookup(query)
  if (candidates === undefined) return walk(context, query)
  const few = numbersOf(context, candidates, FEW * query.limit)
  if (few !== undefined) return sort(context, query, few)
  // Where many match, the next ones are near in any order, unless they are all together elsewhere.
  const near = walk(context, query, NEAR.page + NEAR.place * query.limit)
  if (near.length > query.limit) return near
  const many = numbersOf(context, candidates, MANY)
  return many === undefined ? walk(context, query) : sort(context, query, many)
}

/**
 * The numbers that a look-up finds, as JSON; undefined when they are more than `most`. In the order
 * of creation: rows beside each other are read one after the other.
 */
function numbersOf({ connection }: TxContext, { sql, parameters, isSorted }: Lookup, most: number) {
  const inOrder = isSorted ? '' : ' ORDER BY number'
  const found = connection
    .prepare<{ total: number; numbers: string }>(
      `SELECT count(*) AS total, json_group_array(number${inOrder}) AS numbers FROM (${sql} LIMIT ?)`,
    )
    .get(...parameters, most + 1)!
  return found.total > most ? undefined : found.numbers
}

/** The places of the users among these that pass the filter. */
function sort({ connection }: TxContext, query: UserQuery, numbers: string): UserPosition[] {
  const { expression } = ORDERS[query.order]
  const columns = [expression, 'number']
  const seek = query.after === undefined ? [] : [beyond(query, columns, query.after)]
  const { sql, parameters } = where([...seek, ...conditionsOf(query)])
  return connection
    .prepare<UserPosition>(
      `SELECT ${expression} AS value, number AS incarnation FROM (SELECT value AS found FROM json_each(?)) CROSS JOIN users NOT INDEXED ON number = found ${sql} ORDER BY ${orderBy(query, columns)} LIMIT ?`,
    )
    .all(query.isDescending ? reversed(numbers) : numbers, ...parameters, query.limit + 1)
}

/** Many orders are nearly that of creation, and the page is soon full when its own come first. */
function reversed(numbers: string): string {
  return JSON.stringify((JSON.parse(numbers) as number[]).toReversed())
}

/** Follows the index of the order past at most `most` users, or past all. */
function walk(context: TxContext, query: UserQuery, most = -1): UserPosition[] {
  const { index, expression } = ORDERS[query.order]
  const both = [expression, 'number']
  const { sql: filter, parameters: filtered } = where(conditionsOf(query))
  const places: UserPosition[] = []
  const collect = (seek: readonly Condition[], columns: readonly string[]) => {
    const { sql, parameters } = where(seek)
    const passed = `SELECT ${expression} AS value, number AS incarnation, type, deactivated, search FROM users INDEXED BY ${index} ${sql} ORDER BY ${orderBy(query, columns)} LIMIT ?`
    // The inner statement makes its rows in order, as the outer one asks for them.
    const statement = context.connection.prepare<UserPosition>(
      `SELECT value, incarnation FROM (${passed}) ${filter} LIMIT ?`,
    )
    const room = query.limit + 1 - places.length
    places.push(...statement.all(...parameters, most, ...filtered, room))
  }
  const { after } = query
  if (after === undefined) {
    collect([], both)
    return places
  }
  // Two seeks, because one over both columns would skip over all rows with the same value.
  const tied = condition(`${expression} = ?`, after.value)
  collect([tied, beyond(query, ['number'], after)], ['number'])
  if (places.length <= query.limit) collect([beyond(query, [expression], after)], both)
  return places
}

/** The users at these places, as many as a page may weigh. */
function load({ connection }: TxContext, places: readonly UserPosition[]): User[] {
  const rowsAt = connection.prepare<UserRow>(
    `SELECT ${USER_COLUMNS} FROM users WHERE number IN (SELECT value FROM json_each(?))`,
  )
  const users: User[] = []
  let weight = 0
  for (let begin = 0; begin < places.length; begin += BATCH) {
    const numbers = places.slice(begin, begin + BATCH).map(({ incarnation }) => incarnation)
    const rows = rowsAt.all(JSON.stringify(numbers))
    const rowsByNumber = new Map(rows.map((row) => [row.incarnation, row]))
    for (const number of numbers) {
      const row = rowsByNumber.get(number)!
      weight += row.data?.length ?? 0
      if (weight > PAGE_BYTES && users.length > 0) return users
      users.push(toUser(row))
    }
  }
  return users
}

/** Each order has an index of its own, which begins with this expression and the number. */
const ORDERS: Readonly<Record<UserOrder, { readonly index: string; readonly expression: string }>> =
  {
    userId: { index: 'users_by_id', expression: 'id' },
    created: { index: 'users_by_created', expression: 'created' },
    updated: { index: 'users_by_updated', expression: 'updated' },
    lastLogin: { index: 'users_by_last_login', expression: timeOrNever('last_login') },
    validUntil: { index: 'users_by_valid_until', expression: timeOrNever('valid_until') },
    // The days that are left follow from it, today and tomorrow.
    evalDaysLeft: { index: 'users_by_eval_until', expression: timeOrNever('eval_until') },
    type: { index: 'users_by_type', expression: 'type' },
    displayName: { index: 'users_by_name', expression: "ifnull(name, '')" },
  }

/** Null sorts before every possible time. */
function timeOrNever(column: string): string {
  return `ifnull(${column}, -9007199254740992)`
}

function orderBy({ isDescending }: UserQuery, columns: readonly string[]): string {
  return columns.map((column) => `${column} ${isDescending ? 'DESC' : 'ASC'}`).join(', ')
}

/** The condition for rows after a position, compared by these columns. */
function beyond({ isDescending }: UserQuery, columns: readonly string[], after: UserPosition) {
  const values = columns.map((column) => (column === 'number' ? after.incarnation : after.value))
  const operator = isDescending ? '<' : '>'
  return condition(
    `(${columns.join(', ')}) ${operator} (${values.map(() => '?').join(', ')})`,
    ...values,
  )
}

/** The condition for every user of the list. */
function conditionsOf({ search, active, type }: UserFilter): Condition[] {
  return [
    ...(type === undefined ? [] : [condition('type = ?', type)]),
    ...(active === undefined ? [] : [condition(`deactivated IS ${active ? '' : 'NOT '}NULL`)]),
    ...(search === undefined ? [] : [condition('instr(search, ?) > 0', search)]),
  ]
}

/** A part of a statement, with its parameters. */
export interface Condition {
  readonly sql: string
  readonly parameters: readonly (string | number)[]
}

export function condition(sql: string, ...parameters: (string | number)[]): Condition {
  return { sql, parameters }
}

export function where(conditions: readonly Condition[]): Condition {
  if (conditions.length === 0) return condition('')
  return {
    sql: `WHERE ${conditions.map(({ sql }) => sql).join(' AND ')}`,
    parameters: conditions.flatMap(({ parameters }) => parameters),
  }
}

/** Selects numbers of users, each once. */
export interface Lookup extends Condition {
  /** They come in order. */
  readonly isSorted: boolean
}

/**
 * Selects the numbers of the users who may pass a filter, and of hardly any others; undefined when
 * there is no index that would find them.
 */
export function lookup({ search, type, active }: UserFilter): Lookup | undefined {
  if (search !== undefined) return lookupText(search)
  if (type !== undefined) {
    const state = active === undefined ? '' : ` AND deactivated IS ${active ? '' : 'NOT '}NULL`
    const sql = `SELECT number FROM users INDEXED BY users_by_type WHERE type = ?${state}`
    return { sql, parameters: [type], isSorted: true }
  }
  if (active === false) {
    const sql = 'SELECT number FROM users INDEXED BY users_inactive WHERE deactivated IS NOT NULL'
    return { sql, parameters: [], isSorted: false }
  }
  return undefined
}

/** Enough of them to find hardly any other users. */
const MOST_TRIGRAMS = 16

function lookupText(search: string): Lookup {
  // Code points, as the tokenizer counts them.
  const letters = Array.from(search)
  if (letters.length < 3) {
    // Every letter of a text begins a trigram: one or two are the beginning of one.
    const sql = 'SELECT DISTINCT doc AS number FROM user_trigrams WHERE term >= ? AND term < ?'
    return { sql, parameters: [search, `${search}\u{10ffff}`], isSorted: false }
  }
  // One beside the other, and the last: as a phrase all of them would be compared place by place.
  const trigrams = Array.from({ length: Math.ceil(letters.length / 3) }, (_, at) => {
    const begin = Math.min(at * 3, letters.length - 3)
    return letters.slice(begin, begin + 3).join('')
  })
  const phrases = trigrams
    .slice(0, MOST_TRIGRAMS)
    .map((trigram) => `"${trigram.replaceAll('"', '""')}"`)
  const sql = 'SELECT rowid AS number FROM user_search WHERE user_search MATCH ?'
  return { sql, parameters: [phrases.join(' AND ')], isSorted: true }
}

/** A user as the statements of this room select them. */
export type UserRow = Omit<User, 'data'> & { readonly data: string | null; readonly sum: number }

export const USER_COLUMNS =
  'number AS incarnation, id, type, created, updated, last_login AS lastLogin, valid_until AS validUntil, eval_until AS evalUntil, deactivated, data, sum'

/** Throws `DAMAGED`. */
export function toUser(row: UserRow): User {
  const { data, sum, ...columns } = row
  if (sumOfUser(row) !== sum) throw damaged('user', row.id)
  return { ...columns, data: data === null ? null : (JSON.parse(data) as User['data']) }
}

/**
 * Of the columns that are a user; the address, name and text that users are found by follow from them.
 * `data` is the text of the column.
 */
export function sumOfUser(row: Omit<UserRow, 'sum'>): number {
  const { incarnation, id, type, created, updated, lastLogin, validUntil, evalUntil } = row
  const times = [created, updated, lastLogin, validUntil, evalUntil, row.deactivated]
  return sumOfRow([incarnation, id, type, ...times, row.data])
}

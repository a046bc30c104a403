import type { TxContext } from './context'
import {
  USER_TYPES,
  type User,
  type UserFilter,
  type UserOrder,
  type UserPage,
  type UserPosition,
  type UserQuery,
  type UserSearch,
} from '../domain/store/users'
import type { users } from './schema'
import { damaged, sumOfRow } from './sum'

/** A step of a search looks at the users with this many numbers in succession. */
const NUMBERS_IN_STEP = 20_000

export function searchUsers(
  context: TxContext,
  query: UserQuery,
  earlier: UserSearch = { positions: [], next: undefined },
): UserSearch {
  const isWhole = query.type === undefined && conditionsOf(query).length === 0
  if (isWhole && query.order === 'userId') return walkIds(context, query)
  const after = earlier.next ?? 0
  const last = after + NUMBERS_IN_STEP
  // What would stand behind a full page is not looked at.
  const worst = earlier.positions[query.limit]
  const found = firstOf(context, query, { after, last, worst })
  return {
    positions: merge(query, earlier.positions, found).slice(0, query.limit + 1),
    next: last < largestNumber(context) ? last : undefined,
  }
}

function largestNumber({ connection }: TxContext): number {
  const statement = 'SELECT ifnull(max(number), 0) AS largest FROM users'
  return connection.prepare<{ largest: number }>(statement).get()!.largest
}

/** A whole list in its usual order follows the ids, and ends with its page. */
function walkIds({ connection }: TxContext, query: UserQuery): UserSearch {
  const { sql, parameters } = where(beyond(query, query.after))
  const positions = connection
    .prepare<UserPosition>(
      `SELECT id AS value, number AS incarnation FROM users ${sql} ORDER BY id ${directionOf(query)} LIMIT ?`,
    )
    .all(...parameters, query.limit + 1)
  return { positions, next: undefined }
}

/** The numbers that a step looks at, and the last position of a full page that was found so far. */
interface Step {
  readonly after: number
  readonly last: number
  readonly worst: UserPosition | undefined
}

/** The first positions of a step after the end of the page before. */
function firstOf(
  { connection }: TxContext,
  query: UserQuery,
  { after, last, worst }: Step,
): UserPosition[] {
  const expression = EXPRESSIONS[query.order]
  const direction = directionOf(query)
  const types = query.type === undefined ? USER_TYPES : [query.type]
  const step = condition(
    `type IN (${types.map(() => '?').join(', ')}) AND number > ? AND number <= ?`,
    ...types,
    after,
    last,
  )
  const { sql, parameters } = where([
    step,
    ...beyond(query, query.after),
    ...before(query, worst),
    ...conditionsOf(query),
  ])
  return connection
    .prepare<UserPosition>(
      `SELECT ${expression} AS value, number AS incarnation FROM users INDEXED BY users_listed ${sql} ORDER BY ${expression} ${direction}, number ${direction} LIMIT ?`,
    )
    .all(...parameters, query.limit + 1)
}

function merge(
  { isDescending }: UserQuery,
  some: readonly UserPosition[],
  others: readonly UserPosition[],
): readonly UserPosition[] {
  if (some.length === 0) return others
  const sign = isDescending ? -1 : 1
  return [...some, ...others].toSorted(
    (a, b) => sign * (compareValues(a.value, b.value) || a.incarnation - b.incarnation),
  )
}

/** As SQLite: texts by their bytes. The values of one order are of one type. */
function compareValues(a: string | number, b: string | number): number {
  if (typeof a === 'number') return a - Number(b)
  return a === b ? 0 : Buffer.compare(Buffer.from(a), Buffer.from(String(b)))
}

/** A page is held in memory and ends at this size, in bytes. */
const PAGE_BYTES = 4 * 1024 * 1024
/** Rows that are read at once. */
const ROWS_PER_READ = 250

export function readPage(
  { connection }: TxContext,
  positions: readonly UserPosition[],
  limit: number,
): UserPage {
  const rowsAt = connection.prepare<UserRow>(
    `SELECT ${USER_COLUMNS} FROM users WHERE number IN (SELECT value FROM json_each(?))`,
  )
  const users: User[] = []
  const endAfter = (count: number) => (count < positions.length ? positions[count - 1] : undefined)
  let weight = 0
  for (let begin = 0; begin < limit; begin += ROWS_PER_READ) {
    const batch = positions.slice(begin, Math.min(begin + ROWS_PER_READ, limit))
    const numbers = batch.map(({ incarnation }) => incarnation)
    const rows = rowsAt.all(JSON.stringify(numbers))
    const rowsByNumber = new Map(rows.map((row) => [row.incarnation, row]))
    for (const [at, number] of numbers.entries()) {
      const row = rowsByNumber.get(number)
      if (row === undefined) continue
      weight += row.data?.length ?? 0
      if (weight > PAGE_BYTES && users.length > 0) return { users, end: endAfter(begin + at) }
      users.push(toUser(row))
    }
  }
  return { users, end: endAfter(limit) }
}

export function countUsers(context: TxContext, filter: UserFilter, most: number): number {
  const { type } = filter
  const ofType = type === undefined ? [] : [condition('type = ?', type)]
  const { sql, parameters } = where([...ofType, ...conditionsOf(filter)])
  const statement = `SELECT count(*) AS total FROM (SELECT 1 FROM users INDEXED BY users_listed ${sql} LIMIT ?)`
  return context.connection.prepare<{ total: number }>(statement).get(...parameters, most)!.total
}

/** The value of each order. `users_listed` holds what they are made of. */
const EXPRESSIONS: Readonly<Record<UserOrder, string>> = {
  userId: 'id',
  created: 'created',
  updated: 'updated',
  lastLogin: timeOrNever('last_login'),
  validUntil: timeOrNever('valid_until'),
  // The days that are left follow from it, today and tomorrow.
  evalDaysLeft: timeOrNever('eval_until'),
  type: 'type',
  displayName: "ifnull(name, '')",
}

/** Null sorts before every possible time. */
function timeOrNever(column: string): string {
  return `ifnull(${column}, -9007199254740992)`
}

function directionOf({ isDescending }: UserQuery): string {
  return isDescending ? 'DESC' : 'ASC'
}

/** The users after a position in the order of the query. */
function beyond(query: UserQuery, position: UserPosition | undefined): Condition[] {
  return comparedWith(query, query.isDescending ? '<' : '>', position)
}

function before(query: UserQuery, position: UserPosition | undefined): Condition[] {
  return comparedWith(query, query.isDescending ? '>' : '<', position)
}

function comparedWith(
  { order }: UserQuery,
  operator: '<' | '>',
  position: UserPosition | undefined,
): Condition[] {
  if (position === undefined) return []
  const columns = `(${EXPRESSIONS[order]}, number)`
  return [condition(`${columns} ${operator} (?, ?)`, position.value, position.incarnation)]
}

function conditionsOf({ search, active }: UserFilter): Condition[] {
  return [
    ...(active === undefined ? [] : [condition(`deactivated IS ${active ? '' : 'NOT '}NULL`)]),
    ...(search === undefined ? [] : [condition('instr(search, ?) > 0', search)]),
  ]
}

/** A part of a statement, with its parameters. */
interface Condition {
  readonly sql: string
  readonly parameters: readonly (string | number)[]
}

function condition(sql: string, ...parameters: (string | number)[]): Condition {
  return { sql, parameters }
}

function where(conditions: readonly Condition[]): Condition {
  if (conditions.length === 0) return condition('')
  return {
    sql: `WHERE ${conditions.map(({ sql }) => sql).join(' AND ')}`,
    parameters: conditions.flatMap(({ parameters }) => parameters),
  }
}

/** A user as the statements of this room select them. */
export type UserRow = Omit<typeof users.$inferSelect, 'email' | 'name' | 'search'>

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

import type { User } from '../domain/value/user-id'
import type { UserFilter, UserOrder, UserPage, UserPosition, UserQuery } from '../domain/user/query'
import type { Scope } from './scope'
import { type Condition, condition, type Lookup, lookup, where } from './user-lookup'
import { toUser, USER_COLUMNS, type UserRow } from './user-row'

/** One page: the places of its users first, along an index or from a look-up, then their rows. */
export function listUsers(scope: Scope, query: UserQuery): UserPage {
  const found = findPlaces(scope, query)
  const users = load(scope, found.slice(0, query.limit))
  return { users, end: users.length < found.length ? found[users.length - 1] : undefined }
}

/** A page is held in memory: here it ends though more users are asked for. */
const HEAVIEST = 4 * 1024 * 1024
/** Rows that are read at once. */
const BATCH = 250

/** How many users pass the filter, up to `most`. */
export function countUsers(scope: Scope, filter: UserFilter, most: number): number {
  const { sql, parameters } = where(conditionsOf(filter))
  const statement = `SELECT count(*) AS total FROM (SELECT 1 FROM users ${sql} LIMIT ?)`
  return scope.connection.prepare<{ total: number }>(statement).get(...parameters, most)!.total
}

/** So many for each place of the page are looked up and sorted before anything else is tried. */
const FEW = 3
/** How many to walk past, and how many more for each place, before that may be the better way. */
const NEAR = { page: 5_000, place: 10 }
/** To look up and sort so many takes as long as to walk past a hundred thousand. */
const MANY = 12_000

/** Up to one place more than the page holds, in order. */
function findPlaces(scope: Scope, query: UserQuery): UserPosition[] {
  const candidates = lookup(query)
  if (candidates === undefined) return walk(scope, query)
  const few = numbersOf(scope, candidates, FEW * query.limit)
  if (few !== undefined) return sort(scope, query, few)
  // Where many match, the next ones are near in any order, unless they are all together elsewhere.
  const near = walk(scope, query, NEAR.page + NEAR.place * query.limit)
  if (near.length > query.limit) return near
  const many = numbersOf(scope, candidates, MANY)
  return many === undefined ? walk(scope, query) : sort(scope, query, many)
}

/**
 * The numbers that a look-up finds, as JSON; undefined when they are more than `most`. In the order
 * of creation: rows beside each other are read one after the other.
 */
function numbersOf({ connection }: Scope, { sql, parameters, isSorted }: Lookup, most: number) {
  const inOrder = isSorted ? '' : ' ORDER BY number'
  const found = connection
    .prepare<{ total: number; numbers: string }>(
      `SELECT count(*) AS total, json_group_array(number${inOrder}) AS numbers FROM (${sql} LIMIT ?)`,
    )
    .get(...parameters, most + 1)!
  return found.total > most ? undefined : found.numbers
}

/** The places of those of these users who pass the filter. */
function sort({ connection }: Scope, query: UserQuery, numbers: string): UserPosition[] {
  const { expression } = ORDERS[query.order]
  const columns = [expression, 'number']
  const seek = query.after === undefined ? [] : [beyond(query, columns, query.after)]
  const { sql, parameters } = where([...seek, ...conditionsOf(query)])
  return connection
    .prepare<UserPosition>(
      `SELECT ${expression} AS value, number AS incarnation FROM (SELECT value AS found FROM json_each(?)) CROSS JOIN users NOT INDEXED ON number = found ${sql} ORDER BY ${sorted(query, columns)} LIMIT ?`,
    )
    .all(query.isDescending ? reversed(numbers) : numbers, ...parameters, query.limit + 1)
}

/** Many orders are nearly that of creation, and the page is soon full when its own come first. */
function reversed(numbers: string): string {
  return JSON.stringify((JSON.parse(numbers) as number[]).toReversed())
}

/** Along the index of the order, past `most` users at the most, or past everybody. */
function walk(scope: Scope, query: UserQuery, most = -1): UserPosition[] {
  const { index, expression } = ORDERS[query.order]
  const both = [expression, 'number']
  const { sql: filter, parameters: filtered } = where(conditionsOf(query))
  const places: UserPosition[] = []
  const collect = (seek: readonly Condition[], columns: readonly string[]) => {
    const { sql, parameters } = where(seek)
    const passed = `SELECT ${expression} AS value, number AS incarnation, type, deactivated, search FROM users INDEXED BY ${index} ${sql} ORDER BY ${sorted(query, columns)} LIMIT ?`
    // The inner statement makes its rows in order, as the outer one asks for them.
    const statement = scope.connection.prepare<UserPosition>(
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
  // Two seeks, because one over both columns would pass over all that have the same value.
  const tied = condition(`${expression} = ?`, after.value)
  collect([tied, beyond(query, ['number'], after)], ['number'])
  if (places.length <= query.limit) collect([beyond(query, [expression], after)], both)
  return places
}

/** The users at these places, as many as a page may weigh. */
function load({ connection }: Scope, places: readonly UserPosition[]): User[] {
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
      if (weight > HEAVIEST && users.length > 0) return users
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

/** Null is compared as a time before every one there can be. */
function timeOrNever(column: string): string {
  return `ifnull(${column}, -9007199254740992)`
}

function sorted({ isDescending }: UserQuery, columns: readonly string[]): string {
  return columns.map((column) => `${column} ${isDescending ? 'DESC' : 'ASC'}`).join(', ')
}

/** What comes after a position, compared by these columns. */
function beyond({ isDescending }: UserQuery, columns: readonly string[], after: UserPosition) {
  const values = columns.map((column) => (column === 'number' ? after.incarnation : after.value))
  const operator = isDescending ? '<' : '>'
  return condition(
    `(${columns.join(', ')}) ${operator} (${values.map(() => '?').join(', ')})`,
    ...values,
  )
}

/** What every user of the list must fulfil. */
function conditionsOf({ search, active, type }: UserFilter): Condition[] {
  return [
    ...(type === undefined ? [] : [condition('type = ?', type)]),
    ...(active === undefined ? [] : [condition(`deactivated IS ${active ? '' : 'NOT '}NULL`)]),
    ...(search === undefined ? [] : [condition('instr(search, ?) > 0', search)]),
  ]
}

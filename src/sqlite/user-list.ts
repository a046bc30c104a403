import type { User } from '../domain/user'
import type { UserFilter, UserOrder, UserPage, UserPosition, UserQuery } from '../domain/user-query'
import type { Scope } from './scope'
import { toUser, USER_COLUMNS, type UserRow } from './user-row'

/** One page: the places of its users first, along an index or from a look-up, then their rows. */
export function listUsers(scope: Scope, query: UserQuery): UserPage {
  const found = findPlaces(scope, query)
  const shown = found.slice(0, query.limit)
  return {
    users: load(scope, shown),
    end: found.length > shown.length ? shown.at(-1) : undefined,
  }
}

/** How many users pass the filter, up to `most`. */
export function countUsers(scope: Scope, filter: UserFilter, most: number): number {
  const { sql, parameters } = where(narrow(scope, filter).conditions)
  const statement = `SELECT count(*) AS total FROM (SELECT 1 FROM users ${sql} LIMIT ?)`
  return scope.connection.prepare<{ total: number }>(statement).get(...parameters, most)!.total
}

/** Up to one place more than the page holds, in order. */
function findPlaces(scope: Scope, query: UserQuery): UserPosition[] {
  const { isDescending, limit, after } = query
  const { index, expression } = ORDERS[query.order]
  const { isFew, conditions } = narrow(scope, query)
  const places: UserPosition[] = []
  const collect = (from: string, seek: readonly Condition[], by: readonly string[]) => {
    const { sql, parameters } = where([...seek, ...conditions])
    const sorted = by.map((column) => `${column} ${isDescending ? 'DESC' : 'ASC'}`).join(', ')
    const statement = scope.connection.prepare<UserPosition>(
      `SELECT ${expression} AS value, number AS incarnation FROM ${from} ${sql} ORDER BY ${sorted} LIMIT ?`,
    )
    places.push(...statement.all(...parameters, limit + 1 - places.length))
  }
  const both = [expression, 'number']
  if (isFew) {
    collect('users NOT INDEXED', after === undefined ? [] : [beyond(query, both, after)], both)
    return places
  }
  const along = `users INDEXED BY ${index}`
  if (after === undefined) {
    collect(along, [], both)
    return places
  }
  // Two seeks, because one over both columns would pass over all that have the same value.
  const tied = condition(`${expression} = ?`, after.value)
  collect(along, [tied, beyond(query, ['number'], after)], ['number'])
  if (places.length <= limit) collect(along, [beyond(query, [expression], after)], both)
  return places
}

function load(scope: Scope, places: readonly UserPosition[]): User[] {
  const numbers = JSON.stringify(places.map(({ incarnation }) => incarnation))
  const rows = scope.connection
    .prepare<UserRow>(
      `SELECT ${USER_COLUMNS} FROM users WHERE number IN (SELECT value FROM json_each(?))`,
    )
    .all(numbers)
  const rowsByNumber = new Map(rows.map((row) => [row.incarnation, row]))
  return places.flatMap(({ incarnation }) => {
    const row = rowsByNumber.get(incarnation)
    return row === undefined ? [] : [toUser(row)]
  })
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

/** What comes after a position, compared by these columns. */
function beyond({ isDescending }: UserQuery, columns: readonly string[], after: UserPosition) {
  const values = columns.map((column) => (column === 'number' ? after.incarnation : after.value))
  const operator = isDescending ? '<' : '>'
  return condition(
    `(${columns.join(', ')}) ${operator} (${values.map(() => '?').join(', ')})`,
    ...values,
  )
}

interface Narrowed {
  /** So few users are left that they are looked up and sorted, whatever the order. */
  readonly isFew: boolean
  readonly conditions: readonly Condition[]
}

/** So many matches are found and sorted in less time than it takes to walk along an order. */
const FEW = 5_000

function narrow(scope: Scope, { search, active, type }: UserFilter): Narrowed {
  const conditions: Condition[] = []
  if (type !== undefined) conditions.push(condition('type = ?', type))
  if (active !== undefined) {
    conditions.push(condition(`deactivated IS ${active ? '' : 'NOT '}NULL`))
  }
  if (search === undefined) return { isFew: false, conditions }
  const found = lookup(search)
  const isFew = count(scope, found) < FEW
  // Where many match, the next one is near in any order: the index holds what is searched.
  conditions.push(
    isFew
      ? condition(`number IN (${found.sql})`, ...found.parameters)
      : condition('instr(search, ?) > 0', search),
  )
  return { isFew, conditions }
}

const TRIGRAM = /.{3}/su

/** The numbers of the users in whose texts the search is. */
function lookup(search: string): Condition {
  if (TRIGRAM.test(search)) {
    const phrase = `"${search.replaceAll('"', '""')}"`
    return condition('SELECT rowid FROM user_search WHERE user_search MATCH ?', phrase)
  }
  // Every letter of a text begins a trigram: one or two are the beginning of one.
  const trigrams = 'SELECT DISTINCT doc FROM user_trigrams WHERE term >= ? AND term < ?'
  return condition(trigrams, search, `${search}\u{10ffff}`)
}

function count(scope: Scope, { sql, parameters }: Condition): number {
  return scope.connection
    .prepare<{ total: number }>(`SELECT count(*) AS total FROM (${sql} LIMIT ${FEW})`)
    .get(...parameters)!.total
}

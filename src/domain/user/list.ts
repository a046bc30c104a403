import { type Actor, requireStanding } from '../access/actor'
import { SatchelError } from '../value/error'
import { findPolicy, type Policy } from './policy'
import type { Database, ReadTx } from '../store/store'
import { MAX_USERS, pagingKeyOf } from './query'
import type {
  User,
  UserFilter,
  UserPosition,
  UserQuery,
  UserSearch,
  UserType,
} from '../store/users'
import { nextTurn } from '../value/turn'
import { evalDaysLeft } from './license'

/** A page of users as `GET /users` answers it (spec.md §4, §4.2). */
export interface UserListJson {
  readonly data: readonly UserJson[]
  readonly hasMore: boolean
  readonly pagingKey?: string
}

/**
 * The requested page. `now` in ms. The caller has checked the scopes. Throws as `requireStanding`.
 */
export async function listUsers(
  database: Database,
  actor: Actor,
  query: UserQuery,
  now: number,
): Promise<UserListJson> {
  const search = (earlier?: UserSearch) =>
    database.read((tx) => {
      requireStanding(tx, actor)
      return tx.users.search(query, earlier)
    })
  let found = await search()
  while (found.next !== undefined) {
    await nextTurn()
    found = await search(found)
  }
  return database.read((tx) => {
    requireStanding(tx, actor)
    const policy = findPolicy(tx)
    const { users, end } = tx.users.page(found.positions, query.limit)
    return {
      data: users.map((user) => showUser(user, policy, now)),
      hasMore: end !== undefined,
      ...(end === undefined ? {} : { pagingKey: pagingKeyOf(query, end) }),
    }
  })
}

/**
 * One user. `now` in ms. The caller has checked the scopes. Throws `UNKNOWN_USER`, and as
 * `requireStanding`.
 */
export function getUser(
  database: Database,
  actor: Actor,
  id: string,
  now: number,
): Promise<UserJson> {
  return database.read((tx) => {
    requireStanding(tx, actor)
    const user = tx.users.find(id)
    if (user === undefined) throw unknownUser()
    return showUser(user, findPolicy(tx), now)
  })
}

/** Every user that passes the filter, by user id: where there cannot be many. */
export function listEveryUser(tx: ReadTx, filter: UserFilter = {}): User[] {
  const query: UserQuery = { ...filter, order: 'userId', isDescending: false, limit: MAX_USERS }
  const users: User[] = []
  let end: UserPosition | undefined
  do {
    const after: UserQuery = end === undefined ? query : { ...query, after: end }
    let found = tx.users.search(after)
    while (found.next !== undefined) found = tx.users.search(after, found)
    const page = tx.users.page(found.positions, MAX_USERS)
    users.push(...page.users)
    end = page.end
  } while (end !== undefined)
  return users
}

/**
 * The users with this address, in its stored form: the one whose id it is, else those whose e-mail
 * it is, where ids are something else (spec.md §2.3); of several two.
 */
export function findUsersOfEmail(tx: ReadTx, email: string): readonly User[] {
  const own = tx.users.find(email)
  return own === undefined ? tx.users.ofEmail(email, 2) : [own]
}

export function unknownUser(): SatchelError {
  return new SatchelError('UNKNOWN_USER', 'There is no user with this id')
}

/** A user as callers see them (spec.md §2.3). Times are ISO texts. */
export interface UserJson {
  readonly userId: string
  readonly created: string
  readonly updated: string
  readonly lastLogin: string | null
  readonly type: UserType
  readonly validUntil?: string
  readonly evalDaysLeft?: number
  readonly maxAllowedEvalDaysLeft: number
  readonly deactivated: string | null
  readonly data: User['data']
}

/** `now` in ms: the days that are left depend on it. */
export function showUser(user: User, policy: Policy, now: number): UserJson {
  const { validUntil } = user
  const days = evalDaysLeft(user, now)
  return {
    userId: user.id,
    created: isoTime(user.created),
    updated: isoTime(user.updated),
    lastLogin: user.lastLogin === null ? null : isoTime(user.lastLogin),
    type: user.type,
    ...(validUntil === null ? {} : { validUntil: isoTime(validUntil) }),
    ...(days === undefined ? {} : { evalDaysLeft: days }),
    maxAllowedEvalDaysLeft: policy.evalDays,
    deactivated: user.deactivated === null ? null : isoTime(user.deactivated),
    data: user.data,
  }
}

function isoTime(time: number): string {
  return new Date(time).toISOString()
}

import { foldEmail } from '../value/email'
import { foldText } from '../value/fold'

/** A user of the database (spec.md §2.3). Times in ms since the epoch. */
export interface UserFields {
  readonly id: string
  readonly type: UserType
  readonly created: number
  readonly updated: number
  readonly lastLogin: number | null
  readonly validUntil: number | null
  /** When the evaluation is over. It counts while the type is `eval`. */
  readonly evalUntil: number | null
  readonly deactivated: number | null
  /** Free-form; `email` and `displayName` are known. */
  readonly data: Readonly<Record<string, unknown>> | null
}

export interface User extends UserFields {
  /**
   * One incarnation of a user id: a user who is deleted and created again has another one
   * (design.md §3).
   */
  readonly incarnation: number
}

export const USER_TYPES = ['eval', 'prod', 'demo'] as const

export type UserType = (typeof USER_TYPES)[number]

/** The sort orders of users (spec.md §4.2). */
export const USER_ORDERS = [
  'userId',
  'created',
  'updated',
  'lastLogin',
  'validUntil',
  'evalDaysLeft',
  'type',
  'displayName',
] as const

export type UserOrder = (typeof USER_ORDERS)[number]

export interface UserFilter {
  /** Folded: a part of the user id, the e-mail or the display name. */
  readonly search?: string
  readonly active?: boolean
  readonly type?: UserType
}

export interface UserQuery extends UserFilter {
  /** Users without a value come first, and last in descending order; names are compared folded. */
  readonly order: UserOrder
  readonly isDescending: boolean
  /** 1 to `MAX_USERS`. */
  readonly limit: number
  /** Where the page before this one ended. */
  readonly after?: UserPosition
}

/** The place of a user in an order, which is there when the user is not. */
export interface UserPosition {
  /** The value that the engine compares in this order. */
  readonly value: string | number
  readonly incarnation: number
}

/** How far a search for one page has come. */
export interface UserSearch {
  readonly positions: readonly UserPosition[]
  /** Where the engine goes on; undefined when it has looked at all users. */
  readonly next: number | undefined
}

export interface UserPage {
  /** Fewer than the limit though there are more, when they are many megabytes. */
  readonly users: readonly User[]
  /** Where this page ends; undefined when it is the last. */
  readonly end: UserPosition | undefined
}

export interface UserReader {
  find(id: string): User | undefined
  /**
   * Up to `limit` users with this address, in its stored form, in the order of creation; whose id
   * it is need not be among them.
   */
  ofEmail(email: string, limit: number): User[]
  /**
   * Looks at some of the users that were not looked at yet and keeps the first `limit + 1` that pass
   * the filter, in the order that is asked for, then in that of creation. A search is over when
   * `next` is undefined; its steps may be of several reads.
   */
  search(query: UserQuery, earlier?: UserSearch): UserSearch
  /** The first `limit` users of these, without those that are gone. */
  page(positions: readonly UserPosition[], limit: number): UserPage
  /** How many users pass the filter; counting ends at `most`. */
  count(filter: UserFilter, most: number): number
}

export interface UserWriter extends UserReader {
  /** Writes a user, who gets a new incarnation when there is none with this id. */
  put(user: UserFields): User
  /**
   * Records a login at `at`, ms, of the user with this id, unless a later one is known. One later than
   * `now` is of a clock that was wrong. It changes no permission.
   */
  noteLogin(id: string, at: number, now: number): void
  /** False when there was none. */
  remove(id: string): boolean
}

/** The texts by which users are found, searched and sorted, besides their columns. */
export interface UserTexts {
  /** The e-mail as it is compared; null when there is none or the user id is it. */
  readonly email: string | null
  /** The display name, folded; null when there is none. */
  readonly name: string | null
  /**
   * User id, e-mail and display name, folded, each on a line of its own: a search has no line
   * breaks.
   */
  readonly search: string
}

export function textsOf({ id, data }: Pick<UserFields, 'id' | 'data'>): UserTexts {
  const [userId, email, name] = [id, data?.['email'], data?.['displayName']].map(foldValue)
  const lines = new Set([userId, email, name].filter((line) => typeof line === 'string'))
  return {
    email: emailOf(id, data?.['email']),
    name: name ?? null,
    search: [...lines].join('\n'),
  }
}

function emailOf(id: string, value: unknown): string | null {
  // Longer texts are no addresses.
  if (typeof value !== 'string' || value.length > SEARCHED) return null
  const email = foldEmail(value)
  return email === '' || email === id ? null : email.toWellFormed()
}

function foldValue(value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined
  return foldText(value.slice(0, SEARCHED)).slice(0, SEARCHED).toWellFormed()
}

/** The searched length of a text, in UTF-16 units: a longer name is found by its beginning. */
const SEARCHED = 1_000

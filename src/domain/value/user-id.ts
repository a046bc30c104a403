import type { Actor } from '../access/actor'
import { type ErrorCode, SatchelError } from './error'
import type { Awaitable, ReadTx } from '../store/store'

/** What is kept of a person who uses the database (spec.md §2.3). Times in ms since the epoch. */
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
  /** One life of a user id: who is deleted and comes back is another one (design.md §3). */
  readonly incarnation: number
}

export const USER_TYPES = ['eval', 'prod', 'demo'] as const

export type UserType = (typeof USER_TYPES)[number]

/** Who a person says to be when they appear for the first time. */
export interface Person {
  readonly id: string
  readonly email: string | null
  readonly name: string | null
}

/** The user as it is since policy last changed: remembered, for it is asked for with every token. */
export function findUser(tx: ReadTx, id: string): Awaitable<User | undefined> {
  return tx.remember(`user ${id}`, () => tx.users.find(id))
}

/**
 * Asked in the unit that writes something, for which the writer may have waited: what comes after
 * the deletion of a user would be left to the next one with their id. Throws `INVALID_TOKEN`.
 */
export async function requireSameLife(tx: ReadTx, { subject, incarnation }: Actor): Promise<void> {
  if (subject === null || incarnation === undefined) return
  if ((await findUser(tx, subject))?.incarnation === incarnation) return
  throw new SatchelError('INVALID_TOKEN', 'The user of this token is gone')
}

/**
 * A user id from outside, in its one form: an e-mail address is lower case (design.md §4).
 * Throws `code` when it cannot be one.
 */
export function requireUserId(value: unknown, code: ErrorCode = 'UNPROCESSABLE'): string {
  const refuse = (why: string): never => {
    throw new SatchelError(code, `A user id ${why}`)
  }
  if (typeof value !== 'string') return refuse('must be a string')
  const id = foldUserId(value)
  if (id === '' || id === '.' || id === '..') return refuse('must not be empty, "." or ".."')
  if (!id.isWellFormed()) return refuse('must be well-formed Unicode')
  if (/\p{Cc}/u.test(id)) return refuse('must have no control characters')
  if (id.startsWith('rlm') || id.startsWith('#')) return refuse('must not begin with "rlm" or "#"')
  if (Buffer.byteLength(id) > MAX_BYTES) return refuse(`must have at most ${MAX_BYTES} bytes`)
  return id
}

/** The form in which a user with this id is kept, if there is one. */
export function foldUserId(id: string): string {
  return isEmail(id) ? foldEmail(id) : id
}

export function isEmail(text: string): boolean {
  return /^\s*[^\s@]+@[^\s@]+\s*$/u.test(text)
}

/** The form in which addresses are stored and compared: that of the clients (protocol.md §2.5). */
export function foldEmail(email: string): string {
  return email.trim().toLowerCase()
}

const MAX_BYTES = 256

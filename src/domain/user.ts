import { type ErrorCode, SatchelError } from './error'
import type { Awaitable, ReadTx, WriteTx } from './store'

/** A person who uses the database (spec.md §2.3). */
export interface User {
  readonly id: string
  readonly type: 'eval' | 'prod' | 'demo'
  /** ms since the epoch. */
  readonly created: number
  readonly updated: number
  readonly lastLogin: number | null
  readonly validUntil: number | null
  readonly deactivated: number | null
  /** Free-form; `email` and `displayName` are known. */
  readonly data: Readonly<Record<string, unknown>> | null
}

/** Who a person says to be when they appear for the first time. */
export interface Person {
  readonly id: string
  readonly email: string | null
  readonly name: string | null
}

/** What a token says about its subject's right to go on (protocol.md §2.5). */
export type License = 'ok' | 'expired' | 'deactivated'

/** The user as it is since policy last changed: remembered, for it is asked for with every token. */
export function findUser(tx: ReadTx, id: string): Awaitable<User | undefined> {
  return tx.remember(`user ${id}`, () => tx.users.find(id))
}

/** The user, who is created when this is the first that is heard of them (design.md §4). */
export async function admitUser(tx: WriteTx, person: Person, now: number): Promise<User> {
  const known = await tx.users.find(person.id)
  if (known !== undefined) return known
  const user: User = {
    id: person.id,
    type: 'prod',
    created: now,
    updated: now,
    lastLogin: now,
    validUntil: null,
    deactivated: null,
    data: dataOf(person),
  }
  await tx.users.put(user)
  return user
}

/** The user's licence at `now`, ms. */
export function licenseOf(user: User, now: number): License {
  if (user.deactivated !== null) return 'deactivated'
  return user.validUntil !== null && user.validUntil <= now ? 'expired' : 'ok'
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
  const id = isEmail(value) ? foldEmail(value) : value
  if (id === '' || id === '.' || id === '..') return refuse('must not be empty, "." or ".."')
  if (!id.isWellFormed()) return refuse('must be well-formed Unicode')
  if (/\p{Cc}/u.test(id)) return refuse('must have no control characters')
  if (id.startsWith('rlm') || id.startsWith('#')) return refuse('must not begin with "rlm" or "#"')
  if (Buffer.byteLength(id) > MAX_BYTES) return refuse(`must have at most ${MAX_BYTES} bytes`)
  return id
}

export function isEmail(text: string): boolean {
  return /^\s*[^\s@]+@[^\s@]+\s*$/u.test(text)
}

/** The form in which addresses are stored and compared: that of the clients (protocol.md §2.5). */
export function foldEmail(email: string): string {
  return email.trim().toLowerCase()
}

const MAX_BYTES = 256

function dataOf({ email, name }: Person): User['data'] {
  if (email === null && name === null) return null
  return {
    ...(name === null ? {} : { displayName: name }),
    ...(email === null ? {} : { email }),
  }
}

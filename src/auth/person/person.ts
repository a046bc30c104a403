import { findClient, isClientExpired } from '../../domain/database/client'
import { SatchelError } from '../../domain/value/error'
import {
  findPolicy,
  type Intent,
  rejection,
  verdictOn,
  type Person,
} from '../../domain/user/policy'
import { CONNECT_CLIENT, grantScopes, isScope, type Scope } from '../../domain/value/scope'
import type { ReadTx } from '../../domain/store/store'
import { findUser, PUBLIC_CLIENT, requireActive } from '../../domain/access/actor'
import type { User } from '../../domain/store/users'
import { foldEmail, isEmail, DEMO_DOMAIN, requireEmail } from '../../domain/value/email'
import { requireUserId } from '../../domain/value/user-id'
import type { Code } from '../../domain/store/credentials'

/** The subject of a token, as the client that requests it states (protocol.md §2.1). */
export interface PersonClaims extends Person {
  /** Claims of the application's own, passed on as they came. */
  readonly extra: Readonly<Record<string, unknown>>
}

/** The scopes that a person may request at their own login. */
export const PERSON_SCOPES: readonly Scope[] = ['ACCESS_DB']

/**
 * The scopes of a login with a one-time code: those of a person, or `CONNECT_CLIENT` alone
 * (protocol.md §9.2). Throws `INVALID_SCOPE`.
 */
export function loginScopes(
  asked: readonly string[],
  held: readonly string[] = [...PERSON_SCOPES, CONNECT_CLIENT],
): readonly string[] {
  const isConnecting = asked.length > 0 && asked.every((scope) => scope === CONNECT_CLIENT)
  if (isConnecting && held.includes(CONNECT_CLIENT)) return [CONNECT_CLIENT]
  return grantScopes(asked, held.filter(isScope))
}

/**
 * The client that the tokens of a person with a proven address depend on: `PUBLIC_CLIENT`, or one of
 * their own clients to log in as another user. Checks everything that needs no web hook, and throws
 * `USER_DEACTIVATED`, `USER_NOT_REGISTERED`, `USER_NOT_ACCEPTED`, and `NOT_AUTHORIZED` without
 * permission to log in as another. `now` in ms.
 */
export function requireMaySignUp(
  tx: ReadTx,
  { email, as }: LoginName,
  intent: Intent | undefined,
  now: number,
): string {
  const clientId = as === null ? PUBLIC_CLIENT : requireImpersonator(tx, email, now)
  const user = findUser(tx, as ?? email)
  requireActive(user)
  if (user !== undefined) return clientId
  // A login as another user creates no user.
  const why = as === null ? intent : 'login'
  if (verdictOn(findPolicy(tx), why) === 'reject') throw rejection(why)
  return clientId
}

/** The stored address of a user; null when none is known. */
export function addressOf({ id, data }: User): string | null {
  const email = data?.['email']
  if (isEmail(id)) return id
  return typeof email === 'string' && isEmail(email) ? foldEmail(email) : null
}

/** The claims of a person with this address and display name. */
export function claimsOf(
  user: User,
  email: string | null,
  name: string | null = null,
): PersonClaims {
  const own = user.data?.['displayName']
  return { id: user.id, email, name: typeof own === 'string' ? own : name, extra: {} }
}

/**
 * Only the owner of a client that may read and write everything anyway may log in as another user
 * (protocol.md §2.1): the id of that client.
 */
function requireImpersonator(tx: ReadTx, email: string, now: number): string {
  requireActive(findUser(tx, email))
  const owned = tx.remember(`clients of ${email}`, () => {
    const clients = tx.clients.list()
    return clients.filter((client) => client.email === email).map(({ id }) => id)
  })
  for (const id of owned) {
    const client = findClient(tx, id)
    const mayAll = client?.scopes.includes('GLOBAL_READ') && client.scopes.includes('GLOBAL_WRITE')
    if (client !== undefined && mayAll && !isClientExpired(client, now)) return id
  }
  throw new SatchelError('NOT_AUTHORIZED', 'Not authorized to log in as another user')
}

/** The person of a login: the owner of a mailbox, perhaps as another user (protocol.md §2.1). */
export interface LoginName {
  /** The address that the code is sent to. */
  readonly email: string
  /** The subject of the token, when that is another user. */
  readonly as: string | null
}

/** `a@example.com`, or `a@example.com as b@example.com`. Throws `INVALID_REQUEST`. */
export function requireLoginName(value: unknown): LoginName {
  const text = typeof value === 'string' ? value.trim() : ''
  const [, owner, other] = /^<?([^\s<>]+)>?\s+as\s+<?([^\s<>]+)>?$/i.exec(text) ?? []
  const email = requireMailbox(owner ?? text)
  if (other === undefined) return { email, as: null }
  const as = requireUserId(other, 'INVALID_REQUEST')
  return { email, as: as === email ? null : as }
}

/** The caller who requested this code. */
export function nameOf({ subject, state }: Code): LoginName {
  const as = state['as']
  return { email: subject, as: typeof as === 'string' ? as : null }
}

export function isSameName(one: LoginName, other: LoginName): boolean {
  return one.email === other.email && one.as === other.as
}

/** An address that can be a user id and has a mailbox. */
function requireMailbox(text: string): string {
  const email = requireUserId(requireEmail(text), 'INVALID_REQUEST')
  if (!email.endsWith(DEMO_DOMAIN)) return email
  throw new SatchelError(
    'INVALID_REQUEST',
    'Demo users have no mailbox: log in with grant_type demo',
  )
}

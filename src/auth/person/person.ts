import { findClient, isClientExpired } from '../../domain/database/client'
import { SatchelError } from '../../domain/value/error'
import { findPolicy, type Intent, rejection, verdictOn } from '../../domain/user/policy'
import type { Scope } from '../../domain/value/scope'
import type { ReadTx } from '../../domain/store/store'
import type { PersonClaims } from '../grant/claims'
import type { LoginName } from './login-name'
import type { Parameters } from '../grant/parameters'
import { findUser, PUBLIC_CLIENT, requireActive } from '../../domain/access/actor'
import type { User } from '../../domain/store/users'
import { foldEmail, isEmail } from '../../domain/value/email'

/** The scopes that a person may request at their own login. */
export const PERSON_SCOPES: readonly Scope[] = ['ACCESS_DB']

/** Why the person logs in, if the request says so (protocol.md §2.1). Throws `INVALID_REQUEST`. */
export function findIntent(parameters: Parameters): Intent | undefined {
  const intent = parameters['intent'] ?? undefined
  if (intent === undefined || intent === 'login' || intent === 'register') return intent
  throw new SatchelError('INVALID_REQUEST', '"intent" must be "login" or "register"')
}

/**
 * The client that tokens for a person hang on whose address is proven: their own word is enough for
 * themselves, to be another takes a client of theirs. Throws what stands in the way, as far as can be
 * told without asking a web hook: `USER_DEACTIVATED`, `USER_NOT_REGISTERED`, `USER_NOT_ACCEPTED`, and
 * `NOT_AUTHORIZED` without permission to log in as another. `now` in ms.
 */
export async function requireWelcome(
  tx: ReadTx,
  { email, as }: LoginName,
  intent: Intent | undefined,
  now: number,
): Promise<string> {
  const clientId = as === null ? PUBLIC_CLIENT : await requireImpersonator(tx, email, now)
  const user = await findUser(tx, as ?? email)
  requireActive(user)
  if (user !== undefined) return clientId
  // A login as another user creates no user.
  const why = as === null ? intent : 'login'
  if (verdictOn(await findPolicy(tx), why) === 'reject') throw rejection(why)
  return clientId
}

/** The address of a user who did not show it; null when none is known. */
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
 * Only the owner of a client that may read and write everything anyway logs in as somebody else
 * (protocol.md §2.1): the id of that client.
 */
async function requireImpersonator(tx: ReadTx, email: string, now: number): Promise<string> {
  requireActive(await findUser(tx, email))
  const owned = await tx.remember(`clients of ${email}`, async () => {
    const clients = await tx.clients.list()
    return clients.filter((client) => client.email === email).map(({ id }) => id)
  })
  for (const id of owned) {
    const client = await findClient(tx, id)
    const mayAll = client?.scopes.includes('GLOBAL_READ') && client.scopes.includes('GLOBAL_WRITE')
    if (client !== undefined && mayAll && !isClientExpired(client, now)) return id
  }
  throw new SatchelError('NOT_AUTHORIZED', 'Not authorized to log in as somebody else')
}

import { DEMO_DOMAIN, requireEmail } from '../../domain/value/email'
import { SatchelError } from '../../domain/value/error'
import { requireUserId } from '../../domain/value/user-id'
import type { Code } from '../../domain/store/credentials'

/** The person of a login: the owner of a mailbox, perhaps as another user (protocol.md §2.1). */
export interface LoginName {
  /** Where the code goes. */
  readonly email: string
  /** The user the token is to be for, when that is another. */
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

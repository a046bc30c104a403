import { SatchelError } from '../value/error'
import { type Scope, SCOPES } from '../value/scope'
import type { ReadTx } from '../store/store'
import type { User } from '../store/users'

/** The caller, as far as the domain needs to know. */
export interface Actor {
  /** The user id, or the client's id for a token without `claims`; null for an anonymous caller. */
  readonly subject: string | null
  /** Lower case, from the token. */
  readonly email: string | null
  readonly name: string | null
  readonly scopes: ReadonlySet<Scope>
  /** Absent for an anonymous caller and for the server itself: nothing stored can end these. */
  readonly credential?: Credential
  /** The names of `subject` and `email`, if they were made before. */
  readonly names?: RightsNames
}

/** Names what transactions remember of a subject with an address. */
export interface RightsNames {
  readonly subject: string | null
  readonly email: string | null
  readonly access: string
  readonly visibility: string
}

/** The tie between a caller and what is stored: with it a token ends early (promises 14 and 15). */
export interface Credential {
  /** Every request with the token has these facts. */
  readonly facts: TokenFacts
  /** When the token was verified for this request, ms, by a clock that never goes back. */
  readonly verified: number
  /** When the token expires, ms, by the same clock. */
  readonly expires: number
}

/** The stored facts that a token depends on. It ends with any of them. */
export interface TokenFacts {
  readonly subject: string
  /** The client that asked for the token, or `PUBLIC_CLIENT`. */
  readonly clientId: string
  /** The login with an outside provider that the token comes from; null when there was none. */
  readonly login: string | null
  /** The incarnation of the user (`User`); null when the client acts for itself. */
  readonly incarnation: number | null
  /** Names these facts among what transactions remember; made once, as every request needs it. */
  readonly key: string
}

/** The stored facts behind a token, while all of them hold. */
export interface Standing {
  /** Undefined when the client acts for itself, and for callers without a credential. */
  readonly user: User | undefined
  /** When the key of the client stops working, ms, or infinity. */
  readonly ends: number
}

/**
 * The client id of tokens that people get by logging in themselves (OTP, a provider, demo): their
 * application is a public client (RFC 6749 §2.1) that was never registered, so the token depends on
 * the user alone.
 */
export const PUBLIC_CLIENT = 'public'

export const ANONYMOUS: Actor = { subject: null, email: null, name: null, scopes: new Set() }

/** The server itself, on behalf of a command. */
export const SERVER: Actor = { ...ANONYMOUS, scopes: new Set(SCOPES) }

/**
 * Throws `INVALID_TOKEN` for an anonymous actor and `NOT_AUTHORIZED` with the missing scope as
 * `reason`, in the words of spec.md §5.5 and §7.
 */
export function requireScopes(actor: Actor, required: readonly Scope[]): void {
  if (actor.subject === null && actor !== SERVER) {
    throw new SatchelError(
      'INVALID_TOKEN',
      'An access token is needed: Authorization: Bearer <token>',
    )
  }
  for (const scope of required) {
    if (actor.scopes.has(scope)) continue
    throw new SatchelError('NOT_AUTHORIZED', 'Not authorized', { reason: `scope ${scope}` })
  }
}

/**
 * Asked in the transaction that serves the data, so that a deleted user, a revoked client or a
 * deactivated user is refused exactly (promise 15). At once when the transaction remembers the
 * answer. Throws `INVALID_TOKEN` and `USER_DEACTIVATED`.
 */
export function requireStanding(tx: ReadTx, { credential }: Actor): Standing {
  return credential === undefined
    ? WITHOUT_CREDENTIAL
    : requireGood(findStanding(tx, credential.facts), credential)
}

/**
 * `requireStanding` for a write at `now`, ms. Throws `LICENSE_EXPIRED` as well (design.md §4
 * Licences).
 */
export function requireWriter(tx: ReadTx, actor: Actor, now: number): void {
  requireLicense(requireStanding(tx, actor).user, now)
}

/** Undefined when the client or the user is gone, even if there is a new user with the same id. */
export function findStanding(tx: ReadTx, facts: TokenFacts): Standing | undefined {
  return tx.remember(facts.key, loadStanding, tx, facts)
}

export function tokenFacts(facts: Omit<TokenFacts, 'key'>): TokenFacts {
  const { subject, clientId, login, incarnation } = facts
  // None of them contains a line break.
  return { ...facts, key: `standing\n${subject}\n${incarnation}\n${clientId}\n${login}` }
}

/** Made once for each token, because every request needs them. */
export function rightsNames({ subject, email }: Pick<Actor, 'subject' | 'email'>): RightsNames {
  // Neither contains a line break: user ids and addresses have no control characters.
  const who = `${subject ?? ''}\n${email ?? ''}`
  return { subject, email, access: `access\n${who}`, visibility: `visibility\n${who}` }
}

/** `rightsNames`, those that were made before if they are still right. */
export function rightsNamesOf(actor: Pick<Actor, 'subject' | 'email' | 'names'>): RightsNames {
  const { names, subject, email } = actor
  return names?.subject === subject && names.email === email ? names : rightsNames(actor)
}

/** The user as it is since policy last changed. */
export function findUser(tx: ReadTx, id: string): User | undefined {
  return tx.remember(`user ${id}`, () => tx.users.find(id))
}

/** Throws `USER_DEACTIVATED`: a deactivated user may not log in (design.md §4). */
export function requireActive(user: User | undefined): void {
  if (user === undefined || user.deactivated === null) return
  throw new SatchelError('USER_DEACTIVATED', 'This user is deactivated')
}

/** Throws `LICENSE_EXPIRED` when the licence of the user has ended at `now`, ms. */
export function requireLicense(user: User | undefined, now: number): void {
  if (user === undefined || licensedUntil(user) > now) return
  throw new SatchelError(
    'LICENSE_EXPIRED',
    'Your licence has expired: you can read, but not change anything',
  )
}

/** Until when the user may write, ms; infinity when nothing ends it. */
export function licensedUntil({
  type,
  validUntil,
  evalUntil,
}: Pick<User, 'type' | 'validUntil' | 'evalUntil'>): number {
  const evaluation = type === 'eval' ? evalUntil : null
  return Math.min(validUntil ?? Infinity, evaluation ?? Infinity)
}

const WITHOUT_CREDENTIAL: Standing = { user: undefined, ends: Infinity }

function requireGood(standing: Standing | undefined, { verified }: Credential): Standing {
  if (standing === undefined || standing.ends <= verified) {
    throw new SatchelError(
      'INVALID_TOKEN',
      'The client or the user of this token no longer exists: log in again',
    )
  }
  requireActive(standing.user)
  return standing
}

function loadStanding(
  tx: ReadTx,
  { subject, clientId, login, incarnation }: TokenFacts,
): Standing | undefined {
  let ends = Infinity
  if (clientId === PUBLIC_CLIENT) {
    if (login !== null && tx.logins.isRevoked(login)) return undefined
  } else {
    const client = tx.clients.find(clientId)
    if (client === undefined) return undefined
    ends = client.expires ?? Infinity
    if (subject === clientId) return { user: undefined, ends }
  }
  const user = tx.users.find(subject)
  return user === undefined || user.incarnation !== incarnation ? undefined : { user, ends }
}

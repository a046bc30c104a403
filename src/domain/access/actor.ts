import { SatchelError } from '../value/error'
import type { Scope } from '../value/scope'
import type { ReadTx } from '../store/store'
import type { Awaitable } from '../store/records'
import type { User } from '../store/users'

/** Who is asking, as far as the domain needs to know. */
export interface Actor {
  /** The user id, or the client's id for a token without `claims`; null for an anonymous caller. */
  readonly subject: string | null
  /** Lower case, from the token. */
  readonly email: string | null
  readonly name: string | null
  readonly scopes: ReadonlySet<Scope>
  /** The life of the user id that the token is of (`User`); absent for who is no user. */
  readonly incarnation?: number
  /** Until when the user's licence lets them write, ms; absent when nothing ends it. */
  readonly licensedUntil?: number
}

export const ANONYMOUS: Actor = { subject: null, email: null, name: null, scopes: new Set() }

/**
 * Throws `INVALID_TOKEN` for an anonymous actor and `NOT_AUTHORIZED` with the missing scope as
 * `reason`, in the words of spec.md §5.5 and §7.
 */
export function requireScopes(actor: Actor, required: readonly Scope[]): void {
  if (actor.subject === null) {
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

/** Throws `LICENSE_EXPIRED` when the actor's licence has ended at `now`, ms (design.md §4 Licences). */
export function requireLicense(
  { licensedUntil = Infinity }: Pick<Actor, 'licensedUntil'>,
  now: number,
): void {
  if (licensedUntil > now) return
  throw new SatchelError(
    'LICENSE_EXPIRED',
    'Your licence has expired: you can read, but not change anything',
  )
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

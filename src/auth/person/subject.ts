import { findClient, isClientExpired } from '../../domain/database/client'
import { SatchelError } from '../../domain/value/error'
import type { ReadTx } from '../../domain/store/store'
import { findUser } from '../../domain/access/actor'
import type { User } from '../../domain/store/users'

/**
 * The client id of what people get by logging in themselves (OTP, a provider, demo): their application
 * is a public client (RFC 6749 §2.1) that nobody registered, so the user alone is the bond.
 */
export const PUBLIC_CLIENT = 'public'

/** What a token hangs on: it ends with its client and with its user (promises 14 and 15). */
export interface Bond {
  /** A user id, or the client's id when it acts for itself. */
  readonly subject: string
  readonly clientId: string
  /** The login with an outside provider that it came of, if it came of one. */
  readonly login?: string | null
  /** The incarnation of the user: one who came later is another one with the same id. Null: a client. */
  readonly user: number | null
}

export interface Holder {
  /** Undefined when the client acts for itself. */
  readonly user: User | undefined
  /** When the client's key stops working, ms, or infinity. */
  readonly ends: number
}

/** The living holder of a token, or undefined when its client or its user is gone. */
export async function findHolder(tx: ReadTx, bond: Bond, now: number): Promise<Holder | undefined> {
  if (bond.clientId === PUBLIC_CLIENT) {
    const isOver = typeof bond.login === 'string' && (await tx.logins.isRevoked(bond.login))
    return isOver ? undefined : findPerson(tx, bond, Infinity)
  }
  const client = await findClient(tx, bond.clientId)
  if (client === undefined || isClientExpired(client, now)) return undefined
  const ends = client.expires ?? Infinity
  return bond.subject === bond.clientId ? { user: undefined, ends } : findPerson(tx, bond, ends)
}

/** Throws `USER_DEACTIVATED`: such a person may not log in (design.md §4). */
export function requireActive(user: User | undefined): void {
  if (user === undefined || user.deactivated === null) return
  throw new SatchelError('USER_DEACTIVATED', 'This user is deactivated')
}

async function findPerson(tx: ReadTx, bond: Bond, ends: number): Promise<Holder | undefined> {
  const user = await findUser(tx, bond.subject)
  return user === undefined || user.incarnation !== bond.user ? undefined : { user, ends }
}

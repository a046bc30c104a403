import { findClient, isClientExpired } from '../domain/client'
import { SatchelError } from '../domain/error'
import type { ReadTx } from '../domain/store'
import { findUser, type User } from '../domain/user'

/** What a token hangs on: it ends with its client and with its user (promises 14 and 15). */
export interface Bond {
  /** A user id, or the client's id when it acts for itself. */
  readonly subject: string
  readonly clientId: string
  /** ms since the epoch: a user created later is another one with the same id. */
  readonly since: number
}

export interface Holder {
  /** Undefined when the client acts for itself. */
  readonly user: User | undefined
  /** When the client's key stops working, ms, or infinity. */
  readonly ends: number
}

/** The living holder of a token, or undefined when its client or its user is gone. */
export async function findHolder(tx: ReadTx, bond: Bond, now: number): Promise<Holder | undefined> {
  const client = await findClient(tx, bond.clientId)
  if (client === undefined || isClientExpired(client, now)) return undefined
  const ends = client.expires ?? Infinity
  if (bond.subject === bond.clientId) return { user: undefined, ends }
  const user = await findUser(tx, bond.subject)
  return user === undefined || user.created > bond.since ? undefined : { user, ends }
}

/** Throws `USER_DEACTIVATED`: such a person may not log in (design.md §4). */
export function requireActive(user: User | undefined): void {
  if (user === undefined || user.deactivated === null) return
  throw new SatchelError('USER_DEACTIVATED', 'This user is deactivated')
}

import { findPolicy, type Policy, requireFreeId } from './policy'
import { type Actor, requireWriter } from '../access/actor'
import type { Database, WriteTx } from '../store/store'
import { refuseUser, type UserChange } from './change'
import { showUser, type UserJson } from './json'
import type { User } from '../store/users'
import { DAY } from '../value/time'

/**
 * Creates the users who are not known and changes the others, all in one unit (spec.md §4.3).
 * Resolves to what they are at its end, in the order of the changes. `now` in ms. The caller has
 * checked the scopes. Throws `UNPROCESSABLE` naming the property, `BUSY` while an earlier user with one
 * of these ids is still being removed, and as `requireWriter`.
 */
export function writeUsers(
  database: Database,
  actor: Actor,
  changes: readonly UserChange[],
  now: number,
): Promise<UserJson[]> {
  return database.write(async (tx) => {
    await requireWriter(tx, actor, now)
    const policy = await findPolicy(tx)
    const usersById = new Map<string, User>()
    for (const change of changes) {
      usersById.set(change.id, await writeUser(tx, change, policy, now))
      await tx.breathe()
    }
    return changes.map(({ id }) => showUser(usersById.get(id)!, policy, now))
  })
}

/** Creates or changes one user. Throws as `writeUsers`. */
export async function writeUser(
  tx: WriteTx,
  change: UserChange,
  policy: Policy,
  now: number,
): Promise<User> {
  const known = await tx.users.find(change.id)
  const type = change.type ?? known?.type
  if (type === undefined) throw refuseUser(change.place, 'type', 'is missing: a new user needs one')
  if (known === undefined) await requireFreeId(tx, change.id)
  const { validUntil = known?.validUntil ?? null, data = known?.data ?? null } = change
  return tx.users.put({
    id: change.id,
    type,
    created: known?.created ?? now,
    updated: now,
    lastLogin: known?.lastLogin ?? null,
    validUntil,
    evalUntil: evalUntil(change, known, type, policy, now),
    deactivated: deactivated(change, known, now),
    data,
  })
}

/** An evaluation begins with the user, or when they are made one who evaluates; null begins it anew. */
function evalUntil(
  { evalDaysLeft: days, place }: UserChange,
  known: User | undefined,
  type: User['type'],
  { evalDays }: Policy,
  now: number,
): number | null {
  if (typeof days === 'number') {
    if (days > evalDays) {
      throw refuseUser(
        place,
        'evalDaysLeft',
        `must be at most ${evalDays}: that is the policy here`,
      )
    }
    return now + days * DAY
  }
  const kept = days === null ? null : (known?.evalUntil ?? null)
  return kept === null && type === 'eval' ? now + evalDays * DAY : kept
}

function deactivated(
  { deactivated: given }: UserChange,
  known: User | undefined,
  now: number,
): number | null {
  const before = known?.deactivated ?? null
  if (given === undefined) return before
  if (given === true) return before ?? now
  return given === false ? null : given
}

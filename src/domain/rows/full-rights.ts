import { SatchelError } from '../value/error'
import type { Writing } from '../object/writing'
import type { RealmRef } from '../store/realms'
import type { SharedRights } from '../store/memberships'
import type { WriteTx } from '../store/store'
import { permissionsOf } from '../access/access'
import { hasFullRights } from '../value/permission'

/**
 * Runs a change of the permissions in a realm. Throws `CONFLICT` when it takes away the last holder
 * of full rights while others remain (design.md §5.4).
 */
export async function keepingFullRights(
  writing: Writing,
  realm: RealmRef,
  change: () => Promise<void>,
): Promise<void> {
  const { tx } = writing
  if (!(await hasHolder(tx, realm))) return change()
  await change()
  const isEmpty = tx.memberships.nextRights(realm, true, '') === undefined
  if (isEmpty || (await hasHolder(tx, realm))) return
  throw new SatchelError(
    'CONFLICT',
    'This would leave the realm without anyone who has full rights in it: give them to another member first',
    { reason: 'last member with full rights' },
  )
}

/** True when a member has full rights: members with the same rights are looked at once. */
async function hasHolder(tx: WriteTx, realm: RealmRef): Promise<boolean> {
  for await (const rights of rightsIn(tx, realm, true)) {
    if (hasFullRights(await permissionsOf(tx, { realm, ...rights }))) return true
  }
  return false
}

/** True when a row of `members` in the realm, accepted or not, names the role. */
export async function isNamed(tx: WriteTx, realm: RealmRef, role: string): Promise<boolean> {
  for (const accepted of [true, false]) {
    for await (const { roles } of rightsIn(tx, realm, accepted)) {
      if (roles.includes(role)) return true
    }
  }
  return false
}

async function* rightsIn(
  tx: WriteTx,
  realm: RealmRef,
  accepted: boolean,
): AsyncGenerator<SharedRights> {
  for (let after = ''; ;) {
    const rights = tx.memberships.nextRights(realm, accepted, after)
    if (rights === undefined) return
    yield rights
    after = rights.place
    await tx.breathe()
  }
}

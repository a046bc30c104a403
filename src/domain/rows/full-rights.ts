import { conflict } from '../value/error'
import type { RealmRef } from '../store/realms'
import type { SharedRights } from '../store/memberships'
import type { WriteTx } from '../store/store'
import { permissionsOf } from '../access/access'
import { hasFullRights } from '../value/permission'

/**
 * Asked before the permissions in a realm change. The check to make afterwards, which throws `CONFLICT` when the
 * change took away the last holder of full rights while others remain (design.md §5.4).
 */
export function guardFullRights(tx: WriteTx, realm: RealmRef): ((tx: WriteTx) => void) | undefined {
  return hasHolder(tx, realm) ? (after) => requireHolder(after, realm) : undefined
}

function requireHolder(tx: WriteTx, realm: RealmRef): void {
  const isEmpty = tx.memberships.nextRights(realm, true, '') === undefined
  if (isEmpty || hasHolder(tx, realm)) return
  throw conflict(
    'This would leave the realm without anyone who has full rights in it: give them to another member first',
    'last member with full rights',
  )
}

/** True when a member has full rights: members with the same rights are looked at once. */
function hasHolder(tx: WriteTx, realm: RealmRef): boolean {
  for (const rights of rightsIn(tx, realm, true)) {
    if (hasFullRights(permissionsOf(tx, { realm, ...rights }))) return true
  }
  return false
}

/** True when a row of `members` in the realm, accepted or not, names the role. */
export function isNamed(tx: WriteTx, realm: RealmRef, role: string): boolean {
  for (const accepted of [true, false]) {
    for (const { roles } of rightsIn(tx, realm, accepted)) {
      if (roles.includes(role)) return true
    }
  }
  return false
}

function* rightsIn(tx: WriteTx, realm: RealmRef, accepted: boolean): Generator<SharedRights> {
  for (let after = ''; ;) {
    const rights = tx.memberships.nextRights(realm, accepted, after)
    if (rights === undefined) return
    yield rights
    after = rights.cursor
  }
}

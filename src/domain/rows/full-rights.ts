import { SatchelError } from '../value/error'
import type { Writing } from '../object/writing'
import type { RealmRef } from '../store/realms'
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
  const before = await countHolders(writing.tx, realm)
  await change()
  const after = await countHolders(writing.tx, realm)
  if (before.full === 0 || after.full > 0 || after.members === 0) return
  throw new SatchelError(
    'CONFLICT',
    'This would leave the realm without anyone who has full rights in it: give them to another member first',
    { reason: 'last member with full rights' },
  )
}

async function countHolders(
  tx: WriteTx,
  realm: RealmRef,
): Promise<{ members: number; full: number }> {
  const accepted = (await tx.memberships.ofRealm(realm)).filter((member) => member.accepted)
  let full = 0
  for (const membership of accepted) {
    if (hasFullRights(await permissionsOf(tx, membership))) full += 1
  }
  return { members: new Set(accepted.map(({ userId }) => userId)).size, full }
}

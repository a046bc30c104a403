import { guardFullRights } from './full-rights'
import { ensureOwnerRow, OWNERSHIP, ownershipOf } from './owner-row'
import { SatchelError, quoted, unprocessable } from '../value/error'
import { startJob } from '../job/job'
import { type Placement, type RowRules, type Writing, heldIn, refuse } from '../object/writing'
import { PUBLIC_REALM } from '../store/realms'
import { mayRead } from '../access/access'
import { authorizePut, authorizeRemoval, refuseInvisible } from '../object/authorize'
import { TIED, tieOf } from '../object/placement'
import { hasFullRights } from '../value/permission'

/**
 * Any user may create a realm; it belongs to its owner (protocol.md §6.1, design.md §4 Realm ids).
 */
export const REALM_RULES: RowRules = {
  complete(draft) {
    const { key, realmId } = draft
    if (key !== undefined && !isRealmKey(key)) {
      throw unprocessable(
        `${quoted('realmId')} of a realm begins with "rlm" and is not "rlm-public"`,
        'realmId',
      )
    }
    return realmId === key || key === undefined ? draft : { ...draft, realmId: key }
  },

  authorizePut(writing, placement) {
    const { previous, owner } = placement
    if (previous === undefined) {
      if (owner !== null && owner !== writing.subject) {
        throw refuse('owner', 'the "owner" of a new realm must be its writer or null')
      }
      requireTieRight(writing, placement.key)
      return placement
    }
    if (!mayRead(writing.access, 'realms', previous.realm, () => previous.key)) {
      throw refuseInvisible(writing)
    }
    try {
      authorizePut(writing, placement)
      if (owner !== previous.owner) requireOwnerChange(writing, placement)
      return placement
    } catch (error) {
      // Several clients found the same tied realm with `put`: the first one made it.
      const isFull = hasFullRights(heldIn(writing, previous.realm))
      if (placement.key.startsWith(TIED) && !isFull && isRefusal(error)) return undefined
      throw error
    }
  },

  authorizeRemoval,

  afterPut(writing, placement) {
    putOwnership(writing, placement)
    const { realm, owner } = placement
    if (owner !== null) ensureOwnerRow(writing, realm, owner)
  },

  /** From this commit nothing of the realm is visible; a job erases what it holds. */
  remove({ tx, now }, previous) {
    tx.memberships.removeOfRealm(previous.realm)
    tx.realms.markErasing(previous.realm)
    startJob(tx, 'erase', { realm: previous.realm }, now)
    return true
  },

  /** Only an owner can have been the last holder of full rights. */
  guard: ({ tx, isGlobal }, realm, previous) =>
    isGlobal || typeof previous?.owner !== 'string' ? undefined : guardFullRights(tx, realm),
}

export function isRealmKey(key: string): boolean {
  return key.startsWith('rlm') && key !== PUBLIC_REALM
}

/** For imports, whose owners get their rows when all rows of the file are there. */
export const IMPORTED_REALM_RULES: RowRules = { ...REALM_RULES, afterPut: putOwnership }

function putOwnership({ tx }: Writing, { key, realm, owner }: Placement): void {
  const source = `${OWNERSHIP}${key}`
  if (owner === null) return tx.memberships.remove(source)
  return tx.memberships.put(ownershipOf(key, realm.ref, owner))
}

function isRefusal(error: unknown): boolean {
  return error instanceof SatchelError && error.code === 'NOT_AUTHORIZED'
}

/**
 * `rlm~<key>` is for the owner of the object with that key, or managers of its table (design.md
 * §4). A private key needs its object: otherwise the answer would tell whether others have it.
 */
function requireTieRight(writing: Writing, id: string): void {
  if (!id.startsWith(TIED)) return
  const tie = tieOf(writing, id)
  if (tie !== 'others' && (tie !== 'none' || !id.startsWith(`${TIED}#`))) return
  throw refuse(
    'realmId',
    'a realm tied to an object needs to own the object or manage on its table',
  )
}

/**
 * The owner has every right, so only a holder of every right may appoint one, an accepted member.
 */
function requireOwnerChange(writing: Writing, { realm, owner }: Placement): void {
  if (!hasFullRights(heldIn(writing, realm.ref))) {
    throw refuse('owner', 'changing the "owner" of a realm needs full rights in it')
  }
  const rows = writing.tx.memberships.ofSubjectIn(owner, null, realm.ref)
  if (rows.some(({ accepted }) => accepted)) return
  throw refuse('owner', 'a realm can only be given to an accepted member of it')
}

import { isNamed, guardFullRights } from './full-rights'
import { quoted, unprocessable } from '../value/error'
import type { Draft } from '../object/draft'
import { parseStored } from '../value/value'
import { type RowRules, type Writing, heldIn, refuse } from '../object/writing'
import { PUBLIC_REALM, PUBLIC_REALM_REF } from '../store/realms'
import { findRoles } from '../access/access'
import { authorizePut } from '../object/authorize'
import { hasFullRights, mayGrant, mayManage, parsePermissions } from '../value/permission'

/**
 * Roles are named sets of permissions; the ones in `rlm-public` count everywhere (protocol.md
 * §6.2).
 */
export const ROLE_RULES: RowRules = {
  complete(draft) {
    requireCustomRealm(draft, 'roles')
    parsePermissions(draft.object['permissions'])
    return draft
  },

  authorizePut(writing, placement) {
    const { realm, draft, previous } = placement
    authorizePut(writing, placement)
    requireManage(writing, realm.ref)
    if (previous !== undefined) requireManage(writing, previous.realm)
    if (!mayGrant(heldIn(writing, realm.ref), parsePermissions(draft.object['permissions']))) {
      throw refuse(
        'permissions',
        'a role can only have permissions that its writer holds in that realm',
      )
    }
    return placement
  },

  authorizeRemoval(writing, previous) {
    requireManage(writing, previous.realm)
    const { name } = parseStored(previous.value)
    const own = heldIn(writing, previous.realm)
    if (hasFullRights(own) || typeof name !== 'string') return
    const isGlobal = previous.realm === PUBLIC_REALM_REF
    const [revealed] = isGlobal ? [] : findRoles(writing.tx, [{ realmId: PUBLIC_REALM, name }])
    if (revealed === undefined) {
      if (!isGlobal && !isNamed(writing.tx, previous.realm, name)) return
      throw refuse(
        'permissions',
        'members would keep the name of a role that does not exist: only members with full rights may delete a role that is given',
      )
    }
    if (mayGrant(own, revealed)) return
    throw refuse(
      'permissions',
      'without this role the global one of its name counts, and that holds more than you do',
    )
  },

  afterPut: () => undefined,
  remove: () => false,
  guard: ({ tx, isGlobal }, realm) => (isGlobal ? undefined : guardFullRights(tx, realm)),
}

function requireManage(writing: Writing, realm: number): void {
  if (mayManage(heldIn(writing, realm), 'roles')) return
  throw refuse('manage roles', 'writing roles needs manage on "roles" in that realm')
}

/** Rows about a realm belong to a realm of its own: in a private one no other user has rights. */
export function requireCustomRealm(draft: Draft, table: string): string {
  const { realmId } = draft
  if (realmId?.startsWith('rlm') === true) return realmId
  throw unprocessable(
    realmId === undefined
      ? `${quoted('realmId')} is missing: rows of ${quoted(table)} need one`
      : `${quoted('realmId')} of a row of ${quoted(table)} must be a realm (rlm…), not a user's private one`,
    'realmId',
  )
}

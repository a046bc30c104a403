import type { Membership } from '../store/memberships'
import { PUBLIC_REALM_REF } from '../store/realms'
import type { ReadTx } from '../store/store'
import { findObject } from './browse'
import { explain } from './explain'
import { requireTable } from './tables'

/** A user who sees an object, with the row that is the reason. */
export interface Seer {
  /** The user id, or the address of an invited person without one. */
  readonly userId: string
  readonly by: 'private realm' | 'member' | 'owner of the realm' | 'invitation'
  /** The key of the row of `members`, or of `realms` for an owner; null for a private realm. */
  readonly row: string | null
  readonly roles: readonly string[]
  readonly mayUpdate: boolean
  readonly mayDelete: boolean
}

export interface Seers {
  /** True when everybody sees it, also without a login. */
  readonly isPublic: boolean
  readonly seers: readonly Seer[]
  /** Where the next page begins; null at the end. */
  readonly cursor: string | null
}

/** So many memberships are looked at for a page. */
const PAGE = 100

/**
 * The users who see an object by the rules of `/my`, from a page of the memberships of its realm. `now` in ms. Throws
 * `UNKNOWN_TABLE`, `INVALID_REQUEST` and `UNKNOWN_OBJECT`.
 */
export function listSeers(
  tx: ReadTx,
  { table: tableName, key, cursor }: { table: string; key: string; cursor: string | null },
  now: number,
): Seers {
  const table = requireTable(tx, tableName)
  const object = findObject(tx, table, key)
  const isPublic = object.realm === PUBLIC_REALM_REF && table.name !== 'members'
  if (isPublic) return { isPublic, seers: [], cursor: null }
  const { id: realmId = '' } = tx.realms.findByRef(object.realm) ?? {}
  const may = (userId: string, act: 'read' | 'update' | 'delete') => {
    const question = { as: userId, do: act, table: table.name, key: object.key }
    return explain(tx, { ...question, realm: null, property: null }, now).allowed
  }
  const seer = (userId: string, rest: Pick<Seer, 'by' | 'row' | 'roles'>): Seer[] =>
    may(userId, 'read')
      ? [{ userId, ...rest, mayUpdate: may(userId, 'update'), mayDelete: may(userId, 'delete') }]
      : []
  if (!realmId.startsWith('rlm')) {
    const seers = seer(realmId, { by: 'private realm', row: null, roles: [] })
    return { isPublic, seers, cursor: null }
  }
  const memberships = tx.memberships.ofRealm(object.realm, cursor ?? '', PAGE)
  const isFull = memberships.length === PAGE
  return {
    isPublic,
    seers: memberships.flatMap((membership) =>
      seer(membership.userId ?? membership.email ?? '', reasonOf(membership)),
    ),
    cursor: isFull ? (memberships.at(-1)?.source ?? null) : null,
  }
}

function reasonOf({ source, accepted, roles }: Membership): Pick<Seer, 'by' | 'row' | 'roles'> {
  const isOwner = source.startsWith('realms:')
  const by = isOwner ? 'owner of the realm' : accepted ? 'member' : 'invitation'
  return { by, row: source.slice(source.indexOf(':') + 1), roles }
}

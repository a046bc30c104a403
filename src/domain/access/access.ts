import type { Actor } from './actor'
import { compoundKey } from '../value/key'
import { parseStored } from '../value/value'
import { PUBLIC_REALM, PUBLIC_REALM_REF, type RealmRef } from '../store/realms'
import type { ReadTx } from '../store/store'
import type { Rights } from '../store/memberships'
import { FULL, type PermissionSet, parsePermissions } from '../value/permission'

/** What an actor may do where (protocol.md §6.3), worked out from one snapshot. */
export interface Access {
  /** Null for an anonymous actor. */
  readonly subject: string | null
  readonly email: string | null
  /** The actor's private realm, where there is one. */
  readonly ownRealm: RealmRef | null
  /** The realms the actor is in, each with every permission set that counts there. */
  readonly realms: ReadonlyMap<RealmRef, readonly PermissionSet[]>
  readonly realmRefs: ReadonlySet<RealmRef>
  /** Realms the actor has member rows in that do not make them a member. */
  readonly invitations: ReadonlyMap<RealmRef, Invitation>
}

export interface Invitation {
  /** False when it was refused: then only the rows themselves are the actor's to see. */
  readonly isOpen: boolean
  /** The keys of the member rows. */
  readonly keys: ReadonlySet<string>
}

/** The actor's access, remembered until policy changes. */
export function accessOf(tx: ReadTx, actor: Actor): Access | Promise<Access> {
  // Neither holds a line break: user ids and addresses have no control characters.
  return tx.remember(`access\n${actor.subject ?? ''}\n${actor.email ?? ''}`, () =>
    loadAccess(tx, actor),
  )
}

/** May the actor see a row of this table in this realm? `key` is asked for only where it matters. */
export function mayRead(
  access: Access,
  table: string,
  realm: RealmRef,
  key: () => unknown,
): boolean {
  if (access.realms.has(realm)) return true
  const invited = access.invitations.get(realm)
  if (invited === undefined) return false
  if (table === 'realms') return invited.isOpen
  if (table !== 'members') return false
  const own = key()
  return typeof own === 'string' && invited.keys.has(own)
}

/** The permission sets that count in a realm; none where the actor is not a member. */
export function held(access: Access, realm: RealmRef): readonly PermissionSet[] {
  return access.realms.get(realm) ?? []
}

async function loadAccess(tx: ReadTx, actor: Actor): Promise<Access> {
  const { subject, email } = actor
  const realms = new Map<RealmRef, PermissionSet[]>([[PUBLIC_REALM_REF, []]])
  const invitations = new Map<RealmRef, Invitation>()
  const own = subject === null ? undefined : await tx.realms.find(subject)
  if (subject !== null) {
    if (own !== undefined) realms.set(own.ref, [FULL])
    const memberships = await tx.memberships.ofUser(subject)
    for (const membership of memberships.filter(({ accepted }) => accepted)) {
      const sets = realms.get(membership.realm) ?? []
      sets.push(...(await permissionsOf(tx, membership)))
      realms.set(membership.realm, sets)
    }
    const addressed = email === null ? [] : await tx.memberships.ofEmail(email)
    for (const membership of [...memberships, ...addressed]) {
      if (membership.accepted) continue
      const { isOpen = false, keys = [] } = invitations.get(membership.realm) ?? {}
      invitations.set(membership.realm, {
        isOpen: isOpen || !membership.rejected,
        keys: new Set([...keys, membership.source.slice('members:'.length)]),
      })
    }
  }
  return {
    subject,
    email,
    ownRealm: own?.ref ?? null,
    realms,
    realmRefs: new Set(realms.keys()),
    invitations,
  }
}

/** A membership's own permissions and those of the roles it names. */
export async function permissionsOf(tx: ReadTx, membership: Rights): Promise<PermissionSet[]> {
  const realm = await tx.realms.findByRef(membership.realm)
  const sets = [membership.permissions]
  for (const role of realm === undefined ? [] : membership.roles) {
    sets.push(await roleIn(tx, realm?.id ?? PUBLIC_REALM, role))
  }
  return sets
}

/** A role of the realm itself hides the global one of the same name (design.md §5.3). */
export async function roleIn(tx: ReadTx, realmId: string, name: string): Promise<PermissionSet> {
  const table = await tx.tables.find('roles')
  if (table === undefined) return {}
  const row =
    (await tx.objects.find(table, compoundKey([realmId, name]))) ??
    (await tx.objects.find(table, compoundKey([PUBLIC_REALM, name])))
  return row === undefined ? {} : parsePermissions(parseStored(row.value)['permissions'])
}

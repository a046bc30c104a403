import { type Actor, rightsNamesOf } from './actor'
import { compoundKey } from '../value/key'
import { parseStored } from '../value/value'
import { PUBLIC_REALM, PUBLIC_REALM_REF, type RealmRef } from '../store/realms'
import type { ReadTx } from '../store/store'
import type { Rights } from '../store/memberships'
import { FULL, type PermissionSet, parsePermissions } from '../value/permission'

/** What an actor may do in each realm (protocol.md §6.3), derived from one snapshot. */
export interface Access {
  /** Null for an anonymous actor. */
  readonly subject: string | null
  readonly email: string | null
  /** The actor's private realm, where there is one. */
  readonly ownRealm: RealmRef | null
  /** The realms the actor is in, each with every permission set that counts there. */
  readonly realms: ReadonlyMap<RealmRef, readonly PermissionSet[]>
  readonly realmRefs: ReadonlySet<RealmRef>
  /**
   * The keys of member rows for the actor that do not make them a member, open or rejected, by realm:
   * the actor sees these rows and the row of the realm, and may still accept (protocol.md Appendix
   * C.6).
   */
  readonly pending: ReadonlyMap<RealmRef, ReadonlySet<string>>
  /** The keys of the member rows for the actor in the public realm, accepted or not. */
  readonly publicRows: ReadonlySet<string>
}

/** The actor's access, remembered until policy changes. */
export function accessOf(tx: ReadTx, actor: Actor): Access {
  return tx.remember(rightsNamesOf(actor).access, loadAccess, tx, actor)
}

/**
 * True when the actor may see a row of this table in this realm. Everyone is in the public realm, so
 * of its member rows, which hold addresses, each person sees their own only. `key` is called only
 * where it matters.
 */
export function mayRead(
  access: Access,
  table: string,
  realm: RealmRef,
  key: () => unknown,
): boolean {
  if (table === 'members' && realm === PUBLIC_REALM_REF) {
    return access.publicRows.size > 0 && isAmong(access.publicRows, key())
  }
  if (access.realms.has(realm)) return true
  const invited = access.pending.get(realm)
  if (invited === undefined) return false
  if (table === 'realms') return true
  return table === 'members' && isAmong(invited, key())
}

function isAmong(keys: ReadonlySet<string>, key: unknown): boolean {
  return typeof key === 'string' && keys.has(key)
}

/** The permission sets that count in a realm; none where the actor is not a member. */
export function held(access: Access, realm: RealmRef): readonly PermissionSet[] {
  return access.realms.get(realm) ?? []
}

function loadAccess(tx: ReadTx, actor: Actor): Access {
  const { subject, email } = actor
  const realms = new Map<RealmRef, readonly PermissionSet[]>([[PUBLIC_REALM_REF, []]])
  const pending = new Map<RealmRef, Set<string>>()
  const own = subject === null ? undefined : tx.realms.find(subject)
  if (subject === null) return accessIn({ subject, email, ownRealm: null, pending }, realms, [])
  if (own !== undefined) realms.set(own.ref, [FULL])
  const { accepted, open } = tx.memberships.ofSubject(subject, email)
  const permissions = permissionsOfEach(tx, accepted)
  for (const [position, { realm }] of accepted.entries()) {
    const sets = permissions[position] ?? []
    const others = realms.get(realm)
    realms.set(realm, others === undefined || others.length === 0 ? sets : [...others, ...sets])
  }
  for (const { realm, source } of open) {
    pending.set(realm, (pending.get(realm) ?? new Set()).add(keyIn(source)))
  }
  const inPublic = tx.memberships.ofSubjectIn(subject, null, PUBLIC_REALM_REF)
  const publicRows = inPublic.map(({ source }) => keyIn(source))
  return accessIn({ subject, email, ownRealm: own?.ref ?? null, pending }, realms, publicRows)
}

function accessIn(
  rest: Pick<Access, 'subject' | 'email' | 'ownRealm' | 'pending'>,
  realms: Access['realms'],
  publicRows: Iterable<string>,
): Access {
  const open = rest.pending.get(PUBLIC_REALM_REF) ?? []
  return {
    ...rest,
    realms,
    realmRefs: new Set(realms.keys()),
    publicRows: new Set([...publicRows, ...open]),
  }
}

/** The key of the member row that a membership is derived from. */
function keyIn(source: string): string {
  return source.slice('members:'.length)
}

/** The access of one unit, which follows its changes in place: a user may be in thousands of realms. */
export interface UnitAccess extends Access {
  readonly realms: Map<RealmRef, readonly PermissionSet[]>
  readonly realmRefs: Set<RealmRef>
  readonly pending: Map<RealmRef, ReadonlySet<string>>
  publicRows: ReadonlySet<string>
}

/** A copy that changes of this unit can be noted in. */
export function unitAccess(access: Access): UnitAccess {
  const { realms, realmRefs, pending } = access
  return {
    ...access,
    realms: new Map(realms),
    realmRefs: new Set(realmRefs),
    pending: new Map(pending),
  }
}

/**
 * Notes that a row about one realm changed in the same unit: only that realm is looked up again.
 * A change of a role in `rlm-public` counts in all realms and needs `accessOf`.
 */
export function followRealm(tx: ReadTx, access: UnitAccess, realm: RealmRef): void {
  const { subject, email } = access
  if (subject === null) return
  const here = tx.memberships.ofSubjectIn(subject, email, realm)
  const accepted = here.filter((membership) => membership.accepted)
  const waiting = here.filter((membership) => !membership.accepted)
  const sets = permissionsOfEach(tx, accepted).flat()
  if (realm === access.ownRealm) sets.push(FULL)
  if (accepted.length > 0 || realm === access.ownRealm || realm === PUBLIC_REALM_REF) {
    enter(access, realm, sets)
  } else {
    access.realms.delete(realm)
    access.realmRefs.delete(realm)
  }
  if (waiting.length === 0) access.pending.delete(realm)
  else access.pending.set(realm, new Set(waiting.map(({ source }) => keyIn(source))))
  if (realm === PUBLIC_REALM_REF) {
    access.publicRows = new Set(here.map(({ source }) => keyIn(source)))
  }
}

/** Notes that the actor has these rights in a realm. */
export function enter(
  { realms, realmRefs }: UnitAccess,
  realm: RealmRef,
  sets: readonly PermissionSet[],
): void {
  realms.set(realm, sets)
  realmRefs.add(realm)
}

/** A membership's own permissions and those of the roles it names. */
export function permissionsOf(tx: ReadTx, membership: Rights): readonly PermissionSet[] {
  const [sets = []] = permissionsOfEach(tx, [membership])
  return sets
}

/**
 * `permissionsOf` for several memberships, in order. The roles of `rlm-public` are read once, roles of
 * other realms only where there are any.
 */
export function permissionsOfEach(
  tx: ReadTx,
  memberships: readonly Rights[],
): (readonly PermissionSet[])[] {
  const named = memberships.filter(({ roles }) => roles.length > 0)
  const table = named.length === 0 ? undefined : tx.tables.find('roles')
  const withRoles = table && tx.objects.realmsWith(table, new Set(named.map(({ realm }) => realm)))
  /** By own permissions and roles: memberships that share these share the result. */
  const shared = new Map<PermissionSet, Map<readonly string[], readonly PermissionSet[]>>()
  const found: (readonly PermissionSet[])[] = []
  for (const { realm, permissions, roles } of memberships) {
    const known = shared.get(permissions)?.get(roles)
    if (roles.length > 0 && withRoles?.has(realm) === true) {
      found.push([permissions, ...rolesIn(tx, realm, roles)])
    } else if (known !== undefined) {
      found.push(known)
    } else {
      const sets = [permissions, ...rolesIn(tx, PUBLIC_REALM_REF, roles)]
      const others = shared.get(permissions) ?? new Map<readonly string[], typeof sets>()
      shared.set(permissions, others.set(roles, sets))
      found.push(sets)
    }
  }
  return found
}

/** The permissions of the roles that these names mean in a realm; a name without a role gives none. */
function rolesIn(tx: ReadTx, realm: RealmRef, names: readonly string[]): PermissionSet[] {
  if (names.length === 0) return []
  const { id: realmId } =
    realm === PUBLIC_REALM_REF ? PUBLIC : (tx.realms.findByRef(realm) ?? PUBLIC)
  const sets: PermissionSet[] = []
  for (const name of names) {
    const key = compoundKey([realmId, name])
    // Members of a realm share its roles.
    const role = tx.remember(`role ${key}`, () => {
      const [set] = findRoles(tx, [{ realmId, name }])
      return set
    })
    sets.push(role ?? {})
  }
  return sets
}

const PUBLIC = { id: PUBLIC_REALM }

/** A role as a membership in this realm names it. */
export interface RoleName {
  readonly realmId: string
  readonly name: string
}

/**
 * The permissions of roles, in order; undefined for a role that does not exist. A role of the realm
 * itself hides the global one of the same name (design.md §5.3).
 */
export function findRoles(
  tx: ReadTx,
  roles: readonly RoleName[],
): readonly (PermissionSet | undefined)[] {
  if (roles.length === 0) return []
  const table = tx.tables.find('roles')
  if (table === undefined) return roles.map(() => undefined)
  const keys = roles.map(({ realmId, name }) => ({
    own: compoundKey([realmId, name]),
    shared: compoundKey([PUBLIC_REALM, name]),
  }))
  const distinct = new Set(keys.flatMap(({ own, shared }) => [own, shared]))
  const rows = tx.objects.findMany(table, [...distinct])
  return keys.map(({ own, shared }) => {
    const row = rows.get(own) ?? rows.get(shared)
    return row && parsePermissions(parseStored(row.value)['permissions'])
  })
}

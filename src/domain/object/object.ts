import { type Access, accessOf, mayRead } from '../access/access'
import { type Actor, requireStanding } from '../access/actor'
import { SatchelError } from '../value/error'
import { PUBLIC_REALM_REF, type RealmRef } from '../store/realms'
import type { Database } from '../store/store'
import type { ViewName } from '../access/view'
import { privateKey } from './draft'
import { keyFromPath } from '../value/key'
import { requireTable } from './tables'
import type { Table } from '../store/tables'

/**
 * The stored text of one object (spec.md §4). `key` is the path segment, decoded. The caller has
 * checked the scopes of the view. Throws `UNKNOWN_TABLE`, `INVALID_REQUEST`, `UNKNOWN_OBJECT`
 * for missing objects and for those that this actor may not see, and as `requireStanding`.
 */
export function getObject(
  database: Database,
  actor: Actor,
  view: ViewName,
  tableName: string,
  key: string,
): Promise<string> {
  return database.read((tx) => {
    requireStanding(tx, actor)
    const table = requireTable(tx, tableName)
    const access = accessOf(tx, actor)
    const own = keyInView(table, view, key, actor)
    const object = tx.objects.findText(table, own, realmsInView(access, view, table))
    if (object === undefined || !isShown(actor, access, view, table, own, object.realm)) {
      throw unknownObject()
    }
    return object.value
  })
}

/**
 * The stored key that an address names in a view: `#x` on `/my` is the actor's own (design.md §6).
 */
export function keyInView(table: Table, view: ViewName, key: string, actor: Actor): string {
  const found = keyFromPath(table, key)
  return view === 'my' && !table.compound ? privateKey(found, actor.subject ?? '') : found
}

/** True when the view shows the object with this key in this realm to this actor. */
export function isShown(
  actor: Actor,
  access: Access,
  view: ViewName,
  table: Table,
  key: string,
  realm: RealmRef,
): boolean {
  switch (view) {
    case 'all':
      return true
    case 'public':
      if (realm !== PUBLIC_REALM_REF) return false
      return showsAllPublic(actor, table) || mayRead(access, table.name, realm, () => key)
    case 'my':
      return mayRead(access, table.name, realm, () => key)
  }
}

/** The realms with the objects that a view shows; undefined: all of them. */
export function realmsInView(
  access: Access,
  view: ViewName,
  table: Table,
): ReadonlySet<RealmRef> | undefined {
  switch (view) {
    case 'all':
      return undefined
    case 'public':
      return new Set([PUBLIC_REALM_REF])
    case 'my':
      return access.pending.size === 0 || !table.builtIn
        ? access.realmRefs
        : new Set([...access.realmRefs, ...access.pending.keys()])
  }
}

/** False for the member rows of the public realm, unless the caller may read everything. */
export function showsAllPublic(actor: Actor, table: Table): boolean {
  return table.name !== 'members' || actor.scopes.has('GLOBAL_READ')
}

/** Absent and invisible get the same answer (design.md §5.6). */
export function unknownObject(): SatchelError {
  return new SatchelError('UNKNOWN_OBJECT', 'There is no object with this key')
}

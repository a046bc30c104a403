import { refuseRealm } from './authorize'
import { SatchelError, quoted, unprocessable, conflict } from '../value/error'
import type { TimedObject } from '../store/objects'
import { PUBLIC_REALM, PUBLIC_REALM_REF, type Realm } from '../store/realms'
import type { WriteTx } from '../store/store'
import { mayManage } from '../value/permission'
import { requireUserId } from '../value/user-id'
import { type Draft, withFields } from './draft'
import { heldIn, type Placement, type Writing } from './writing'
import type { Table } from '../store/tables'

/** Decides realm, owner and key of a draft and writes them into it (design.md §5.1). */
export function place(
  writing: Writing,
  draft: Draft,
  previous: TimedObject | undefined,
): Placement {
  const { tx, table } = writing
  const realm = realmFor(writing, draft, previous)
  const owner = draft.owner !== undefined ? draft.owner : defaultOwner(writing, realm, previous)
  const key = draft.key ?? newKey(tx, table, realm)
  requirePrivateRealm(table, key, realm.id)
  if (isComplete(draft, realm, owner)) return { draft, key, realm, owner, previous }
  const path = table.primaryKey?.[0] ?? ''
  const fields = { ...(draft.key === undefined ? { [path]: key } : {}), realmId: realm.id, owner }
  return { draft: withFields(draft, fields), key, realm, owner, previous }
}

/** True for a draft that names its place: then there is nothing to write into it. */
function isComplete({ key, realmId, owner: given }: Draft, realm: Realm, owner: string | null) {
  // The realm of a private key is known without being in the object.
  return key !== undefined && !key.startsWith('#') && realmId === realm.id && given === owner
}

/**
 * `#x:<user>` stays in the private realm of that user (protocol.md §10.3), for every writer. Throws
 * `UNPROCESSABLE`.
 */
export function requirePrivateRealm(table: Table, key: string, realmId: string): void {
  if (!key.startsWith('#') || table.compound) return
  if (!realmId.startsWith('rlm') && key.endsWith(`:${realmId}`)) return
  throw unprocessable(
    `${quoted(key)} is a private key: it ends in ":" and the id of its user, and stays in the private realm of that user`,
    table.primaryKey?.[0] ?? 'key',
  )
}

function newKey(tx: WriteTx, table: Table, realm: Realm): string {
  // The id of a new realm is its own realm's.
  return table.name === 'realms' ? realm.id : tx.newId(table.idPrefix, realm.id)
}

function defaultOwner(
  writing: Writing,
  realm: Realm,
  previous: TimedObject | undefined,
): string | null {
  if (previous !== undefined) return previous.owner
  if (!realm.id.startsWith('rlm')) return realm.id
  return writing.isGlobal && writing.view !== 'my' ? null : writing.subject
}

function realmFor(writing: Writing, draft: Draft, previous: TimedObject | undefined): Realm {
  const { tx, table, view } = writing
  if (view === 'public') {
    if (previous !== undefined && previous.realm !== PUBLIC_REALM_REF) {
      throw conflict(`An object of another realm has this key: use another key`)
    }
    return { ref: PUBLIC_REALM_REF, id: PUBLIC_REALM }
  }
  if (table.name === 'realms') return realmOfRow(writing, draft, previous)
  if (draft.realmId === undefined && previous !== undefined) {
    return tx.realms.findByRef(previous.realm) ?? namedRealm(writing, draft)
  }
  return namedRealm(writing, draft)
}

/** The realm that a draft names, or the private one of the writer. */
function namedRealm(writing: Writing, { realmId }: Draft): Realm {
  const id = realmId ?? writing.subject
  const { knownRealms } = writing
  if (knownRealms === undefined) return findRealm(writing, id)
  const known = knownRealms.get(id)
  if (known !== undefined) return known
  const realm = findRealm(writing, id)
  knownRealms.set(id, realm)
  return realm
}

function findRealm({ tx, subject, isGlobal }: Writing, id: string): Realm {
  if (id === subject && !id.startsWith('rlm')) return tx.realms.ensure(id)
  if (isGlobal && !id.startsWith('rlm')) return tx.realms.ensure(requireUserId(id))
  const found = tx.realms.find(id)
  if (found !== undefined) return found
  if (!isGlobal) throw refuseRealm()
  throw new SatchelError('UNKNOWN_REALM', `There is no realm ${quoted(id)}: create it first`, {
    reason: 'realmId',
  })
}

/** A row of `realms` belongs to the realm that it describes, and creates it. */
function realmOfRow(writing: Writing, draft: Draft, previous: TimedObject | undefined): Realm {
  const { tx, table, isGlobal, subject, newRealms } = writing
  if (previous !== undefined) {
    const realm = tx.realms.findByRef(previous.realm)
    if (realm !== undefined) return realm
  }
  const id = draft.key ?? tx.newId(table.idPrefix, subject)
  const made = newRealms?.get(id)
  if (made !== undefined) return made
  if (isGlobal || mayMakeRealm(writing, id)) return tx.realms.ensure(id)
  throw conflict(
    `The realm id ${quoted(id)} was used before: take a new one (the server makes one when "realmId" is absent)`,
    'realmId',
  )
}

/**
 * True for an id under which no realm is or was, and nothing is left of one. A realm that was tied to an
 * object may be made again by those who may tie one to it: a list is shared, made private and shared again.
 */
export function mayMakeRealm(writing: Writing, id: string): boolean {
  const { tx } = writing
  if (!tx.realms.isRetired(id) && !tx.realms.isUsed(id)) return true
  const isAlive = tx.realms.find(id) !== undefined
  return !isAlive && id.startsWith(TIED) && tieOf(writing, id) === 'own'
}

/** The id of a realm begins with it when the realm is tied to the object whose key follows. */
export const TIED = 'rlm~'

/** Whether the writer may tie a realm to every object that the id names; `none` where it names none. */
export function tieOf(writing: Writing, id: string): 'none' | 'own' | 'others' {
  const { tx } = writing
  const key = id.slice(TIED.length)
  let tie: 'none' | 'own' = 'none'
  for (const table of tx.tables.list()) {
    const object = tx.objects.find(table, key)
    if (object === undefined) continue
    const isAllowed =
      object.owner === writing.subject || mayManage(heldIn(writing, object.realm), table.name)
    if (!isAllowed) return 'others'
    tie = 'own'
  }
  return tie
}

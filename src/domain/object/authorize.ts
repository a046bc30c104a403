import { isEmail } from '../value/email'
import { quoted, SatchelError, unprocessable } from '../value/error'
import type { StoredObject } from '../store/objects'
import type { Draft } from './draft'
import type { Table } from '../store/tables'
import { changedProperties, getOwn, parseStored } from '../value/value'
import { type Placement, type Writing, heldIn, refuse } from './writing'
import { mayRead } from '../access/access'
import { mayAdd, mayManage, mayUpdate } from '../value/permission'
import { mentionsBlobs, parseRef, refsIn } from '../value/blob'
import { findSharedBlob } from '../access/blob'

/**
 * The general rules for a writer without `GLOBAL_WRITE` (protocol.md §6.3, design.md §5): throws
 * `NOT_AUTHORIZED` with the missing permission as `reason`.
 */
export function authorizePut(writing: Writing, placement: Placement): void {
  if (placement.previous === undefined) authorizeInsert(writing, placement)
  else authorizeUpdate(writing, placement, placement.previous)
}

/** Deleting needs the ownership of the object or `manage` on its table. The caller has seen it. */
export function authorizeRemoval(writing: Writing, previous: StoredObject): void {
  if (hasAll(writing, previous)) return
  const { name } = writing.table
  throw refuse(
    `manage ${name}`,
    `deleting from ${quoted(name)} needs to own the object or manage on the table in its realm`,
  )
}

/**
 * The owner of an object has every permission on it, and so have managers of its table in its
 * realm.
 */
export function hasAll(writing: Writing, object: StoredObject): boolean {
  return (
    object.owner === writing.subject || mayManage(heldIn(writing, object.realm), writing.table.name)
  )
}

/** The refusal for every object that exists but is invisible to the writer (design.md §5.6). */
export function refuseInvisible(writing: Writing) {
  const property = writing.table.primaryKey?.join('+') ?? 'key'
  return refuse(
    property,
    `this ${quoted(property)} cannot be written by you. Keys of "@" tables are made unique by the server, keys that begin with "#" are private to each user`,
  )
}

function authorizeInsert(writing: Writing, { key, realm, owner }: Placement): void {
  const { table, access, subject } = writing
  requireOwnName(table, key, realm.id)
  if (realm.id !== subject) {
    if (!access.realms.has(realm.ref)) throw refuseRealm()
    if (!mayAdd(heldIn(writing, realm.ref), table.name)) throw refuseAdd(table.name)
  }
  if (owner !== null && owner !== subject) {
    throw refuse('owner', 'the "owner" of a new object must be its writer or null')
  }
}

/**
 * Throws `UNPROCESSABLE` for a private key that could be one of another user: `#k:a` of the user `b`
 * and `#k` of the user `a:b` would be the same. No user id ends in ":" and an address.
 */
function requireOwnName(table: Table, key: string, user: string): void {
  if (!key.startsWith('#') || table.compound || isEmail(user)) return
  const name = key.slice(0, -`:${user}`.length)
  if (!name.includes(':')) return
  throw unprocessable(
    `${quoted(name)} cannot be a private key, because it contains ":": use another key`,
    table.primaryKey?.[0] ?? 'key',
  )
}

function authorizeUpdate(writing: Writing, placement: Placement, previous: StoredObject): void {
  const { table, access, subject } = writing
  const { realm } = placement
  if (!mayRead(access, table.name, previous.realm, () => previous.key)) {
    requireOwnName(table, placement.key, realm.id)
    throw refuseInvisible(writing)
  }
  if (!hasAll(writing, previous)) authorizeChanges(writing, placement, previous)
  if (realm.ref === previous.realm || realm.id === subject) return
  if (!access.realms.has(realm.ref)) throw refuseRealm()
  if (!mayAdd(heldIn(writing, realm.ref), table.name)) throw refuseAdd(table.name)
}

function authorizeChanges(writing: Writing, { draft }: Placement, previous: StoredObject): void {
  const { table } = writing
  const sets = heldIn(writing, previous.realm)
  for (const property of changedProperties(parseStored(previous.value), draft.object)) {
    const isKey = table.primaryKey?.includes(property) === true
    const isFree = isKey || (property === MARK && isRightMark(draft))
    if (isFree || mayUpdate(sets, table.name, property)) continue
    throw refuse(
      `update ${table.name}.${property.slice(0, 100)}`,
      `changing ${quoted(property)} of ${quoted(table.name)} needs update on it in the realm of the object`,
    )
  }
}

/** Tells clients that the object has BlobRefs to resolve (protocol.md §8.3). */
const MARK = '_hasBlobRefs'

/**
 * True when the mark fits the rest of the object: clients set it, but it carries no data of its
 * own.
 */
function isRightMark({ object, text }: Draft): boolean {
  const mark = getOwn(object, MARK)
  return mark === 1 || (mark === undefined && !mentionsBlobs(text))
}

/** One refusal for a missing realm and for one that the writer is not in (design.md §5.6). */
export function refuseRealm() {
  return refuse('realmId', 'there is no such realm, or you are not in it')
}

function refuseAdd(table: string) {
  return refuse(`add ${table}`, `adding to ${quoted(table)} needs add on it in that realm`)
}

/**
 * True when the references of an object must be checked. Called for every object that is written.
 */
export function needsReadableRefs({ isGlobal }: Writing, { draft }: Placement): boolean {
  return !isGlobal && mentionsBlobs(draft.text)
}

/**
 * A reference counts only if its writer may read the blob where it is first written (design.md
 * §5.9): as its uploader, or as a reader of a realm with another reference; a blob that only
 * `GLOBAL_READ` shows may not be shared. References that the object had stay, regardless of the
 * writer; callers with `GLOBAL_WRITE` are not checked. Throws `BLOB_NOT_READABLE` naming the
 * property.
 */
export function requireReadableRefs(writing: Writing, placement: Placement): void {
  if (!needsReadableRefs(writing, placement)) return
  const { tx, access } = writing
  const { draft, previous } = placement
  const isKnown = previous !== undefined && previous.isDamaged !== true
  const known = new Set(isKnown ? storedRefs(previous.value) : [])
  for (const { ref, path } of refsIn(draft.object)) {
    if (known.has(ref)) continue
    known.add(ref)
    const id = parseRef(ref)
    if (id === undefined || findSharedBlob(tx, access, id) === undefined) {
      throw notReadable(path)
    }
  }
}

function storedRefs(value: string): string[] {
  return mentionsBlobs(value) ? refsIn(parseStored(value)).map(({ ref }) => ref) : []
}

function notReadable(path: string): SatchelError {
  const property = path === '' ? 'the object itself' : path
  return new SatchelError(
    'BLOB_NOT_READABLE',
    `${quoted(property)} references a blob that is not there or that you may not read: upload it first, then store the "ref" you get`,
    { reason: property.slice(0, 100) },
  )
}

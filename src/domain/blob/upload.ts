import { accessOf } from '../access/access'
import { type Actor, requireWriter } from '../access/actor'
import { SatchelError, conflict } from '../value/error'
import type { RealmRef } from '../store/realms'
import type { Database, ReadTx, WriteTx } from '../store/store'
import { findSharedBlob } from '../access/blob'
import { formatRef, requireBlobId } from '../value/blob'
import { type BlobLimits, findBlobLimits } from './limits'
import type { SizeLimit } from '../store/blob-store'
import type { Blob, StoredBlob } from '../store/blobs'

/** A completed upload, its bytes already in the blob store. */
export interface BlobUpload {
  readonly id: string
  /** SHA-256 in hex. */
  readonly hash: string
  /** The file in which the blob store has the bytes. */
  readonly file: string
  /** In bytes. */
  readonly size: number
  /** The content type. */
  readonly type: string
  /** ms since the epoch. */
  readonly now: number
}

/** The remainder of a quota, which concurrent uploads share. */
export interface Quota {
  readonly whose: 'database' | 'user'
  /** In bytes; below 0 where the quota was lowered. */
  readonly left: number
  /** All of it. */
  readonly most: number
}

/**
 * How many bytes this actor may upload under this id at the most, to be asked before any is taken;
 * `putBlob` decides. `server` has the defaults of the database, `now` in ms. The caller
 * has checked the scopes. Throws `INVALID_REQUEST` for an invalid id, and as `requireWriter`.
 */
export function roomForBlob(
  database: Database,
  actor: Actor,
  id: string,
  server: BlobLimits,
  now: number,
): Promise<SizeLimit & { readonly quotas: readonly Quota[] }> {
  requireBlobId(id)
  return database.read((tx) => {
    requireWriter(tx, actor, now)
    const access = accessOf(tx, actor)
    const limits = findBlobLimits(tx, server)
    const quotas = quotasOf(tx, actor, access.ownRealm, limits)
    const known = actor.scopes.has('GLOBAL_WRITE')
      ? tx.blobs.find(id)
      : findSharedBlob(tx, access, id)
    if (known !== undefined) return { bytes: known.size, refuse: idTaken, quotas }
    const rooms = roomsFor(tx, actor, undefined, id, access.ownRealm, limits)
    const room = rooms.reduce((least, each) => (each.bytes < least.bytes ? each : least))
    return { ...room, quotas }
  })
}

/**
 * Notes a blob, durable when it resolves, and gives the ref that objects name it by (protocol.md
 * §8.1). The caller has checked the scopes, and keeps the bytes from being removed until then.
 *
 * Equal bytes under an equal id give an equal ref (design.md §6), and make the second uploader
 * another reader: they have the bytes. Another user must send the same content type too, so that
 * an upload reveals nothing about a blob; other bytes get `CONFLICT` for every caller. So
 * does an id without bytes that objects of other users reference: only `GLOBAL_WRITE` decides
 * their content. Throws `PAYLOAD_TOO_LARGE` and `QUOTA_EXCEEDED` as well, and as `requireWriter`.
 */
export function putBlob(
  database: Database,
  actor: Actor,
  upload: BlobUpload,
  server: BlobLimits,
): Promise<string> {
  const { now, ...fields } = upload
  const blob = { ...fields, id: requireBlobId(upload.id), created: now }
  return database.write((tx) => {
    requireWriter(tx, actor, now)
    return recordBlob(tx, actor, blob, server)
  })
}

/** Records a blob in a unit that writes more. */
export function recordBlob(
  tx: WriteTx,
  actor: Actor,
  blob: StoredBlob,
  server: BlobLimits,
): string {
  const uploader = uploaderFor(tx, actor)
  const known = tx.blobs.find(blob.id)
  if (known === undefined) requireFreeId(tx, actor, uploader, blob.id)
  else requireSame(tx, actor, known, blob)
  const limits = findBlobLimits(tx, server)
  for (const room of roomsFor(tx, actor, known, blob.id, uploader, limits)) {
    if (blob.size > room.bytes) throw room.refuse()
  }
  tx.blobs.put({ ...(known ?? blob), file: blob.file }, uploader)
  return formatRef(blob.id)
}

/** The uploader of a blob, as their private realm: their uploads end with it. Null for no user. */
function uploaderFor(tx: WriteTx, { subject }: Actor): RealmRef | null {
  return subject === null || subject.startsWith('rlm') ? null : tx.realms.ensure(subject).ref
}

function requireFreeId(tx: ReadTx, actor: Actor, uploader: RealmRef | null, id: string): void {
  if (actor.scopes.has('GLOBAL_WRITE')) return
  if (tx.blobs.isReferencedOutside(id, uploader)) throw idTaken()
}

function requireSame(tx: ReadTx, actor: Actor, known: Blob, blob: Blob): void {
  const isSame = known.hash === blob.hash && known.size === blob.size
  if (isSame && known.type === blob.type) return
  const isShared = () => findSharedBlob(tx, accessOf(tx, actor), known.id) !== undefined
  if (!isSame || (!actor.scopes.has('GLOBAL_WRITE') && !isShared())) throw idTaken()
}

function idTaken(): SatchelError {
  return conflict('A blob with this id exists already and never changes: upload under a new id')
}

/** The refusal of an upload; bytes that were counted before do not count again. */
function roomsFor(
  tx: ReadTx,
  actor: Actor,
  known: Blob | undefined,
  id: string,
  uploader: RealmRef | null,
  limits: BlobLimits,
): SizeLimit[] {
  const { blob } = limits
  const rooms: SizeLimit[] =
    known === undefined ? [{ bytes: blob, refuse: () => tooLarge(blob) }] : []
  for (const { whose, left, most } of quotasOf(tx, actor, uploader, limits)) {
    const isCounted =
      whose === 'database'
        ? known !== undefined
        : uploader !== null && tx.blobs.isUploadedBy(id, uploader)
    if (!isCounted) rooms.push({ bytes: left, refuse: () => overQuota(whose, most) })
  }
  return rooms
}

function quotasOf(
  tx: ReadTx,
  actor: Actor,
  uploader: RealmRef | null,
  { database, user }: BlobLimits,
): Quota[] {
  const quotas: Quota[] = []
  if (database !== null) {
    const { bytes } = tx.blobs.usage(null)
    quotas.push({ whose: 'database', left: database - bytes, most: database })
  }
  if (user === null || actor.subject === null || actor.scopes.has('GLOBAL_WRITE')) return quotas
  const used = uploader === null ? 0 : tx.blobs.usage(uploader).bytes
  return [...quotas, { whose: 'user', left: user - used, most: user }]
}

function tooLarge(most: number): SatchelError {
  return new SatchelError(
    'PAYLOAD_TOO_LARGE',
    `A blob may have at most ${most.toLocaleString('en')} bytes here`,
  )
}

function overQuota(whose: 'database' | 'user', most: number): SatchelError {
  const quota = `${most.toLocaleString('en')} bytes`
  return new SatchelError(
    'QUOTA_EXCEEDED',
    whose === 'user'
      ? `Your uploads would exceed the quota of ${quota} for each user: delete objects with blobs, or ask the administrator for a larger quota`
      : `The blobs of this database would exceed its quota of ${quota}: ask the administrator for a larger quota`,
  )
}

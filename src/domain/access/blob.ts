import { type Access, accessOf } from './access'
import { type Actor, requireStanding } from './actor'
import { SatchelError } from '../value/error'
import type { Database, ReadTx } from '../store/store'
import { parseRef } from '../value/blob'
import type { StoredBlob } from '../store/blobs'

/**
 * The blob that `ref` (`1:<id>`, decoded) names, for an actor who may read it (design.md §5.9): its
 * uploaders, everyone who may read a realm with an object that references it, and `GLOBAL_READ`.
 * Anonymous callers may read blobs referenced from the public realm. Throws, for an existing blob
 * and a missing one alike, `INVALID_TOKEN` without a token and `UNKNOWN_BLOB` with one; and as
 * `requireStanding`.
 */
export async function findReadableBlob(
  database: Database,
  actor: Actor,
  ref: string,
): Promise<StoredBlob> {
  const id = parseRef(ref)
  const blob = await database.read((tx) => readableBlob(tx, actor, id))
  if (blob !== undefined) return blob
  if (actor.subject !== null) {
    throw new SatchelError(
      'UNKNOWN_BLOB',
      'There is no blob with this ref, or none that you may read',
    )
  }
  throw new SatchelError(
    'INVALID_TOKEN',
    'An access token is needed, unless a public object references the blob: Authorization: Bearer <token>',
  )
}

function readableBlob(tx: ReadTx, actor: Actor, id: string | undefined): StoredBlob | undefined {
  requireStanding(tx, actor)
  if (id === undefined) return undefined
  if (actor.scopes.has('GLOBAL_READ')) return tx.blobs.find(id)
  return findSharedBlob(tx, accessOf(tx, actor), id)
}

/** The blob, if the actor uploaded it or may read a realm with an object that references it. */
export function findSharedBlob(
  tx: ReadTx,
  { ownRealm, realmRefs }: Access,
  id: string,
): StoredBlob | undefined {
  return tx.blobs.findFor(id, ownRealm, realmRefs)
}

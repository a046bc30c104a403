import { requireBlobId, requireBlobType } from '../value/blob'
import { SatchelError, quoted } from '../value/error'
import { requireUserId } from '../value/user-id'
import { type BlobFacts, inPlace, refuseAt } from './entry'
import type { FileLine } from './line-file'
import type { Blob } from '../store/blobs'

export function formatBlob({ blob, uploaders }: BlobFacts): string {
  const { id, hash, size, type, created } = blob
  const at = new Date(created).toISOString()
  return `${JSON.stringify({ id, hash, size, type, created: at, uploaders })}\n`
}

/** Throws `INVALID_REQUEST` or `UNPROCESSABLE` naming the line. */
export function parseBlob({ place, object }: FileLine): BlobFacts {
  const { id, hash, size, type, created, uploaders = [] } = object
  const time = typeof created === 'string' ? Date.parse(created) : Number.NaN
  if (typeof id !== 'string') throw refuseAt(place, '"id" is missing: the id of the blob')
  if (typeof hash !== 'string' || !/^[\da-f]{64}$/.test(hash)) {
    throw refuseAt(place, '"hash" is missing: the SHA-256 of its bytes in hex')
  }
  if (!Number.isSafeInteger(size) || Number(size) < 0) {
    throw refuseAt(place, '"size" is missing: how many bytes it has')
  }
  if (typeof type !== 'string') throw refuseAt(place, '"type" is missing: its content type')
  if (Number.isNaN(time)) throw refuseAt(place, '"created" is missing: when it was uploaded')
  if (!Array.isArray(uploaders)) throw refuseAt(place, '"uploaders" must be a list of user ids')
  return inPlace(place, () => ({
    blob: {
      id: requireBlobId(id),
      hash,
      size: Number(size),
      type: requireBlobType(type),
      created: time,
    },
    uploaders: uploaders.map((user: unknown) => requireUserId(user)),
  }))
}

/** Throws `CONFLICT` unless a blob that is there is the one that a file brings. */
export function requireSameBytes(known: Blob, { id, hash, size }: Blob): void {
  if (known.hash === hash && known.size === size) return
  throw new SatchelError(
    'CONFLICT',
    `the database has a blob ${quoted(id)} with other bytes, which never change`,
  )
}

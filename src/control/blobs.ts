import { collectBlobs, countCollectable, removeStrays } from '../domain/blob/collection'
import {
  type BlobLimitChanges,
  changeBlobLimits,
  findBlobLimits,
  findOwnBlobLimits,
} from '../domain/blob/limits'
import { openBlob } from '../domain/blob/content'
import { describeBlob, listBlobs, unknownBlob } from '../domain/blob/list'
import { verifyBlobs } from '../domain/blob/verification'
import { MANAGE, READ } from '../domain/access/door'
import { formatRef, parseRef } from '../domain/value/blob'
import { flag, number, numberOr, optional, text } from './fields'
import { onDatabase } from './operation'

const limit = numberOr('none', 'server')

export const blobOperations = {
  'blob.list': onDatabase(
    {
      scopes: READ,
      effect: 'read',
      summary: 'List the blobs',
      input: { after: text, limit: number, onlyUnreferenced: flag },
    },
    ({ database }, { after, limit, onlyUnreferenced }) =>
      listBlobs(database, after, limit, onlyUnreferenced),
  ),

  /** `blob` is an id or a ref. */
  'blob.show': onDatabase(
    { scopes: READ, effect: 'read', summary: 'Show a blob', input: { blob: text } },
    ({ database }, { blob }) => describeBlob(database, blob),
  ),

  /** Sends the bytes as a file; `type` is the one that was given with them. */
  'blob.read': onDatabase(
    {
      scopes: READ,
      effect: 'read',
      summary: 'Download a blob',
      input: { blob: text },
      sendsFile: true,
    },
    async ({ database, blobs }, input, { read, download }) => {
      const id = parseRef(input.blob) ?? input.blob
      const blob = await read((tx) => tx.blobs.find(id))
      const content = blob && (await openBlob(database, blobs, blob))
      if (blob === undefined || content === undefined) throw unknownBlob(input.blob)
      for await (const bytes of content.pieces()) await download?.(bytes)
      return { ref: formatRef(id), size: blob.size, type: blob.type }
    },
  ),

  /** Progress is in blobs. */
  'blob.gc': onDatabase(
    {
      scopes: MANAGE,
      effect: 'destroy',
      summary: 'Remove the blobs that nothing references',
      input: { dryRun: flag },
      asks: ({ dryRun }) => dryRun,
    },
    async ({ database, blobs: bytes }, { dryRun: isDryRun }, { now, note, progress, signal }) => {
      await note()
      const goesOn = () => signal?.aborted !== true
      const total = await countCollectable(database, now)
      const collected = isDryRun
        ? total
        : await collectBlobs(database, bytes, now, {
            progress: (done) => progress?.(done, total.blobs),
            goesOn,
          })
      const strays = await removeStrays(database, bytes, { isDryRun, goesOn })
      signal?.throwIfAborted()
      return { ...collected, strays }
    },
  ),

  /** Progress is in bytes. */
  'blob.verify': onDatabase(
    { scopes: READ, effect: 'read', summary: 'Compare the blobs with their hashes', input: {} },
    ({ database, blobs }, _input, streams) => verifyBlobs(database, blobs, streams),
  ),

  /** Null changes nothing; a limit is a number of bytes, `none` or `server`. */
  'blob.quota': onDatabase(
    {
      scopes: MANAGE,
      effect: 'write',
      summary: 'Show or set the limits of blobs',
      input: { blob: optional(limit), total: optional(limit), user: optional(limit) },
      asks: (input) => Object.values(input).every((change) => change === null),
    },
    async ({ database }, { blob, total, user }, { folder, write }) => {
      const changes = { blob, database: total, user }
      if (Object.values(changes).some((change) => change !== null)) {
        await write((tx) => changeBlobLimits(tx, readChanges(changes)))
      }
      return await database.read((tx) => ({
        usage: tx.blobs.usage(null),
        limits: findBlobLimits(tx, folder.blobLimits),
        own: findOwnBlobLimits(tx),
      }))
    },
  ),
}

type Limit = number | 'none' | 'server'

function readChanges(given: {
  readonly [Name in keyof BlobLimitChanges]: Limit | null
}): BlobLimitChanges {
  const read = (change: Limit | null) => {
    if (change === null) return undefined
    return change === 'none' ? null : change
  }
  const blob = read(given.blob)
  return {
    blob: blob === null ? 'server' : blob,
    database: read(given.database),
    user: read(given.user),
  }
}

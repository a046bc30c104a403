import { collectBlobs, countCollectable, removeStrays } from '../domain/blob/collection'
import {
  type BlobLimitChanges,
  changeBlobLimits,
  findBlobLimits,
  findOwnBlobLimits,
} from '../domain/blob/limits'
import { describeBlob, listBlobs } from '../domain/blob/list'
import { verifyBlobs } from '../domain/blob/verification'
import { flag, number, optional, text } from './fields'
import { operation } from './operation'

export const blobOperations = {
  'blob.list': operation(
    { database: text, after: text, limit: number, onlyUnreferenced: flag },
    async (workspace, { after, limit, onlyUnreferenced, ...input }) => {
      const { database } = await workspace.open(input.database)
      return await listBlobs(database, after, limit, onlyUnreferenced)
    },
  ),

  /** `blob` is an id or a ref. */
  'blob.show': operation({ database: text, blob: text }, async (workspace, input) => {
    const { database } = await workspace.open(input.database)
    return await describeBlob(database, input.blob)
  }),

  /** Progress is in blobs. */
  'blob.gc': operation(
    { database: text, dryRun: flag },
    async (workspace, { dryRun: isDryRun, ...input }, { progress }) => {
      using held = await workspace.hold(input.database)
      const { database, blobs: bytes } = held
      const now = workspace.clock.now()
      const total = await countCollectable(database, now)
      const collected = isDryRun
        ? total
        : await collectBlobs(database, bytes, now, {
            progress: (done) => progress?.(done, total.blobs),
          })
      return { ...collected, strays: await removeStrays(database, bytes, { isDryRun }) }
    },
  ),

  /** Progress is in bytes. */
  'blob.verify': operation({ database: text }, async (workspace, input, { progress }) => {
    using held = await workspace.hold(input.database)
    return await verifyBlobs(held.database, held.blobs, progress)
  }),

  /** What is null stays; a limit is a number of bytes, `none` or `server`. */
  'blob.quota': operation(
    { database: text, blob: optional(limit), total: optional(limit), user: optional(limit) },
    async (workspace, { blob, total, user, ...input }) => {
      const { database } = await workspace.open(input.database)
      const changes = { blob, database: total, user }
      if (Object.values(changes).some((change) => change !== null)) {
        await database.write((tx) => changeBlobLimits(tx, readChanges(changes)))
      }
      return await database.read(async (tx) => ({
        usage: await tx.blobs.usage(null),
        limits: await findBlobLimits(tx, workspace.blobLimits),
        own: await findOwnBlobLimits(tx),
      }))
    },
  ),
}

type Limit = number | 'none' | 'server'

function limit(value: unknown, name: string): Limit {
  return value === 'none' || value === 'server' ? value : number(value, name)
}

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

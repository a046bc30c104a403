import type { BlobStore } from '../store/blob-store'
import type { BlobUsage } from '../store/blobs'
import type { Database } from '../store/store'
import { nextTurn } from '../value/turn'
import { DAY } from '../value/time'

/** How long a blob stays that nothing references, ms: uploads come before what references them. */
export const GRACE = DAY

/** Blobs and contents in one unit or look-up: short enough for nobody to notice. */
const BATCH = 200

export interface CollectionOptions {
  /** Told how many blobs are forgotten so far. */
  readonly progress?: (blobs: number) => void
  /** Checked between short steps; the rest waits for the next run. */
  readonly goesOn?: () => boolean
}

/**
 * Forgets the blobs that nothing has referenced for `GRACE`, then removes the bytes that no blob
 * needs any more (protocol.md §8.1). `now` is the server's time in ms. A reference that is written
 * meanwhile keeps its blob, an upload its bytes. Resolves to the removed blobs.
 */
export async function collectBlobs(
  database: Database,
  bytes: BlobStore,
  now: number,
  { progress, goesOn }: CollectionOptions = {},
): Promise<BlobUsage> {
  const collected = { blobs: 0, bytes: 0 }
  // Nothing is written for nothing: the disk may be one that takes no more.
  while ((await database.read((tx) => tx.blobs.idle(now - GRACE, 1))).length > 0) {
    const sizes = await database.write(async (tx) => {
      const idle = await tx.blobs.idle(now - GRACE, BATCH)
      for (const { id } of idle) await tx.blobs.remove(id)
      return idle.map(({ size }) => size)
    })
    for (const size of sizes) collected.bytes += size
    collected.blobs += sizes.length
    progress?.(collected.blobs)
    if (goesOn?.() === false) break
    await nextTurn()
  }
  await removeSpent(database, bytes, goesOn)
  return collected
}

/** What `collectBlobs` would forget. */
export function countCollectable(database: Database, now: number): Promise<BlobUsage> {
  return database.read((tx) => tx.blobs.countIdle(now - GRACE))
}

/** Removes the bytes of blobs that are gone. Bytes that are being uploaded again stay. */
export async function removeSpent(
  database: Database,
  bytes: BlobStore,
  goesOn: () => boolean = () => true,
): Promise<void> {
  for (let after = ''; ;) {
    const from = after
    const hashes = await database.read((tx) => tx.blobs.spent(from, BATCH))
    const gone: string[] = []
    for (const hash of hashes) {
      if (await bytes.remove(hash, () => isUnused(database, hash))) gone.push(hash)
    }
    if (gone.length > 0) {
      await database.write(async (tx) => {
        for (const hash of gone) await tx.blobs.settle(hash)
      })
    }
    const last = hashes.at(-1)
    if (last === undefined || hashes.length < BATCH || !goesOn()) return
    after = last
    await nextTurn()
  }
}

/** Removes bytes that belong to no blob, or only counts them; resolves to how many contents these are. */
export async function removeStrays(
  database: Database,
  bytes: BlobStore,
  { isDryRun = false } = {},
): Promise<number> {
  let strays = 0
  for await (const hash of bytes.list()) {
    if (!(await isUnused(database, hash))) continue
    const isGone = isDryRun || (await bytes.remove(hash, () => isUnused(database, hash)))
    if (isGone) strays += 1
  }
  return strays
}

function isUnused(database: Database, hash: string): Promise<boolean> {
  return database.read(async (tx) => !(await tx.blobs.isStored(hash)))
}

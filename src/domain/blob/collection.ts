import type { BlobStore } from '../store/blob-store'
import type { BlobUsage } from '../store/blobs'
import type { Database } from '../store/store'
import { nextTurn } from '../value/turn'
import { DAY } from '../value/time'

/** How long a blob without a reference stays, ms: clients upload first and reference afterwards. */
export const GRACE = DAY

/** Blobs or files in one unit, which keeps it short. */
const BATCH = 200

export interface CollectionOptions {
  /** Called with the number of blobs that are removed so far. */
  readonly progress?: (blobs: number) => void
  /** Asked between short steps; the rest waits for the next collection. */
  readonly goesOn?: () => boolean
}

/**
 * Removes the blobs that nothing has referenced for `GRACE`, then the bytes that no blob needs any
 * more (protocol.md §8.1). `now` is the server's time in ms. A reference that is written meanwhile
 * keeps its blob. Resolves to the removed blobs.
 */
export async function collectBlobs(
  database: Database,
  bytes: BlobStore,
  now: number,
  { progress, goesOn }: CollectionOptions = {},
): Promise<BlobUsage> {
  const collected = { blobs: 0, bytes: 0 }
  // Without idle blobs nothing is written: the disk may be full.
  while ((await database.read((tx) => tx.blobs.idle(now - GRACE, 1))).length > 0) {
    const removed = await database.write((tx) => {
      const idle = tx.blobs.idle(now - GRACE, BATCH)
      for (const { id } of idle) tx.blobs.remove(id)
      return idle
    })
    await Promise.all(removed.map(({ file }) => bytes.remove(file)))
    for (const { size } of removed) collected.bytes += size
    collected.blobs += removed.length
    progress?.(collected.blobs)
    if (goesOn?.() === false) break
    await nextTurn()
  }
  return collected
}

/** The blobs that `collectBlobs` would remove. */
export async function countCollectable(database: Database, now: number): Promise<BlobUsage> {
  return database.read((tx) => tx.blobs.countIdle(now - GRACE))
}

/** Removes files that belong to no blob, or only counts them; resolves to their number. */
export async function removeStrays(
  database: Database,
  bytes: BlobStore,
  { isDryRun = false, goesOn = () => true }: StrayOptions = {},
): Promise<number> {
  let strays = 0
  for await (const file of listStrays(database, bytes)) {
    if (!goesOn()) break
    if (!isDryRun) await bytes.remove(file)
    strays += 1
  }
  return strays
}

export interface StrayOptions {
  readonly isDryRun?: boolean
  /** Asked before each of them. */
  readonly goesOn?: () => boolean
}

/** Files that belong to no blob. */
export async function* listStrays(database: Database, bytes: BlobStore): AsyncGenerator<string> {
  const unused = (files: readonly string[]) =>
    database.read((tx) => files.filter((file) => !tx.blobs.isFileUsed(file)))
  let files: string[] = []
  for await (const file of bytes.list()) {
    files.push(file)
    if (files.length < BATCH) continue
    yield* await unused(files)
    files = []
    await nextTurn()
  }
  yield* await unused(files)
}

/** True when a blob has its bytes in this file. */
export function isFileUsed(database: Database, file: string): Promise<boolean> {
  return database.read((tx) => tx.blobs.isFileUsed(file))
}

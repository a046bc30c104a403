import type { BlobStore } from '../store/blob-store'
import type { BlobUsage } from '../store/blobs'
import type { Database } from '../store/store'
import { nextTurn } from '../value/turn'
import { DAY } from '../value/time'

/** How long a blob without a reference stays, ms: clients upload first and reference afterwards. */
export const GRACE = DAY

/** Blobs and places in one unit, which keeps it short. */
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
    const sizes = await database.write((tx) => {
      const idle = tx.blobs.idle(now - GRACE, BATCH)
      for (const { id } of idle) tx.blobs.remove(id)
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

/** The blobs that `collectBlobs` would remove. */
export async function countCollectable(database: Database, now: number): Promise<BlobUsage> {
  return database.read((tx) => tx.blobs.countIdle(now - GRACE))
}

/** Removes the bytes at places that no content has any more. */
export async function removeSpent(
  database: Database,
  bytes: BlobStore,
  goesOn: () => boolean = () => true,
): Promise<void> {
  for (let after = ''; ;) {
    const from = after
    const places = await database.read((tx) => tx.blobs.spentPlaces(from, BATCH))
    await Promise.all(places.map((place) => bytes.remove(place)))
    if (places.length > 0) {
      await database.write((tx) => {
        for (const place of places) tx.blobs.removeSpentPlace(place)
      })
    }
    const last = places.at(-1)
    if (last === undefined || places.length < BATCH || !goesOn()) return
    after = last
    await nextTurn()
  }
}

/**
 * Removes bytes that belong to no blob, or only counts them; resolves to their number. They are
 * left alone for `GRACE`, because an upload stores its bytes before it records them. `now` in ms.
 */
export async function removeStrays(
  database: Database,
  bytes: BlobStore,
  now: number,
  { isDryRun = false } = {},
): Promise<number> {
  let strays = 0
  for await (const place of bytes.list(now - GRACE)) {
    if (await isPlaceUsed(database, place)) continue
    if (!isDryRun) await bytes.remove(place)
    strays += 1
  }
  return strays
}

/** True when a blob has its bytes at this place. */
export async function isPlaceUsed(database: Database, place: string): Promise<boolean> {
  return database.read((tx) => tx.blobs.isPlaceUsed(place))
}

import type { Arrival, BlobContent, BlobStore } from '../store/blob-store'
import type { Blob } from '../store/blobs'
import type { Database } from '../store/store'

/**
 * Opens the bytes of a blob; undefined when the blob was removed meanwhile. Throws `BLOB_DAMAGED`
 * when they are missing or too few.
 */
export function openBlob(
  database: Database,
  store: BlobStore,
  { hash, size }: Pick<Blob, 'hash' | 'size'>,
): Promise<BlobContent | undefined> {
  return atPlaceOf(database, hash, (place) => store.open(place, size))
}

/**
 * Runs `use` with the place of a content. An upload of the same bytes moves a content to a new
 * place: if `use` fails, it runs again with the place that is recorded then. Undefined without a
 * place.
 */
export async function atPlaceOf<T>(
  database: Database,
  hash: string,
  use: (place: string) => Promise<T>,
): Promise<T | undefined> {
  for (let failed: string | undefined; ;) {
    const place = await database.read((tx) => tx.blobs.placeOf(hash))
    if (place === undefined) return undefined
    try {
      return await use(place)
    } catch (error) {
      if (place === failed) throw error
      failed = place
    }
  }
}

/**
 * Keeps all arrivals, of which `record` records the places; when it throws, their bytes are
 * removed.
 */
export function keepAll<T>(
  [arrival, ...others]: readonly Arrival[],
  record: () => Promise<T>,
): Promise<T> {
  return arrival === undefined ? record() : arrival.keep(() => keepAll(others, record))
}

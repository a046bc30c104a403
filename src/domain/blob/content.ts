import type { Arrival, BlobContent, BlobStore } from '../store/blob-store'
import type { Blob } from '../store/blobs'
import type { Database, ReadTx } from '../store/store'
import { SatchelError } from '../value/error'

/**
 * Opens the bytes of a blob; undefined when the blob was removed meanwhile. Throws `BLOB_DAMAGED`
 * when they are missing or too few, and `DAMAGED` when the record of their place is damaged.
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
 * place: if `use` fails, it runs again with the place that is recorded then. Undefined when no blob
 * has this content. Throws as `findPlace`.
 */
export async function atPlaceOf<T>(
  database: Database,
  hash: string,
  use: (place: string) => Promise<T>,
): Promise<T | undefined> {
  for (let failed: string | undefined; ;) {
    const place = await database.read((tx) => findPlace(tx, hash))
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
 * Where a content is; undefined when no blob has it. Throws `BLOB_DAMAGED` when blobs have it and its place
 * is not recorded any more, as when the row with the place is damaged; and `DAMAGED`.
 */
export function findPlace(tx: ReadTx, hash: string): string | undefined {
  const place = tx.blobs.placeOf(hash)
  if (place === undefined && blobsWith(tx, hash, 1).length > 0) throw placeLost()
  return place
}

/** Up to `most` blobs that have this content. */
export function blobsWith(tx: ReadTx, hash: string, most: number): Blob[] {
  return tx.blobs.byContent({ hash, id: '' }, most).filter((blob) => blob.hash === hash)
}

function placeLost(): SatchelError {
  return new SatchelError(
    'BLOB_DAMAGED',
    'The place of the bytes of this blob is damaged: upload the same bytes again to repair it',
  )
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

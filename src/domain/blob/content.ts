import type { Arrival, BlobContent, BlobStore } from '../store/blob-store'
import type { StoredBlob } from '../store/blobs'
import type { Database } from '../store/store'

/**
 * Opens the bytes of a blob; undefined when the blob was removed meanwhile. Throws `BLOB_DAMAGED`
 * when they are missing or too few, and `DAMAGED` when the record of the blob is damaged.
 */
export function openBlob(
  database: Database,
  store: BlobStore,
  blob: Pick<StoredBlob, 'id' | 'file' | 'size'>,
): Promise<BlobContent | undefined> {
  return withFileOf(database, blob, (file) => store.open(file, blob.size))
}

/**
 * Runs `use` with the file of a blob. If it fails, it runs again when another file is recorded by then. Undefined
 * when the blob was removed meanwhile. Throws `DAMAGED`.
 */
export async function withFileOf<T>(
  database: Database,
  { id, file }: Pick<StoredBlob, 'id' | 'file'>,
  use: (file: string) => Promise<T>,
): Promise<T | undefined> {
  for (let tried = file; ;) {
    try {
      return await use(tried)
    } catch (error) {
      const found = await database.read((tx) => tx.blobs.find(id))
      if (found === undefined) return undefined
      if (found.file === tried) throw error
      tried = found.file
    }
  }
}

/**
 * Keeps all arrivals, of which `record` records the files; when it throws, files that no other record names are
 * removed.
 */
export function keepAll<T>(
  [arrival, ...others]: readonly Arrival[],
  record: () => Promise<T>,
): Promise<T> {
  return arrival === undefined ? record() : arrival.keep(() => keepAll(others, record))
}

import type { BlobStore, ContentState } from '../store/blob-store'
import type { StoredBlob } from '../store/blobs'
import { isFileUsed, listStrays } from './collection'
import { pagesByFile } from './list'
import type { Database } from '../store/store'

/** Bytes that are missing, or not those that were uploaded. */
interface Fault {
  readonly problem: 'damaged' | 'missing'
  readonly hash: string
  /** Some of the blobs that have this content. */
  readonly blobs: readonly string[]
}

export interface Verification {
  /** Contents that were read. */
  readonly checked: number
  readonly bytes: number
  readonly faults: readonly Fault[]
  /** Files that belong to no blob. */
  readonly strays: readonly string[]
}

/** How many blobs of a fault and how many strays are listed. */
const NAMED = 100

interface VerificationOptions {
  /** Called with the bytes done and in all. */
  readonly progress?: ((done: number, total: number) => void) | undefined
  /** Ends the work, which throws its reason. */
  readonly signal?: AbortSignal | undefined
}

/**
 * Reads the bytes of all blobs and compares them with their hashes. Uploads and collections that
 * run meanwhile cause no faults.
 */
export async function verifyBlobs(
  database: Database,
  bytes: BlobStore,
  { progress, signal }: VerificationOptions = {},
): Promise<Verification> {
  let total = 0
  for await (const { size } of listFiles(database)) {
    signal?.throwIfAborted()
    total += size
  }
  const faults: Fault[] = []
  let checked = 0
  let done = 0
  for await (const { hash, size, file } of listFiles(database)) {
    let read = 0
    const problem = await problemWith(database, bytes, { hash, file }, (count) => {
      signal?.throwIfAborted()
      read += count
      progress?.(done + read, total)
    })
    signal?.throwIfAborted()
    checked += 1
    done += size
    progress?.(done, total)
    if (problem !== undefined) faults.push({ problem, hash, blobs: await blobsOf(database, file) })
  }
  return { checked, bytes: done, faults, strays: await findStrays(database, bytes, signal) }
}

/** Undefined for bytes that are whole, or not needed any more. */
async function problemWith(
  database: Database,
  bytes: BlobStore,
  { hash, file }: Pick<StoredBlob, 'hash' | 'file'>,
  onBytes: (count: number) => void,
): Promise<Fault['problem'] | undefined> {
  // A blob may have been removed and stored again meanwhile.
  for (let found: ContentState | undefined; ;) {
    const state = await bytes.check(file, hash, onBytes)
    if (state === 'whole' || !(await isFileUsed(database, file))) return undefined
    if (state === found) return state
    found = state
  }
}

async function blobsOf(database: Database, file: string): Promise<string[]> {
  const found = await database.read((tx) => tx.blobs.byFile({ file, id: '' }, NAMED))
  return found.filter((blob) => blob.file === file).map(({ id }) => id)
}

async function findStrays(
  database: Database,
  bytes: BlobStore,
  signal: AbortSignal | undefined,
): Promise<string[]> {
  const strays: string[] = []
  for await (const file of listStrays(database, bytes)) {
    signal?.throwIfAborted()
    if (strays.push(file) === NAMED) break
  }
  return strays
}

/** One blob for each file. */
export async function* listFiles(database: Database): AsyncGenerator<StoredBlob> {
  let last: string | undefined
  for await (const blobs of pagesByFile(database, (_tx, page) => page)) {
    for (const blob of blobs) {
      if (blob.file !== last) yield blob
      last = blob.file
    }
  }
}

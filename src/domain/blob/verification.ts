import type { BlobStore, ContentState } from '../store/blob-store'
import type { Blob } from '../store/blobs'
import { SatchelError } from '../value/error'
import { GRACE, isPlaceUsed } from './collection'
import { blobsWith, findPlace } from './content'
import type { Database, ReadTx } from '../store/store'

/** Bytes that are missing, or not those that were uploaded. */
export interface Fault {
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
  /** Places with bytes that belong to no blob. */
  readonly strays: readonly string[]
}

const BATCH = 200
/** How many blobs of a fault and how many strays are listed. */
const NAMED = 100

/**
 * Reads the bytes of all blobs and compares them with their hashes. Uploads and collections that
 * run meanwhile cause no faults. `now` in ms; `progress` is called with the bytes done and in all.
 */
export async function verifyBlobs(
  database: Database,
  bytes: BlobStore,
  now: number,
  progress: (done: number, total: number) => void = () => undefined,
): Promise<Verification> {
  let total = 0
  for await (const { size } of listContents(database)) total += size
  const faults: Fault[] = []
  let checked = 0
  let done = 0
  for await (const { hash, size } of listContents(database)) {
    let read = 0
    const problem = await problemWith(database, bytes, hash, (count) => {
      read += count
      progress(done + read, total)
    })
    checked += 1
    done += size
    progress(done, total)
    if (problem !== undefined) faults.push(await faultOf(database, hash, problem))
  }
  return { checked, bytes: done, faults, strays: await findStrays(database, bytes, now) }
}

/** Undefined for bytes that are whole, or not needed any more. */
async function problemWith(
  database: Database,
  bytes: BlobStore,
  hash: string,
  onBytes: (count: number) => void,
): Promise<Fault['problem'] | undefined> {
  for (let checked: string | undefined, state: ContentState | undefined; ;) {
    const place = await database.read((tx) => placeOrDamage(tx, hash))
    if (place === DAMAGED) return 'missing'
    if (place === undefined || state === 'whole') return undefined
    if (place === checked) return state
    state = await bytes.check(place, hash, onBytes)
    checked = place
  }
}

const DAMAGED = Symbol('a damaged place')

function placeOrDamage(tx: ReadTx, hash: string): string | typeof DAMAGED | undefined {
  try {
    return findPlace(tx, hash)
  } catch (error) {
    if (error instanceof SatchelError && PLACE_ERRORS.has(error.code)) return DAMAGED
    throw error
  }
}

const PLACE_ERRORS: ReadonlySet<string> = new Set(['DAMAGED', 'BLOB_DAMAGED'])

async function faultOf(
  database: Database,
  hash: string,
  problem: Fault['problem'],
): Promise<Fault> {
  const blobs = await database.read((tx) => blobsWith(tx, hash, NAMED))
  return { problem, hash, blobs: blobs.map(({ id }) => id) }
}

async function findStrays(database: Database, bytes: BlobStore, now: number): Promise<string[]> {
  const strays: string[] = []
  for await (const place of bytes.list(now - GRACE)) {
    if (strays.length === NAMED) break
    if (!(await isPlaceUsed(database, place))) strays.push(place)
  }
  return strays
}

/** One blob for each content. */
async function* listContents(database: Database): AsyncGenerator<Blob> {
  let last: Blob | undefined
  for (;;) {
    const after: Blob | undefined = last
    const blobs = await database.read((tx) => tx.blobs.byContent(after, BATCH))
    for (const blob of blobs) {
      if (blob.hash !== last?.hash) yield blob
      last = blob
    }
    if (blobs.length < BATCH) return
  }
}

import type { BlobStore } from '../store/blob-store'
import type { Database } from '../store/store'

/** Bytes that are not what a blob has, or are not there. */
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
  /** Contents that belong to no blob. */
  readonly strays: readonly string[]
}

const BATCH = 200
/** Blobs that a fault names, and strays that are named. */
const NAMED = 100

/**
 * Reads all bytes of a database and compares them with their hashes. Blobs that are uploaded or collected
 * meanwhile are no faults. `progress` gets the number of bytes that are done, and of all.
 */
export async function verifyBlobs(
  database: Database,
  bytes: BlobStore,
  progress: (done: number, total: number) => void = () => undefined,
): Promise<Verification> {
  let total = 0
  for await (const { size } of listContents(database)) total += size
  const faults: Fault[] = []
  let checked = 0
  let done = 0
  for await (const { hash, size } of listContents(database)) {
    let read = 0
    const state = await bytes.check(hash, (count) => {
      read += count
      progress(done + read, total)
    })
    checked += 1
    done += size
    progress(done, total)
    const problem = state === 'whole' ? undefined : state
    const fault = problem && (await faultIn(database, hash, problem))
    if (fault !== undefined) faults.push(fault)
  }
  return { checked, bytes: done, faults, strays: await findStrays(database, bytes) }
}

/** Undefined when the content is needed no more. */
async function faultIn(
  database: Database,
  hash: string,
  problem: Fault['problem'],
): Promise<Fault | undefined> {
  const blobs = await database.read((tx) => tx.blobs.ofContent(hash, NAMED))
  return blobs.length === 0 ? undefined : { problem, hash, blobs: blobs.map(({ id }) => id) }
}

async function findStrays(database: Database, bytes: BlobStore): Promise<string[]> {
  const strays: string[] = []
  for await (const hash of bytes.list()) {
    if (strays.length < NAMED && !(await isNeeded(database, hash))) strays.push(hash)
  }
  const still: string[] = []
  // Uploads in progress have their blob by now.
  for (const hash of strays) if (!(await isNeeded(database, hash))) still.push(hash)
  return still
}

function isNeeded(database: Database, hash: string): Promise<boolean> {
  return database.read((tx) => tx.blobs.isStored(hash))
}

async function* listContents(database: Database) {
  for (let after = ''; ;) {
    const from = after
    const contents = await database.read((tx) => tx.blobs.contents(from, BATCH))
    yield* contents
    const last = contents.at(-1)
    if (last === undefined || contents.length < BATCH) return
    after = last.hash
  }
}

import { constants } from 'node:fs'
import { type FileHandle, mkdir, open } from 'node:fs/promises'
import { dirname } from 'node:path'
import { nextTurn } from '../domain/turn'

/** Written at once, in bytes: what an upload holds in memory is twice this. */
const BATCH = 256 * 1024
/** Chunks in a batch: a sender of single bytes must not make us hold a quarter of a million of them. */
const BATCH_CHUNKS = 1024
/**
 * Sent to the disk while more arrives, in bytes: at the end little is left to wait for, and the
 * database does not wait for the disk behind gigabytes of blobs.
 */
const SYNC_EVERY = 16 * 1024 * 1024

/** What was written. */
export interface Content {
  /** SHA-256 in hex. */
  readonly hash: string
  /** In bytes. */
  readonly size: number
}

/**
 * Writes a new file that only this user reads, hashing one batch while the one before is on its way
 * to the disk. Asks `grown` with the bytes so far; what it throws ends the writing. With `isDurable`
 * the content survives power loss when this resolves, though its name may not.
 */
export async function writeContent(
  path: string,
  bytes: AsyncIterable<Uint8Array>,
  { isDurable, grown }: { readonly isDurable: boolean; readonly grown: (size: number) => void },
): Promise<Content> {
  await using file = await open(path, 'wx', 0o600)
  const hasher = new Bun.CryptoHasher('sha256')
  const writing = inBackground()
  const syncing = inBackground()
  let batch: Uint8Array[] = []
  let batched = 0
  let size = 0
  let unsynced = 0

  async function flush(): Promise<void> {
    const [first] = batch
    if (first === undefined) return
    const whole = batch.length === 1 ? first : Buffer.concat(batch, batched)
    unsynced += batched
    batch = []
    batched = 0
    await writing.settled()
    writing.begin(() => writeAll(file, whole))
    hasher.update(whole)
    if (!isDurable || unsynced < SYNC_EVERY) return
    unsynced = 0
    await syncing.settled()
    syncing.begin(() => file.datasync())
  }

  try {
    for await (const chunk of bytes) {
      size += chunk.length
      grown(size)
      batch.push(chunk)
      batched += chunk.length
      if (batched >= BATCH || batch.length >= BATCH_CHUNKS) await flush()
    }
    await flush()
  } finally {
    // The file is not closed under a write.
    await Promise.allSettled([writing.settled(), syncing.settled()])
  }
  await writing.settled()
  await syncing.settled()
  if (isDurable) await file.sync()
  return { hash: hasher.digest('hex'), size }
}

/** The hash and size of a file; `onBytes` is told of every part. Throws `ENOENT` where there is none. */
export async function readContent(
  path: string,
  onBytes: (count: number) => void = () => undefined,
): Promise<Content> {
  await using file = await open(path, 'r')
  const hasher = new Bun.CryptoHasher('sha256')
  const buffer = Buffer.allocUnsafe(BATCH)
  for (let size = 0; ;) {
    const { bytesRead } = await file.read(buffer, 0, buffer.length)
    if (bytesRead === 0) return { hash: hasher.digest('hex'), size }
    hasher.update(buffer.subarray(0, bytesRead))
    size += bytesRead
    onBytes(bytesRead)
    await nextTurn()
  }
}

/** Makes a folder that only this user enters, and what is missing above it. */
export async function makeFolder(path: string, isDurable: boolean): Promise<void> {
  const made = await mkdir(path, { recursive: true, mode: 0o700 })
  if (made === undefined || !isDurable) return
  // Its name lies in the folder above, as do the names of all that were made on the way to it.
  for (let folder = path; ; folder = dirname(folder)) {
    await syncFolder(dirname(folder))
    if (folder === made) return
  }
}

/** Makes the names in a folder survive power loss. */
export async function syncFolder(path: string): Promise<void> {
  await using folder = await open(path, constants.O_RDONLY | constants.O_DIRECTORY)
  await folder.sync()
}

/** A write may stop short, of which the rest then tells why. */
async function writeAll(file: FileHandle, bytes: Uint8Array): Promise<void> {
  for (let rest = bytes; rest.length > 0;) {
    const { bytesWritten } = await file.write(rest)
    rest = rest.subarray(bytesWritten)
  }
}

/** One thing at a time that is not waited for when it begins, but before the next. */
function inBackground() {
  let running: Promise<unknown> = Promise.resolve()
  return {
    begin(work: () => Promise<unknown>): void {
      running = work()
      // Whoever waits is told; until then it is not unheard of.
      running.catch(() => undefined)
    },
    settled: () => running,
  }
}

import { closeSync, fdatasync, openSync, write, writeSync, writev, writevSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { promisify } from 'node:util'
import { syncDescriptor } from '../../disk'
import { nextTurn } from '../../domain/value/turn'

/** Written at once, in bytes: what an upload holds in memory is twice this. */
const BATCH = 256 * 1024
/** Chunks in a batch: a sender of single bytes must not make us hold a quarter of a million of them. */
const BATCH_CHUNKS = 256
/**
 * The first bytes of a file are written where they came: the kernel takes them at once, and to ask
 * another thread for it costs as much again. More than that may have to wait for the disk.
 */
const AT_ONCE = 1024 * 1024
/**
 * Sent to the disk while more arrives, in bytes: at the end little is left to wait for, and the
 * database does not wait for the disk behind gigabytes of blobs.
 */
const SYNC_EVERY = 16 * 1024 * 1024

export interface Content {
  /** SHA-256 in hex. */
  readonly hash: string
  /** In bytes. */
  readonly size: number
}

/** A file that was written and is open still. Disposing closes it, once. */
export interface ContentFile extends Content, Disposable {
  /** Makes the content survive power loss, and not only the process. Does nothing when it is closed. */
  sync(): Promise<void>
}

export interface WriteOptions {
  /** Send it to the disk while more comes. */
  readonly isDurable: boolean
  /** Asked with the bytes so far; what it throws ends the writing. */
  readonly grown: (size: number) => void
}

/**
 * Writes a new file that only this user reads, hashing one batch while the one before is on its way.
 * Calls that wait for the disk run in other threads; the others run here, at a tenth of the cost.
 */
export async function writeContent(
  path: string,
  bytes: AsyncIterator<Uint8Array>,
  { isDurable, grown }: WriteOptions,
): Promise<ContentFile> {
  using undo = new DisposableStack()
  const file = undo.adopt(openSync(path, 'wx', 0o600), closeSync)
  const hasher = new Bun.CryptoHasher('sha256')
  const writing = inBackground()
  const syncing = inBackground()
  let batch: Uint8Array[] = []
  let batched = 0
  let size = 0
  let unsynced = 0

  async function flush(): Promise<void> {
    const [chunks, length] = [batch, batched]
    if (length === 0) return
    unsynced += length
    batch = []
    batched = 0
    await writing.settled()
    if (size <= AT_ONCE) writeNow(file, chunks, length)
    else writing.begin(() => writeAll(file, chunks, length))
    for (const chunk of chunks) hasher.update(chunk)
    if (!isDurable || unsynced < SYNC_EVERY) return
    unsynced = 0
    await syncing.settled()
    syncing.begin(() => syncData(file))
  }

  try {
    for (let next = await bytes.next(); next.done !== true; next = await bytes.next()) {
      const chunk = next.value
      size += chunk.length
      grown(size)
      batch.push(chunk)
      batched += chunk.length
      if (batched >= BATCH || batch.length >= BATCH_CHUNKS) await flush()
    }
    await flush()
  } catch (error) {
    bytes.return?.().catch(() => undefined)
    throw error
  } finally {
    // The file is not closed under a write.
    await Promise.allSettled([writing.settled(), syncing.settled()])
  }
  await writing.settled()
  await syncing.settled()
  const owned = undo.move()
  return {
    hash: hasher.digest('hex'),
    size,
    sync: async () => (owned.disposed ? undefined : syncDescriptor(file)),
    [Symbol.dispose]: () => owned.dispose(),
  }
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

const syncData = promisify(fdatasync)
const writeSome = promisify(write)
const writeMany = promisify(writev)

/** A write may stop short, of which the rest then tells why. */
async function writeAll(file: number, chunks: Uint8Array[], length: number): Promise<void> {
  let { bytesWritten: written } = await writeMany(file, chunks)
  if (written === length) return
  for (let rest = Buffer.concat(chunks, length); ;) {
    rest = rest.subarray(written)
    if (rest.length === 0) return
    written = (await writeSome(file, rest)).bytesWritten
  }
}

/** The same at once. */
function writeNow(file: number, chunks: Uint8Array[], length: number): void {
  let written = writevSync(file, chunks)
  if (written === length) return
  for (let rest = Buffer.concat(chunks, length); ; written = writeSync(file, rest)) {
    rest = rest.subarray(written)
    if (rest.length === 0) return
  }
}

/** One thing at a time that is not waited for when it begins, but before the next. */
function inBackground() {
  let running: Promise<unknown> = Promise.resolve()
  return {
    begin(work: () => Promise<unknown>): void {
      running = work()
      // The error is thrown to the waiting caller; until then it counts as handled.
      running.catch(() => undefined)
    },
    settled: () => running,
  }
}

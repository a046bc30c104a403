import { closeSync, fdatasync, write, writeSync, writev, writevSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { createOwnFile, promised, syncDescriptor } from '../../disk'
import { nextTurn } from '../../domain/value/turn'

/** The size of a batch, which is written at once; an upload holds two in memory. */
const BATCH_BYTES = 256 * 1024
/** The chunks in a batch, which a sender of single bytes would fill with 262,144 of them. */
const BATCH_CHUNKS = 256
/**
 * The first bytes of a file are written synchronously: the kernel buffers them at once, and another
 * thread would double the cost. More than that may have to wait for the disk.
 */
const SYNCHRONOUS_BYTES = 1024 * 1024
/**
 * The file is synced after so many bytes, while more arrives: at the end there is little left to wait for, and the
 * database does not queue behind gigabytes of blobs.
 */
const SYNC_EVERY_BYTES = 16 * 1024 * 1024

interface Content {
  /** SHA-256 in hex. */
  readonly hash: string
  /** In bytes. */
  readonly size: number
}

/** A complete file that is still open. Disposing closes it. */
interface ContentFile extends Content, Disposable {
  /** Makes the content survive power loss, and not only the process. Does nothing when it is closed. */
  sync(): Promise<void>
}

interface WriteOptions {
  /** Sync the file while more arrives. */
  readonly isDurable: boolean
  /** Called with the number of bytes so far; an error it throws ends the upload. */
  readonly onGrow: (size: number) => void
}

/**
 * Writes a new file that only this user can read, and hashes one batch while the previous one is being
 * written. Work that may wait for the disk runs in another thread; the rest runs here, at a tenth of
 * the cost.
 */
export async function writeContent(
  path: string,
  bytes: AsyncIterator<Uint8Array>,
  { isDurable, onGrow }: WriteOptions,
): Promise<ContentFile> {
  using undo = new DisposableStack()
  const file = undo.adopt(createOwnFile(path), closeSync)
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
    if (size <= SYNCHRONOUS_BYTES) writeNow(file, chunks, length)
    else writing.begin(() => writeAll(file, chunks, length))
    for (const chunk of chunks) hasher.update(chunk)
    if (!isDurable || unsynced < SYNC_EVERY_BYTES) return
    unsynced = 0
    await syncing.settled()
    syncing.begin(() => promised((done) => fdatasync(file, done)))
  }

  try {
    for (let next = await bytes.next(); next.done !== true; next = await bytes.next()) {
      const chunk = next.value
      size += chunk.length
      onGrow(size)
      batch.push(chunk)
      batched += chunk.length
      if (batched >= BATCH_BYTES || batch.length >= BATCH_CHUNKS) await flush()
    }
    await flush()
  } catch (error) {
    bytes.return?.().catch(() => undefined)
    throw error
  } finally {
    // A file must not be closed during a write.
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

/** The hash and size of a file; `onBytes` is called with the size of each part. Throws `ENOENT`. */
export async function readContent(
  path: string,
  onBytes: (count: number) => void = () => undefined,
): Promise<Content> {
  await using file = await open(path, 'r')
  const hasher = new Bun.CryptoHasher('sha256')
  const buffer = Buffer.allocUnsafe(BATCH_BYTES)
  for (let size = 0; ;) {
    const { bytesRead } = await file.read(buffer, 0, buffer.length)
    if (bytesRead === 0) return { hash: hasher.digest('hex'), size }
    hasher.update(buffer.subarray(0, bytesRead))
    size += bytesRead
    onBytes(bytesRead)
    await nextTurn()
  }
}

/** A write may be partial; writing the rest then shows why. */
async function writeAll(file: number, chunks: Uint8Array[], length: number): Promise<void> {
  let written = await promised<number>((done) => writev(file, chunks, done))
  if (written === length) return
  for (let rest = Buffer.concat(chunks, length); ;) {
    rest = rest.subarray(written)
    if (rest.length === 0) return
    written = await promised<number>((done) => write(file, rest, done))
  }
}

function writeNow(file: number, chunks: Uint8Array[], length: number): void {
  let written = writevSync(file, chunks)
  if (written === length) return
  for (let rest = Buffer.concat(chunks, length); ; written = writeSync(file, rest)) {
    rest = rest.subarray(written)
    if (rest.length === 0) return
  }
}

/** Runs one task at a time in the background; the next one waits for it. */
function inBackground() {
  let running: Promise<unknown> = Promise.resolve()
  return {
    begin(work: () => Promise<unknown>): void {
      running = work()
      // The error is thrown by `settled`; until then it must not count as unhandled.
      running.catch(() => undefined)
    },
    settled: () => running,
  }
}

import { randomBytes } from 'node:crypto'
import { existsSync, renameSync } from 'node:fs'
import { readdir, unlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import {
  diskError,
  type DiskMessages,
  hasErrno,
  makeFolder,
  readPieces,
  refuseForeignLink,
  syncPath,
} from '../../disk'
import type { Arrival, BlobContent, BlobStore, SizeLimit } from '../../domain/store/blob-store'
import { SatchelError, busy } from '../../domain/value/error'
import { readContent, writeContent } from './content-file'
import { createFileLocks } from './file-locks'

interface DiskOptions {
  /** Kept bytes survive power loss. */
  readonly isDurable: boolean
  /** True when the database records this file. */
  readonly isUsed: (file: string) => Promise<boolean>
  /** Called with errors that no request waits for. */
  readonly report: (error: unknown) => void
}

/** Files of arrivals that stay open until they are recorded; later ones are synced and closed at once. */
const MAX_OPEN_FILES = 64

/**
 * Stores bytes as the file `<folder>/<their SHA-256 in hex>`: one folder, because uploads at the same time share its
 * sync. They are written to `<folder>/incoming` and get their name when they are kept. One process owns the folder.
 */
export function createDiskBlobs(
  folder: string,
  { isDurable, isUsed, report }: DiskOptions,
): BlobStore {
  const incoming = join(folder, INCOMING)
  const arriving = new Map<AsyncIterator<Uint8Array>, Promise<void>>()
  const locks = createFileLocks(removeUnused, report)
  const syncFolder = shared(() => syncPath(folder))
  let prepared: Promise<void> | undefined
  let isClosed = false
  let open = 0

  const pathOf = (file: string) => contentFile(folder, file)

  function prepare(): Promise<void> {
    prepared ??= onDisk(() => createFolders(folder, incoming, isDurable)).catch(
      (error: unknown) => {
        prepared = undefined
        throw error
      },
    )
    return prepared
  }

  async function receive(bytes: AsyncIterable<Uint8Array>, room: SizeLimit): Promise<Arrival> {
    if (isClosed) throw closing()
    const source = bytes[Symbol.asyncIterator]()
    const over = Promise.withResolvers<void>()
    arriving.set(source, over.promise)
    await using undo = new AsyncDisposableStack()
    undo.defer(() => {
      arriving.delete(source)
      over.resolve()
    })
    await prepare()
    const draft = join(incoming, randomBytes(16).toString('hex'))
    let isMoved = false
    undo.defer(() => (isMoved ? undefined : removeFile(draft).catch(report)))
    const onGrow = (size: number) => {
      if (isClosed) throw closing()
      if (size > room.bytes) throw room.refuse()
    }
    const writing = onDisk(() => writeContent(draft, source, { isDurable, onGrow }))
    // A source that is cancelled may throw its own error, or end as if it was complete.
    const file = undo.use(
      await writing.catch((error: unknown) => Promise.reject(isClosed ? closing() : error)),
    )
    if (isClosed) throw closing()
    // An open file needs only one wait for the disk, but a request or an import may hold thousands.
    if (open >= MAX_OPEN_FILES) {
      if (isDurable) await onDisk(() => file.sync())
      file[Symbol.dispose]()
    } else {
      open += 1
      undo.defer(() => {
        open -= 1
      })
    }
    const parts = undo.move()
    return {
      hash: file.hash,
      size: file.size,
      file: file.hash,
      keep: (record) =>
        locks.keep(file.hash, async () => {
          await onDisk(async () => {
            // First the bytes, then the name, which may replace a file that is recorded already.
            if (isDurable) await file.sync()
            renameSync(draft, pathOf(file.hash))
            isMoved = true
            if (isDurable) await syncFolder()
          })
          return await record()
        }),
      [Symbol.asyncDispose]: () => parts.disposeAsync(),
    }
  }

  async function removeUnused(file: string): Promise<void> {
    refuseForeignLink(folder)
    // The refusal of an upload takes as long if its bytes are known: then a name is removed that is not there.
    const path = (await isUsed(file)) ? join(incoming, file) : pathOf(file)
    await onDisk(() => removeFile(path))
  }

  return {
    receive,

    async open(name, size) {
      const path = pathOf(name)
      const file = Bun.file(path)
      // The server looks at the file in the same way when it sends it: by its name, in this thread.
      if (file.size === size && (size > 0 || existsSync(path))) return contentOf(path, file)
      throw new SatchelError(
        'BLOB_DAMAGED',
        'The bytes of this blob are missing or damaged: upload the same bytes again to repair it',
        { cause: new Error(`${path} has ${file.size} bytes instead of ${size}`) },
      )
    },

    remove: async (name) => locks.remove(requireFileName(name)),

    async *list() {
      refuseForeignLink(folder)
      for (const name of await namesIn(folder)) {
        if (FILE_NAME.test(name) && !locks.isKept(name)) yield name
      }
    },

    async check(name, hash, onBytes) {
      try {
        const content = await readContent(pathOf(name), onBytes)
        return content.hash === hash ? 'whole' : 'damaged'
      } catch (error) {
        if (hasErrno(error, 'ENOENT')) return 'missing'
        throw diskFailure(error)
      }
    },

    async [Symbol.asyncDispose]() {
      isClosed = true
      for (const source of arriving.keys()) void source.return?.()
      await Promise.all(arriving.values())
    },
  }
}

/** `createDiskBlobs` where an earlier process may have left uploads unfinished, which are removed. */
export async function openDiskBlobs(folder: string, options: DiskOptions): Promise<BlobStore> {
  await removeUnfinished(folder).catch(options.report)
  return createDiskBlobs(folder, options)
}

async function removeUnfinished(folder: string): Promise<void> {
  const incoming = join(folder, INCOMING)
  for (const path of [folder, incoming]) refuseForeignLink(path)
  for (const name of await namesIn(incoming)) await removeFile(join(incoming, name))
}

/** The path of a file of the store in this folder. */
export function contentFile(folder: string, name: string): string {
  return join(folder, requireFileName(name))
}

const INCOMING = 'incoming'
const FILE_NAME = /^[\da-f]{64}$/

/** Nothing else becomes part of a path (promise 27). */
function requireFileName(name: string): string {
  if (!FILE_NAME.test(name)) throw new Error('not a file of the blob store')
  return name
}

/** A task that callers share: each call is served by a run that begins after it. */
function shared(run: () => Promise<void>): () => Promise<void> {
  let running: Promise<unknown> = Promise.resolve()
  let next: Promise<void> | undefined
  return () =>
    (next ??= running.then(() => {
      next = undefined
      const result = run()
      running = result.catch(() => undefined)
      return result
    }))
}

async function createFolders(folder: string, incoming: string, isDurable: boolean): Promise<void> {
  const isNew = makeFolder(folder) !== undefined
  refuseForeignLink(incoming)
  makeFolder(incoming)
  if (!isDurable || !isNew) return
  await syncPath(folder)
  await syncPath(dirname(folder))
}

/** Read at once by a reader of pieces, in bytes. */
const PIECE_BYTES = 64 * 1024

/** `file` is the part of the file from `begin`. */
function contentOf(path: string, file: Blob, begin = 0): BlobContent {
  const { size } = file
  return {
    size,
    slice: (from, to) => contentOf(path, file.slice(from, to), begin + from),
    stream: () => file.stream(),
    pieces: () => readPieces(path, { atOnce: PIECE_BYTES, begin, end: begin + size }),
    body: () => file,
  }
}

async function namesIn(folder: string): Promise<string[]> {
  // Most databases have no blobs, and then nothing waits for another thread.
  if (!existsSync(folder)) return []
  try {
    return await readdir(folder)
  } catch (error) {
    if (hasErrno(error, 'ENOENT')) return []
    throw diskFailure(error)
  }
}

async function removeFile(path: string): Promise<void> {
  try {
    await unlink(path)
  } catch (error) {
    if (!hasErrno(error, 'ENOENT')) throw error
  }
}

async function onDisk<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw diskFailure(error)
  }
}

/** An error of the file system, translated for the caller; other errors come back as they are. */
export function diskFailure(error: unknown): unknown {
  return error instanceof SatchelError ? error : diskError(error, MESSAGES)
}

const MESSAGES: DiskMessages = {
  BUSY: 'Too many files are open: repeat the request',
  STORAGE_FULL: 'The disk is full: the blob was not stored. Free some space and repeat the request',
  READ_ONLY: 'The data folder is read-only: make it writable for the user of the server',
  STORAGE_FAILED: 'The storage failed: the blob was not stored. The log of the server says more',
}

function closing(): SatchelError {
  return busy('The database is closing: repeat the request')
}

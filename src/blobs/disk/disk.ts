import { randomBytes } from 'node:crypto'
import { closeSync, existsSync, openSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { readdir, unlink } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { Clock } from '../../clock'
import { diskError, type DiskMessages, hasErrno, makeFolder, syncPath } from '../../disk'
import type { Arrival, BlobContent, BlobStore, Room } from '../../domain/store/blob-store'
import { SatchelError } from '../../domain/value/error'
import { type ContentFile, readContent, writeContent } from './content-file'

export interface DiskOptions {
  /** The time at which bytes are stored. */
  readonly clock: Clock
  /** Kept bytes survive power loss. */
  readonly isDurable: boolean
  /** Called with errors that no request waits for. */
  readonly report: (error: unknown) => void
}

/** Files of arrivals that stay open until they are recorded; later ones are synced and closed at once. */
const MOST_OPEN = 64

/**
 * Stores the bytes at a place as the file `<folder>/<last two digits>/<place>`. Uploads are written to
 * `<folder>/incoming` and moved to their place when they are kept.
 */
export function createDiskBlobs(folder: string, options: DiskOptions): BlobStore {
  const { clock, isDurable, report } = options
  const incoming = join(folder, INCOMING)
  const arriving = new Map<AsyncIterator<Uint8Array>, Promise<void>>()
  let prepared: Promise<void> | undefined
  let isClosed = false
  let open = 0

  const shelfOf = (place: string) => join(folder, requirePlace(place).slice(-2))
  const pathOf = (place: string) => join(shelfOf(place), place)
  /** Exists while a place is not recorded yet: after a crash it tells which places to look at. */
  const markOf = (place: string) => join(incoming, place)
  const newPlace = () => `${clock.now().toString(36)}-${randomBytes(12).toString('hex')}`

  /** Creates all folders at once: one at a time would cost every early upload a wait for the disk. */
  function prepare(): Promise<void> {
    prepared ??= onDisk(() => createFolders(folder, isDurable)).catch((error: unknown) => {
      prepared = undefined
      throw error
    })
    return prepared
  }

  async function receive(bytes: AsyncIterable<Uint8Array>, room: Room): Promise<Arrival> {
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
    const draft = join(incoming, newPlace())
    let place: string | undefined
    undo.defer(() => (place === undefined ? removeFile(draft).catch(report) : undefined))
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
    if (open >= MOST_OPEN) {
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
      get place() {
        if (place === undefined) throw new Error('only kept bytes have a place')
        return place
      },
      async keep(record) {
        // It tells the time at which the bytes are kept, however long they took to arrive.
        const path = pathOf((place = newPlace()))
        try {
          await onDisk(() => settle(draft, path, file))
          return await record()
        } catch (error) {
          await Promise.all([removeFile(path), removeFile(draft)]).catch(report)
          throw error
        } finally {
          unmark(place)
        }
      },
      [Symbol.asyncDispose]: () => parts.disposeAsync(),
    }
  }

  /** At once: a name that was never synced waits for no disk, another thread takes as long as a sync. */
  function unmark(place: string): void {
    try {
      rmSync(markOf(place), { force: true })
    } catch (error) {
      report(error)
    }
  }

  /** Moves a complete file to its place; durable when the database begins to refer to it. */
  async function settle(draft: string, path: string, file: ContentFile): Promise<void> {
    closeSync(openSync(markOf(basename(path)), 'w', 0o600))
    renameSync(draft, path)
    if (!isDurable) return
    await file.sync()
    await syncPath(dirname(path))
  }

  return {
    receive,

    async open(place, size) {
      const path = pathOf(place)
      const file = Bun.file(path)
      // The server looks at the file in the same way when it sends it: by its name, in this thread.
      if (file.size === size && (size > 0 || existsSync(path))) return contentOf(file)
      throw new SatchelError(
        'BLOB_DAMAGED',
        'The bytes of this blob are missing or damaged: upload the same bytes again to repair it',
        { cause: new Error(`${path} has ${file.size} bytes instead of ${size}`) },
      )
    },

    remove: (place) =>
      onDisk(async () => {
        await removeFile(pathOf(place))
        // Otherwise bytes that the database has forgotten come back with a power loss.
        if (isDurable && existsSync(shelfOf(place))) await syncPath(shelfOf(place))
      }),

    async *list(before = Number.POSITIVE_INFINITY) {
      for (const shelf of await namesIn(folder)) {
        if (!SHELF.test(shelf)) continue
        for (const place of await namesIn(join(folder, shelf))) {
          if (PLACE.test(place) && storedAt(place) < before) yield place
        }
      }
    },

    async check(place, hash, onBytes) {
      try {
        const content = await readContent(pathOf(place), onBytes)
        return content.hash === hash ? 'whole' : 'damaged'
      } catch (error) {
        if (hasErrno(error, 'ENOENT')) return 'missing'
        throw diskFailure(error)
      }
    },

    async sweep(before, isUsed) {
      for (const name of await namesIn(incoming)) {
        if (storedAt(name) >= before) continue
        if (PLACE.test(name) && existsSync(pathOf(name)) && !(await isUsed(name))) {
          await removeFile(pathOf(name))
        }
        await removeFile(join(incoming, name))
      }
    },

    async [Symbol.asyncDispose]() {
      isClosed = true
      for (const source of arriving.keys()) void source.return?.()
      await Promise.all(arriving.values())
    },
  }
}

const INCOMING = 'incoming'
const SHELF = /^[\da-f]{2}$/
const SHELVES = Array.from({ length: 256 }, (_, n) => n.toString(16).padStart(2, '0'))
/** When the bytes were stored, ms in base 36, and random digits. */
const PLACE = /^[\da-z]{1,10}-[\da-f]{24}$/

/** Nothing else becomes part of a path (promise 27). */
function requirePlace(place: string): string {
  if (!PLACE.test(place)) throw new Error('not a place of the blob store')
  return place
}

/** Files that are not ours are old. */
function storedAt(name: string): number {
  return PLACE.test(name) ? Number.parseInt(name.split('-', 1)[0] ?? '', 36) : 0
}

async function createFolders(folder: string, isDurable: boolean): Promise<void> {
  const isNew = makeFolder(folder) !== undefined
  const found = new Set(readdirSync(folder))
  const missing = [...SHELVES, INCOMING].filter((name) => !found.has(name))
  for (const name of missing) makeFolder(join(folder, name))
  if (isDurable && missing.length > 0) await syncPath(folder)
  if (isDurable && isNew) await syncPath(dirname(folder))
}

function contentOf(file: Blob): BlobContent {
  return {
    size: file.size,
    slice: (begin, end) => contentOf(file.slice(begin, end)),
    stream: () => file.stream(),
    body: () => file,
  }
}

async function namesIn(folder: string): Promise<string[]> {
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
  return new SatchelError('BUSY', 'The database is closing: repeat the request', { retryAfter: 1 })
}

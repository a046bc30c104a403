import { randomBytes } from 'node:crypto'
import { closeSync, existsSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { readdir, unlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Clock } from '../../clock'
import {
  createOwnFile,
  diskError,
  type DiskMessages,
  hasErrno,
  makeFolder,
  refuseForeignLink,
  syncPath,
} from '../../disk'
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

/** The length of a period, ms. */
const PERIOD = 10_000

/**
 * A time in which new places are on the same shelf: uploads share its sync, and one file marks all of
 * them as unrecorded.
 */
interface Period {
  /** When it began, ms. */
  readonly begun: number
  readonly shelf: string
  /** A file that exists until all places of the period are recorded: a sweep checks them after a crash. */
  readonly mark: string
  /** Makes the names on the shelf survive power loss. */
  readonly sync: () => Promise<void>
  /** How many of its places are not recorded yet. */
  pending: number
}

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
  let period: Period | undefined

  const folderOf = (place: string) => join(folder, shelfOf(requirePlace(place)))
  const pathOf = (place: string) => join(folderOf(place), place)

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
    const draft = join(incoming, newPlace(clock.now()))
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
        const now = clock.now()
        const current = await onDisk(async () => enterPeriod(now))
        const path = pathOf((place = newPlace(now, current.shelf)))
        try {
          await onDisk(() => settle(draft, path, file, current))
          return await record()
        } catch (error) {
          await Promise.all([removeFile(path), removeFile(draft)]).catch(report)
          throw error
        } finally {
          leavePeriod(current)
        }
      },
      [Symbol.asyncDispose]: () => parts.disposeAsync(),
    }
  }

  function enterPeriod(now: number): Period {
    if (period === undefined || now < period.begun || now >= period.begun + PERIOD) {
      const place = newPlace(now)
      const mark = join(incoming, place + MARK)
      closeSync(createOwnFile(mark))
      const sync = shared(() => syncPath(folderOf(place)))
      period = { begun: now, shelf: shelfOf(place), mark, sync, pending: 0 }
    }
    period.pending += 1
    return period
  }

  function leavePeriod(left: Period): void {
    left.pending -= 1
    if (left.pending > 0) return
    if (period === left) period = undefined
    try {
      // At once: a name that was never synced waits for no disk, another thread takes as long as a sync.
      rmSync(left.mark, { force: true })
    } catch (error) {
      report(error)
    }
  }

  /** Moves a complete file to its place; durable when the database begins to refer to it. */
  async function settle(
    draft: string,
    path: string,
    file: ContentFile,
    { sync }: Period,
  ): Promise<void> {
    renameSync(draft, path)
    if (!isDurable) return
    await file.sync()
    await sync()
  }

  /** The stored places of the period with this mark. */
  async function placesOfPeriod(mark: string): Promise<string[]> {
    const begun = storedAt(mark)
    const names = await namesIn(folderOf(mark))
    return names.filter((name) => {
      const at = storedAt(name)
      return PLACE.test(name) && at >= begun && at < begun + PERIOD
    })
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
        if (isDurable && existsSync(folderOf(place))) await syncPath(folderOf(place))
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
      for (const path of [folder, incoming]) refuseForeignLink(path)
      for (const name of await namesIn(incoming)) {
        const mark = name.endsWith(MARK) ? name.slice(0, -MARK.length) : ''
        if (PLACE.test(mark)) {
          if (storedAt(mark) + PERIOD > before) continue
          for (const place of await placesOfPeriod(mark)) {
            if (!(await isUsed(place))) await removeFile(pathOf(place))
          }
        } else if (storedAt(name) >= before) continue
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
/** The end of the names of marks. */
const MARK = '.mark'
const SHELF = /^[\da-f]{2}$/
const SHELVES = Array.from({ length: 256 }, (_, n) => n.toString(16).padStart(2, '0'))
/** When the bytes were stored, ms in base 36, and random digits. */
const PLACE = /^[\da-z]{1,10}-[\da-f]{24}$/

function newPlace(now: number, shelf = randomBytes(1).toString('hex')): string {
  return `${now.toString(36)}-${randomBytes(11).toString('hex')}${shelf}`
}

function shelfOf(place: string): string {
  return place.slice(-2)
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
  const entries = readdirSync(folder, { withFileTypes: true })
  for (const entry of entries) if (!entry.isDirectory()) refuseForeignLink(join(folder, entry.name))
  const found = new Set(entries.map(({ name }) => name))
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
  return new SatchelError('BUSY', 'The database is closing: repeat the request', { retryAfter: 1 })
}

import { closeSync, existsSync, openSync, renameSync, unlinkSync } from 'node:fs'
import { unlink } from 'node:fs/promises'
import { syncPath } from '../../disk'
import type { Arrival, BlobStore, Room } from '../../domain/store/blob-store'
import { SatchelError } from '../../domain/value/error'
import { type ContentFile, readContent, writeContent } from './content-file'
import { diskFailure, isMissing, onDisk } from './failure'
import { createFolders } from './folders'
import { createHolds } from './holds'

export interface DiskOptions {
  /** Kept bytes survive power loss once they are acknowledged. */
  readonly isDurable: boolean
  /** Told what went wrong beside any request. */
  readonly report: (error: unknown) => void
}

/** Contents that may be open at once while they wait for their records. */
const MOST_OPEN = 64

/**
 * Contents as files in the folder `folder`, named by hashes that we made and by nothing else. A new
 * one is written beside them and gets its name when it is whole.
 */
export function createDiskBlobs(folder: string, { isDurable, report }: DiskOptions): BlobStore {
  const folders = createFolders(folder, isDurable)
  const holds = createHolds()
  const arriving = new Map<AsyncIterator<Uint8Array>, Promise<void>>()
  let isClosed = false
  let open = 0

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
    await folders.prepare()
    const draft = folders.newDraft()
    let isDraft = true
    undo.defer(() => (isDraft ? removeFile(draft).catch(report) : undefined))
    const grown = (size: number) => {
      if (isClosed) throw closing()
      if (size > room.bytes) throw room.refuse()
    }
    const writing = onDisk(() => writeContent(draft, source, { isDurable, grown }))
    // A source that is told to stop may say in its own words that it broke off, or that this was all.
    const file = undo.use(
      await writing.catch((error: unknown) => Promise.reject(isClosed ? closing() : error)),
    )
    if (isClosed) throw closing()
    // One wait for the disk is enough for the content and its name, but not at the price of all the
    // files that a process may have open: a request or an import may hold contents by the thousand.
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
      keep: (record) =>
        holds.keep(file.hash, {
          place: () =>
            onDisk(() =>
              place(draft, file, () => {
                isDraft = false
              }),
            ),
          record,
          settle: (isNeeded) => settle(file.hash, isNeeded).catch(report),
        }),
      [Symbol.asyncDispose]: () => parts.disposeAsync(),
    }
  }

  /**
   * True when the content is new. It gets its name before it is synced, so that one
   * sync is enough for both: no reader uses it until then. An existing file is
   * replaced: it may be damaged, and the time of a check would reveal the uploads of others.
   */
  async function place(draft: string, file: ContentFile, placed: () => void): Promise<boolean> {
    const path = folders.contentOf(file.hash)
    const wasThere = existsSync(path)
    // Others need the existing file: it is replaced only by a synced one.
    if (wasThere && isDurable) await file.sync()
    closeSync(openSync(folders.markOf(file.hash), 'w', 0o600))
    renameSync(draft, path)
    placed()
    if (!isDurable) return !wasThere
    try {
      if (!wasThere) await file.sync()
      await syncPath(folders.shelfOf(file.hash))
    } catch (error) {
      if (!wasThere) await removeFile(path)
      throw error
    }
    return !wasThere
  }

  async function settle(hash: string, isNeeded: boolean): Promise<void> {
    if (!isNeeded) await removeFile(folders.contentOf(hash))
    if (existsSync(folders.markOf(hash))) unlinkSync(folders.markOf(hash))
  }

  return {
    receive,

    async open(hash, size) {
      const path = folders.contentOf(hash)
      const file = Bun.file(path)
      // What sends the file looks in the same way, by its name and in this thread.
      if (file.size === size && (size > 0 || existsSync(path))) return file
      throw new SatchelError(
        'BLOB_DAMAGED',
        'The bytes of this blob are missing or damaged: upload the same bytes again to repair it',
        { cause: new Error(`${path} has ${file.size} bytes instead of ${size}`) },
      )
    },

    async remove(hash, isUnused) {
      const isRemoved = await holds.unlessKept(hash, async () => {
        if (!(await isUnused())) return false
        await onDisk(() => removeFile(folders.contentOf(hash)))
        return true
      })
      return isRemoved ?? false
    },

    list: () => folders.contents(),

    async check(hash, onBytes) {
      try {
        const content = await readContent(folders.contentOf(hash), onBytes)
        return content.hash === hash ? 'whole' : 'damaged'
      } catch (error) {
        if (isMissing(error)) return 'missing'
        throw diskFailure(error)
      }
    },

    async sweep(isUsed) {
      const { hashes, paths } = await folders.unfinished()
      for (const hash of hashes) {
        if (!(await isUsed(hash))) await removeFile(folders.contentOf(hash))
      }
      for (const path of paths) await removeFile(path)
    },

    async [Symbol.asyncDispose]() {
      isClosed = true
      for (const source of arriving.keys()) void source.return?.()
      await Promise.all(arriving.values())
    },
  }
}

async function removeFile(path: string): Promise<void> {
  try {
    await unlink(path)
  } catch (error) {
    if (!isMissing(error)) throw error
  }
}

function closing(): SatchelError {
  return new SatchelError('BUSY', 'The database is closing: repeat the request', { retryAfter: 1 })
}

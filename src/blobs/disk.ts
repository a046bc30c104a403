import { statSync } from 'node:fs'
import { readdir, rename, stat, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Arrival, BlobStore } from '../domain/blob-store'
import type { Room } from '../domain/blob-upload'
import { SatchelError } from '../domain/error'
import { randomToken } from '../domain/id'
import { type Interruptible, interruptible } from '../domain/interruptible'
import { type Content, makeFolder, readContent, syncFolder, writeContent } from './content-file'
import { diskFailure, isMissing, onDisk } from './failure'
import { createHolds } from './holds'

export interface DiskOptions {
  /** What is kept survives power loss when that is acknowledged. */
  readonly isDurable: boolean
  /** Told what went wrong beside any request. */
  readonly report: (error: unknown) => void
}

/** Where bytes arrive. No content lies in a folder of such a name. */
const INCOMING = 'incoming'
const HASH = /^[\da-f]{64}$/
const SHELF = /^[\da-f]{2}$/
const REST = /^[\da-f]{62}$/

/**
 * Contents as files `<folder>/ab/cd…` (design.md §2), named by hashes that we made and by nothing
 * else. A new one is written in `incoming` and renamed when it is whole. As long as no record needs
 * it, an empty file with its hash lies in `incoming`: after a crash that says where to look.
 */
export function createDiskBlobs(folder: string, { isDurable, report }: DiskOptions): BlobStore {
  const incoming = join(folder, INCOMING)
  const holds = createHolds()
  const arriving = new Map<Interruptible<Uint8Array>, Promise<unknown>>()
  let isClosed = false
  let prepared: Promise<void> | undefined

  const pathOf = (hash: string) => join(shelfOf(hash), requireHash(hash).slice(2))
  const shelfOf = (hash: string) => join(folder, requireHash(hash).slice(0, 2))
  const markOf = (hash: string) => join(incoming, requireHash(hash))

  function prepare(): Promise<void> {
    prepared ??= makeFolder(incoming, isDurable).catch((error: unknown) => {
      prepared = undefined
      throw error
    })
    return prepared
  }

  async function receive(bytes: AsyncIterable<Uint8Array>, room: Room): Promise<Arrival> {
    if (isClosed) throw closing()
    const source = interruptible(bytes)
    const { promise: over, resolve: end } = Promise.withResolvers<void>()
    arriving.set(source, over)
    await using undo = new AsyncDisposableStack()
    undo.defer(() => {
      arriving.delete(source)
      end()
    })
    await onDisk(prepare)
    const path = join(incoming, randomToken(12))
    undo.defer(() => removeFile(path).catch(report))
    const grown = (size: number) => {
      if (size > room.bytes) throw room.refuse()
    }
    const content = await onDisk(() => writeContent(path, source, { isDurable, grown }))
    const parts = undo.move()
    return {
      ...content,
      keep: (record) => keep(path, content, record),
      [Symbol.asyncDispose]: () => parts.disposeAsync(),
    }
  }

  function keep<T>(path: string, content: Content, record: () => Promise<T>): Promise<T> {
    const { hash } = content
    return holds.keep(hash, {
      place: () => onDisk(() => place(path, content)),
      record,
      settle: (isNeeded) => settle(hash, isNeeded).catch(report),
    })
  }

  /** True when the content was not there before. */
  async function place(path: string, { hash, size }: Content): Promise<boolean> {
    const found = await sizeOf(pathOf(hash))
    if (found === size) return false
    await writeFile(markOf(hash), '', { mode: 0o600 })
    await makeFolder(shelfOf(hash), isDurable)
    await rename(path, pathOf(hash))
    try {
      if (isDurable) await syncFolder(shelfOf(hash))
    } catch (error) {
      await removeFile(pathOf(hash))
      throw error
    }
    return found === undefined
  }

  async function settle(hash: string, isNeeded: boolean): Promise<void> {
    if (!isNeeded) await removeFile(pathOf(hash))
    await removeFile(markOf(hash))
  }

  return {
    receive,

    async open(hash, size) {
      // What sends the file opens it in the same way, by name and in this thread.
      const found = statSync(pathOf(hash), { throwIfNoEntry: false })
      if (found?.size === size) return Bun.file(pathOf(hash))
      throw new SatchelError(
        'STORAGE_FAILED',
        'The bytes of this blob are missing or damaged; the log of the server says more',
        { cause: new Error(`${pathOf(hash)} has ${found?.size ?? 'no'} bytes instead of ${size}`) },
      )
    },

    async remove(hash, isUnused) {
      const isRemoved = await holds.unlessKept(hash, async () => {
        if (!(await isUnused())) return false
        await onDisk(() => removeFile(pathOf(hash)))
        return true
      })
      return isRemoved ?? false
    },

    async *list() {
      for (const shelf of await namesIn(folder, SHELF)) {
        for (const rest of await namesIn(join(folder, shelf), REST)) yield shelf + rest
      }
    },

    async check(hash, onBytes) {
      try {
        const content = await readContent(pathOf(hash), onBytes)
        return content.hash === hash ? 'whole' : 'damaged'
      } catch (error) {
        if (isMissing(error)) return 'missing'
        throw diskFailure(error)
      }
    },

    async sweep(isUsed) {
      for (const name of await namesIn(incoming)) {
        if (HASH.test(name) && !(await isUsed(name))) await removeFile(pathOf(name))
        await removeFile(join(incoming, name))
      }
    },

    async [Symbol.asyncDispose]() {
      isClosed = true
      for (const source of arriving.keys()) source.interrupt(closing())
      await Promise.all(arriving.values())
    },
  }
}

/** Nothing else becomes part of a path (promise 27). */
function requireHash(hash: string): string {
  if (!HASH.test(hash)) throw new Error('a content is named by its hash')
  return hash
}

async function removeFile(path: string): Promise<void> {
  try {
    await unlink(path)
  } catch (error) {
    if (!isMissing(error)) throw error
  }
}

async function sizeOf(path: string): Promise<number | undefined> {
  try {
    return (await stat(path)).size
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
}

async function namesIn(folder: string, pattern = /./): Promise<string[]> {
  try {
    return (await readdir(folder)).filter((name) => pattern.test(name))
  } catch (error) {
    if (isMissing(error)) return []
    throw diskFailure(error)
  }
}

function closing(): SatchelError {
  return new SatchelError('BUSY', 'The database is closing: repeat the request', { retryAfter: 1 })
}

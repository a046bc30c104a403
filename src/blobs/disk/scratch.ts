import { closeSync, existsSync, fstatSync, openSync, read, readSync } from 'node:fs'
import { readdir, rm, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '../../clock'
import {
  appendTo,
  createOwnFile,
  diskError,
  type DiskMessages,
  hasErrno,
  makeFolder,
  promised,
  refuseForeignLink,
  syncDescriptor,
  syncPath,
} from '../../disk'
import type { Scratch, ScratchFile, ScratchWriter } from '../../domain/store/scratch'
import { SatchelError } from '../../domain/value/error'
import { randomToken } from '../../domain/value/id'

/**
 * Temporary files in `folder`, which only this user reads; their names begin with the time. `freeOn` gives
 * the size and the free bytes of a disk.
 */
export function createDiskScratch(folder: string, clock: Clock, freeOn = spaceOf): Scratch {
  const pathOf = (name: string) => join(folder, requireName(name))
  const remove = (name: string) => rm(pathOf(name), { force: true })

  async function available(): Promise<number> {
    const { free, total } = await onDisk(async () => {
      makeFolder(folder)
      return await freeOn(folder)
    })
    return free - Math.min(MIN_FREE_BYTES, total * MIN_FREE_SHARE)
  }

  return {
    async create(extension) {
      const name = `${clock.now().toString(36)}-${randomToken(12)}.${extension}`
      return await createWriter(folder, name, { remove: () => remove(name), available })
    },
    available,
    open: async (name) => openFile(pathOf(name)),
    remove,
    async sweep(before, isUsed) {
      if (!existsSync(folder)) return
      refuseForeignLink(folder)
      const names = await readdir(folder).catch((error: unknown) => {
        if (hasErrno(error, 'ENOENT')) return []
        throw error
      })
      const strays = names.filter((name) => createdAt(name) < before && !isUsed(name))
      await Promise.all(
        strays.map((name) => rm(join(folder, name), { recursive: true, force: true })),
      )
    },
  }
}

/** Free bytes of the disk that imports leave to everybody else, and of a small disk this share. */
const MIN_FREE_BYTES = 64 * 2 ** 20
const MIN_FREE_SHARE = 0.05
/** A file asks for the free space after this many bytes. */
const ASK_EVERY_BYTES = 8 * 2 ** 20

/** In bytes. */
interface Space {
  readonly free: number
  readonly total: number
}

async function spaceOf(folder: string): Promise<Space> {
  const { bavail, blocks, bsize } = await statfs(folder)
  return { free: bavail * bsize, total: blocks * bsize }
}

/** Text is written when it has so many UTF-16 units. */
const CHARACTERS_PER_WRITE = 64 * 1024

async function createWriter(
  folder: string,
  name: string,
  { remove, available }: { remove: () => Promise<void>; available: () => Promise<number> },
): Promise<ScratchWriter> {
  const file = await onDisk(async () => {
    makeFolder(folder)
    return createOwnFile(join(folder, name))
  })
  let isOpen = true
  let buffered = ''
  let size = 0
  let sizeWhenAsked = 0
  let isKept = false

  async function flush(): Promise<void> {
    const text = buffered
    buffered = ''
    if (text !== '') await append(Buffer.from(text))
  }

  async function append(bytes: Uint8Array): Promise<void> {
    size += bytes.length
    if (size - sizeWhenAsked >= ASK_EVERY_BYTES) {
      if ((await available()) < bytes.length) {
        throw new SatchelError('STORAGE_FULL', FULL)
      }
      sizeWhenAsked = size
    }
    await onDisk(() => appendTo(file, bytes))
  }

  /** Closing twice is no error. */
  function close(): void {
    if (isOpen) closeSync(file)
    isOpen = false
  }

  return {
    name,
    get size() {
      return size
    },
    async write(piece) {
      if (typeof piece === 'string') {
        buffered += piece
        if (buffered.length >= CHARACTERS_PER_WRITE) await flush()
        return
      }
      await flush()
      await append(piece)
    },
    async finish() {
      await flush()
      await onDisk(() => syncDescriptor(file))
      close()
      await onDisk(() => syncPath(folder))
    },
    async close() {
      await flush()
      close()
    },
    keep() {
      isKept = true
    },
    async [Symbol.asyncDispose]() {
      close()
      if (!isKept) await remove()
    },
  }
}

const BYTES_PER_CHUNK = 64 * 1024

function openFile(path: string): ScratchFile {
  const file = openExisting(path)
  const { size } = fstatSync(file)
  let isOpen = true
  return {
    size,
    read(offset, length) {
      const bytes = Buffer.allocUnsafe(Math.max(0, Math.min(length, size - offset)))
      return bytes.subarray(0, readSync(file, bytes, 0, bytes.length, offset))
    },
    async *stream(begin = 0, end = size) {
      for (let offset = begin; offset < end;) {
        const bytes = Buffer.allocUnsafe(Math.min(BYTES_PER_CHUNK, end - offset))
        const length = await promised<number>((done) =>
          read(file, bytes, 0, bytes.length, offset, done),
        )
        if (length === 0) return
        offset += length
        yield bytes.subarray(0, length)
      }
    },
    [Symbol.dispose]() {
      if (isOpen) closeSync(file)
      isOpen = false
    },
  }
}

function openExisting(path: string): number {
  try {
    return openSync(path, 'r')
  } catch (cause) {
    if (!hasErrno(cause, 'ENOENT')) throw cause
    throw new SatchelError('STORAGE_FAILED', 'A temporary file of an import is missing', { cause })
  }
}

/** When a file of this name was created, ms since the epoch; 0 for a name that Satchel did not give. */
function createdAt(name: string): number {
  const time = /^([\da-z]{1,10})-/.exec(name)?.[1]
  return time === undefined ? 0 : Number.parseInt(time, 36)
}

/** Names come back from the rows of jobs; nothing else becomes part of a path (promise 27). */
function requireName(name: string): string {
  if (!name.startsWith('.') && !/[/\\\0]/.test(name)) return name
  throw new Error('not the name of a temporary file')
}

async function onDisk<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw diskError(error, MESSAGES)
  }
}

const FULL =
  'The disk of the data folder is full, and a temporary copy of the file needs room there: nothing was imported or exported'

const MESSAGES: DiskMessages = {
  STORAGE_FULL: FULL,
  READ_ONLY: 'The data folder cannot be written: nothing was imported or exported',
}

import { closeSync, existsSync, fstatSync, openSync, readSync } from 'node:fs'
import { mkdir, open, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { SatchelError } from '../error'
import { randomToken } from '../id'
import { NEWLINE } from '../json-bytes'
import type { Database } from '../store'
import type { Entry } from './entry'

/** The entries of an import on their way from the file to the tables, one JSON text per line. */
export interface Spool extends Disposable {
  /** In bytes. */
  readonly size: number
  /** Some entries, one at least, from this offset; `next` is the offset to go on from. */
  read(offset: number): { readonly entries: readonly Entry[]; readonly next: number }
}

/** A spool that is being written. Disposing removes it, unless it is to be kept. */
export interface SpoolWriter extends AsyncDisposable {
  readonly name: string
  /** In bytes, once it is complete. */
  readonly size: number
  write(entry: Entry): Promise<void>
  /** Makes the spool complete, and sure to survive a crash. */
  finish(): Promise<void>
  /** From now on somebody else removes it. */
  keep(): void
}

/** Makes a spool in the folder of the database. Throws `STORAGE_FULL` or `READ_ONLY`. */
export async function createSpool(database: Database): Promise<SpoolWriter> {
  const name = `${randomToken(12)}.ndjson`
  const file = await onDisk(async () => {
    await mkdir(folderOf(database), { recursive: true, mode: 0o700 })
    return await open(pathOf(database, name), 'wx', 0o600)
  })
  let buffered = ''
  let size = 0
  let isKept = false

  async function flush(): Promise<void> {
    const bytes = Buffer.from(buffered)
    buffered = ''
    size += bytes.length
    await onDisk(() => file.appendFile(bytes))
  }

  return {
    name,
    get size() {
      return size
    },
    async write(entry) {
      buffered += `${JSON.stringify(entry)}\n`
      if (buffered.length >= WRITE_UNITS) await flush()
    },
    async finish() {
      await flush()
      await onDisk(() => file.sync())
      await file.close()
      await using folder = await open(folderOf(database), 'r')
      await folder.sync()
    },
    keep() {
      isKept = true
    },
    async [Symbol.asyncDispose]() {
      // Closing twice is no error.
      await file.close()
      if (!isKept) await removeSpool(database, name)
    },
  }
}

/** How much is written at once, in UTF-16 units. */
const WRITE_UNITS = 64 * 1024
/** How much is read at once, in bytes: no more than a fraction of a unit of work. */
const READ_BYTES = 16 * 1024

/** Opens a spool for reading, which never waits: it happens within units of work. */
export function openSpool(database: Database, name: string): Spool {
  const path = pathOf(database, name)
  if (!existsSync(path)) throw new SatchelError('STORAGE_FAILED', 'A spooled import is missing')
  const file = openSync(path, 'r')
  const { size } = fstatSync(file)

  function read(offset: number) {
    for (let length = READ_BYTES; ; length *= 2) {
      const bytes = Buffer.allocUnsafe(Math.min(length, size - offset))
      const count = readSync(file, bytes, 0, bytes.length, offset)
      const end = bytes.subarray(0, count).lastIndexOf(NEWLINE)
      if (end >= 0)
        return { entries: parse(bytes.toString('utf8', 0, end)), next: offset + end + 1 }
      if (count < length) throw new SatchelError('STORAGE_FAILED', 'A spooled import is damaged')
    }
  }

  return { size, read, [Symbol.dispose]: () => closeSync(file) }
}

export async function removeSpool(database: Database, name: string): Promise<void> {
  await rm(pathOf(database, name), { force: true })
}

/** Removes what imports left behind that ended before they became a job, or with one that failed. */
export async function removeStraySpools(database: Database): Promise<void> {
  const jobs = await database.read((tx) => tx.jobs.list())
  const kept = new Set(
    jobs.filter((job) => job.failure === null).map(({ state }) => state['spool']),
  )
  const folder = folderOf(database)
  const names = existsSync(folder) ? await readdir(folder) : []
  await Promise.all(
    names.filter((name) => !kept.has(name)).map((name) => removeSpool(database, name)),
  )
}

function parse(lines: string): Entry[] {
  return lines.split('\n').map((line) => JSON.parse(line) as Entry)
}

function folderOf(database: Database): string {
  return join(database.folder, 'imports')
}

function pathOf(database: Database, name: string): string {
  return join(folderOf(database), name)
}

async function onDisk<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? cause.code : undefined
    const failure = FAILURES.find(({ codes }) => codes.some((known) => known === code))
    if (failure === undefined) throw cause
    throw new SatchelError(failure.means, `${failure.sentence}: nothing was imported`, { cause })
  }
}

const FAILURES = [
  { codes: ['ENOSPC', 'EDQUOT'], means: 'STORAGE_FULL', sentence: 'The disk is full' },
  {
    codes: ['EACCES', 'EPERM', 'EROFS'],
    means: 'READ_ONLY',
    sentence: 'The data folder cannot be written',
  },
] as const

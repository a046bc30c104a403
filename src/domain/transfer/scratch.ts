import { existsSync } from 'node:fs'
import { mkdir, open, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { SatchelError } from '../value/error'
import { randomToken } from '../value/id'
import type { Job } from '../job/job'
import type { Database } from '../store/store'

/** A file of a database's own, on the way of an import or an export. */
export interface Scratch extends AsyncDisposable {
  readonly name: string
  readonly path: string
  /** In bytes, once it is complete. */
  readonly size: number
  write(piece: string | Uint8Array): Promise<void>
  /** Makes it complete; with `isDurable` it is sure to survive a crash. */
  finish(isDurable: boolean): Promise<void>
  /** From now on somebody else removes it. */
  keep(): void
}

/**
 * Makes a scratch file, which goes when it is disposed, unless it is to be kept. Throws
 * `STORAGE_FULL` or `READ_ONLY`.
 */
export async function createScratch(database: Database, extension: string): Promise<Scratch> {
  const name = `${randomToken(12)}.${extension}`
  const path = scratchPath(database, name)
  const file = await onDisk(async () => {
    await mkdir(folderOf(database), { recursive: true, mode: 0o700 })
    return await open(path, 'wx', 0o600)
  })
  let buffered = ''
  let size = 0
  let isKept = false

  async function flush(): Promise<void> {
    const text = buffered
    buffered = ''
    if (text !== '') await append(Buffer.from(text))
  }

  async function append(bytes: Uint8Array): Promise<void> {
    size += bytes.length
    await onDisk(() => file.appendFile(bytes))
  }

  return {
    name,
    path,
    get size() {
      return size
    },
    async write(piece) {
      if (typeof piece === 'string') {
        buffered += piece
        if (buffered.length >= WRITE_UNITS) await flush()
        return
      }
      await flush()
      await append(piece)
    },
    async finish(isDurable) {
      await flush()
      if (isDurable) await onDisk(() => file.sync())
      await file.close()
      if (!isDurable) return
      await using folder = await open(folderOf(database), 'r')
      await folder.sync()
    },
    keep() {
      isKept = true
    },
    async [Symbol.asyncDispose]() {
      // Closing twice is no error.
      await file.close()
      if (!isKept) await removeScratch(database, name)
    },
  }
}

/** How much text is written at once, in UTF-16 units. */
const WRITE_UNITS = 64 * 1024

export function scratchPath(database: Database, name: string): string {
  return join(folderOf(database), name)
}

export async function removeScratch(database: Database, name: string): Promise<void> {
  await rm(scratchPath(database, name), { force: true })
}

/** Removes what was left behind by what ended before it became a job, or with one that failed. */
export async function removeStrayScratch(database: Database): Promise<void> {
  const jobs = await database.read((tx) => tx.jobs.list())
  const kept = new Set(jobs.flatMap((job) => (job.failure === null ? namesIn(job) : [])))
  const folder = folderOf(database)
  const names = existsSync(folder) ? await readdir(folder) : []
  await Promise.all(
    names.filter((name) => !kept.has(name)).map((name) => removeScratch(database, name)),
  )
}

function namesIn({ state }: Job): unknown[] {
  return [state['spool'], state['archive']]
}

function folderOf(database: Database): string {
  return join(database.folder, 'imports')
}

async function onDisk<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? cause.code : undefined
    const failure = FAILURES.find(({ codes }) => codes.some((known) => known === code))
    if (failure === undefined) throw cause
    throw new SatchelError(failure.means, failure.sentence, { cause })
  }
}

const FAILURES = [
  {
    codes: ['ENOSPC', 'EDQUOT'],
    means: 'STORAGE_FULL',
    sentence:
      'The disk is full, on which the data folder needs room for the file while it is read: nothing was imported or exported',
  },
  {
    codes: ['EACCES', 'EPERM', 'EROFS'],
    means: 'READ_ONLY',
    sentence: 'The data folder cannot be written: nothing was imported or exported',
  },
] as const

import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  rmdirSync,
  rmSync,
  statSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import process from 'node:process'
import type { Config } from '../config/config'
import { diskError, hasErrno, isPrivateFolder, isWritable, makeFolder } from '../disk'
import { SatchelError } from '../domain/value/error'
import { serverLog } from '../log/log'
import { lockFolder } from '../sqlite/lock'
import { createAnnouncement, type Holder, removeHolder } from './holder'

/** A folder whose lock this process holds: until it is disposed no other one opens it (design.md §2). */
export interface HeldFolder extends Disposable {
  readonly path: string
  /** Tells other processes who holds it. Throws `READ_ONLY`. */
  announce(holder: Holder): void
}

/**
 * Locks the data folder of `config`, which is created if it does not exist, or a new one in memory.
 * Returns undefined when another process holds it. Throws `READ_ONLY` or `STORAGE_FULL`.
 */
export function takeFolder(config: Pick<Config, 'memory' | 'data'>): HeldFolder | undefined {
  using stack = new DisposableStack()
  const created = config.memory ? undefined : createFolder(config.data)
  const path = config.memory ? stack.use(createMemoryFolder()).path : config.data
  if (created !== undefined) stack.defer(() => removeEmpty(path, created))
  const lock = lockFolder(path)
  if (lock === undefined) return undefined
  stack.use(lock)
  stack.defer(() => clearUnused(path, created !== undefined))
  stack.defer(() => removeHolder(path))
  const announcement = stack.use(createAnnouncement(path, (error) => cannotUse(path, error)))
  const owned = stack.move()
  return {
    path,
    announce: (holder) => announcement.put(holder),
    [Symbol.dispose]: () => owned.dispose(),
  }
}

/** Returns the first folder on the path that did not exist, undefined when all did. */
function createFolder(path: string): string | undefined {
  try {
    const created = makeFolder(path)
    if (created === undefined) closeToOthers(path)
    return created
  } catch (error) {
    throw cannotUse(path, error)
  }
}

/**
 * Makes an existing data folder accessible to its owner only (design.md §2), or refuses one that
 * every user may write and that holds other things or belongs to another user.
 */
function closeToOthers(path: string): void {
  const { mode, uid } = statSync(path)
  if ((mode & 0o077) === 0) return
  const user = process.geteuid?.()
  const isOurs = readdirSync(path).every((name) => OUR_NAMES.test(name))
  if (isOurs && (user === uid || user === 0)) {
    // A file system without modes ignores or refuses this, and cannot be more private.
    tryTo(() => chmodSync(path, mode & 0o700))
    serverLog.info('The data folder is now accessible to its owner only', { folder: path })
  } else if ((mode & 0o002) !== 0) {
    throw new SatchelError(
      'READ_ONLY',
      `Every user of this machine may write the folder ${path}: name a folder inside it with --data, or make it writable for the user of the server only`,
    )
  }
}

/** The names in a data folder (design.md §2), and one that a file system of its own has. */
const OUR_NAMES =
  /^(?:(?:lock|server)\.sqlite|holder\.json|control\.sock|databases$|acme$|lost\+found$)/

function tryTo(work: () => void): void {
  try {
    work()
  } catch {
    // The folder stays as it is.
  }
}

/** Removes what is of no use without a database: also our files if this process has made them. */
function clearUnused(path: string, isCreated: boolean): void {
  const databases = join(path, 'databases')
  try {
    if (existsSync(databases)) rmdirSync(databases)
    if (!isCreated) return
    for (const name of ['server.sqlite', 'lock.sqlite']) rmSync(join(path, name), { force: true })
  } catch {
    // The folder has a database.
  }
}

/** Removes the folder and its parents up to `first`, as far as they are empty. */
function removeEmpty(path: string, first: string): void {
  try {
    for (let folder = path; folder.startsWith(first); folder = dirname(folder)) rmdirSync(folder)
  } catch {
    // The folder holds a database, or a file of another program.
  }
}

function cannotUse(path: string, cause: unknown): unknown {
  if (cause instanceof SatchelError) return cause
  if (hasErrno(cause, 'EEXIST', 'ENOTDIR')) {
    return new SatchelError('READ_ONLY', `The data folder ${path} is not a folder`, { cause })
  }
  const hint = 'choose another with --data, or make its parent writable for this user'
  const { STORAGE_FULL } = diskMessages(path)
  return diskError(cause, {
    STORAGE_FULL,
    READ_ONLY: `The data folder ${path} cannot be created: ${hint}`,
  })
}

/** The beginning of the names of folders that a restore has not completed. */
export const STAGING = '.restoring-'

/** Throws `STORAGE_FAILED` for a data folder in which a restore was interrupted. */
export function requireRestored(folder: string): void {
  if (!isHalfRestored(folder)) return
  throw new SatchelError(
    'STORAGE_FAILED',
    `A restore to ${folder} was interrupted: repeat satchel restore, which begins anew, or remove the folder`,
  )
}

/** The databases come last: with them it is complete. */
export function isHalfRestored(folder: string): boolean {
  return (
    !existsSync(join(folder, 'databases')) &&
    readdirSync(folder).some((name) => name.startsWith(STAGING))
  )
}

/** The errors of a full or read-only disk as users of the folder read them. */
export function diskMessages(path: string) {
  return {
    STORAGE_FULL: `The disk of the data folder ${path} is full: free some space`,
    READ_ONLY: `The data folder ${path} cannot be written: make it writable for this user or choose another with --data`,
  }
}

/** A folder in memory, or among the temporary files, that is removed when it is disposed. */
export interface MemoryFolder extends Disposable {
  readonly path: string
}

const PREFIX = 'satchel-memory-'

/**
 * A data folder that exists as long as its process (design.md §2). It is removed however the process
 * ends, except by kill -9: then the next process that creates such a folder removes it.
 */
export function createMemoryFolder(
  parents: readonly string[] = ['/dev/shm', tmpdir()],
): MemoryFolder {
  const parent = parents.find(isWritable) ?? tmpdir()
  removeAbandoned(parent)
  const path = mkdtempSync(join(parent, PREFIX))
  const remove = () => rmSync(path, { recursive: true, force: true })
  process.once('exit', remove)
  return {
    path,
    [Symbol.dispose]() {
      process.off('exit', remove)
      remove()
    },
  }
}

/** `holder.json` is written after the lock was taken: if the lock is free now, its process is gone. */
function removeAbandoned(parent: string): void {
  for (const name of readdirSync(parent)) {
    const path = join(parent, name)
    if (name.startsWith(PREFIX) && isPrivateFolder(path) && isAbandoned(path)) {
      rmSync(path, { recursive: true, force: true })
    }
  }
}

function isAbandoned(path: string): boolean {
  if (!existsSync(join(path, 'holder.json'))) return false
  try {
    using lock = lockFolder(path)
    return lock !== undefined
  } catch {
    return false
  }
}

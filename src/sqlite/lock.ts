import { type Database, SQLiteError } from 'bun:sqlite'
import { accessSync, constants, statSync } from 'node:fs'
import { join } from 'node:path'
import { diskError } from '../disk'
import { SatchelError } from '../domain/value/error'
import { keepPrivate, openDatabaseFile } from './private-file'

/**
 * Takes the data folder for this process until disposed, or returns undefined when another process
 * has it. SQLite's file lock is freed by the kernel however the holder ends, and means the same in
 * every container that shares the folder, which a file with a process id does not (design.md §2).
 *
 * Throws `READ_ONLY` with this sentence when the folder cannot be written.
 */
export function lockFolder(
  folder: string,
  readOnly = `The data folder ${folder} cannot be written: make it writable for this user or choose another with --data`,
): Disposable | undefined {
  let db: Database | undefined
  const file = join(folder, 'lock.sqlite')
  try {
    keepPrivate(file)
    const found = inodeOf(file)
    db = openDatabaseFile(file, 'create')
    // SQLite would open it for reading, and then its exclusive lock excludes no process.
    accessSync(folder, constants.W_OK)
    accessSync(file, constants.W_OK)
    db.run('PRAGMA busy_timeout = 0')
    db.run('PRAGMA journal_mode = MEMORY')
    db.run('BEGIN EXCLUSIVE')
    if (inodeOf(file) !== found) {
      // The holder has just removed the file with an unused folder: this lock would exclude no process.
      db.close()
      return undefined
    }
  } catch (error) {
    db?.close()
    if (isHeld(error)) return undefined
    throw cannotLock(readOnly, error)
  }
  const held = db
  return { [Symbol.dispose]: () => held.close() }
}

/** True while another process has the data folder. Nothing is written, so that any user who reads it may ask. */
export function isFolderLocked(folder: string): boolean {
  const file = join(folder, 'lock.sqlite')
  if (statSync(file, { throwIfNoEntry: false }) === undefined) return false
  try {
    using db = openDatabaseFile(file, 'read')
    db.run('PRAGMA busy_timeout = 0')
    using tables = db.prepare('SELECT count(*) FROM sqlite_schema')
    tables.get()
    return false
  } catch (error) {
    return isHeld(error)
  }
}

function inodeOf(file: string): number | undefined {
  return statSync(file, { throwIfNoEntry: false })?.ino
}

function isHeld(error: unknown): boolean {
  return error instanceof SQLiteError && (error.code ?? '').startsWith('SQLITE_BUSY')
}

function cannotLock(message: string, error: unknown): unknown {
  const isRefused =
    error instanceof SQLiteError && /^SQLITE_(READONLY|CANTOPEN|PERM)/.test(error.code ?? '')
  if (isRefused) return new SatchelError('READ_ONLY', message, { cause: error })
  return diskError(error, { READ_ONLY: message })
}

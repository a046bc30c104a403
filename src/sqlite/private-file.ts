import { constants as sqlite, Database, SQLiteError } from 'bun:sqlite'
import { chmodSync, closeSync, existsSync, lstatSync, realpathSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { createOwnFile, worksForAnother } from '../disk'
import { SatchelError } from '../domain/value/error'

/**
 * Makes a database file one that only this user reads, before SQLite opens it: its log gets the
 * same mode (design.md §2). An existing file is not opened, for that would drop SQLite's locks.
 */
export function keepPrivate(file: string): void {
  try {
    if (statsOf(file) === undefined) closeSync(createOwnFile(file))
    // The owner of the folder could put a link in the place of a file before its mode is changed.
    if (worksForAnother(file)) return
    for (const part of [file, `${file}-wal`, `${file}-shm`]) {
      const stats = statsOf(part)
      if (stats?.isFile() && (stats.mode & 0o077) !== 0) chmodSync(part, 0o600)
    }
  } catch {
    // A file system without modes cannot be more private; SQLite reports any other failure.
  }
}

/** The bytes of a file, 0 when there is none. */
export function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0
}

function statsOf(path: string) {
  return lstatSync(path, { throwIfNoEntry: false })
}

const FLAGS = {
  create: sqlite.SQLITE_OPEN_READWRITE | sqlite.SQLITE_OPEN_CREATE,
  write: sqlite.SQLITE_OPEN_READWRITE,
  read: sqlite.SQLITE_OPEN_READONLY,
}

/**
 * Where SQLite keeps the index of a write-ahead log, for all connections of a database alike: in the file `-shm`,
 * which other processes share, or in the memory of this process, when the disk has no room for that file. `none`: the
 * file has no log and nobody changes it, as in a backup, and no file is made beside it.
 */
export type LogIndex = 'file' | 'memory' | 'none'

const QUERIES = { memory: 'vfs=unix-excl', none: 'immutable=1' }

/**
 * Opens a database file, which must not be a link: SQLite would follow it, and create what it leads to. Links
 * to its folder are resolved before. Throws `STORAGE_FAILED` for a link, and the errors of SQLite.
 */
export function openDatabaseFile(
  file: string,
  mode: keyof typeof FLAGS,
  index: LogIndex = 'file',
): Database {
  try {
    // Without a folder SQLite says why.
    const folder = existsSync(dirname(file)) ? realpathSync(dirname(file)) : dirname(file)
    const real = join(folder, basename(file))
    const flags = FLAGS[mode] | sqlite.SQLITE_OPEN_NOFOLLOW
    if (index === 'file') return new Database(real, flags)
    const { href } = pathToFileURL(real)
    return new Database(`${href}?${QUERIES[index]}`, flags | sqlite.SQLITE_OPEN_URI)
  } catch (error) {
    if (!(error instanceof SQLiteError) || error.code !== 'SQLITE_CANTOPEN_SYMLINK') throw error
    throw new SatchelError(
      'STORAGE_FAILED',
      `${basename(file)} is a link, which is not followed: put the file itself there`,
      { cause: error },
    )
  }
}

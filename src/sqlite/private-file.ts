import { chmodSync, closeSync, lstatSync, openSync } from 'node:fs'
import { inheritOwner } from '../disk'

/**
 * Makes a database file one that only this user reads, before SQLite opens it: its log gets the
 * same mode (design.md §2). An existing file is not opened, for that would drop SQLite's locks.
 */
export function keepPrivate(file: string): void {
  try {
    if (statsOf(file) === undefined) {
      closeSync(openSync(file, 'wx', 0o600))
      inheritOwner(file)
    }
    for (const part of [file, `${file}-wal`, `${file}-shm`]) {
      const stats = statsOf(part)
      // A link would lead to a file that is not ours.
      if (stats?.isFile() && (stats.mode & 0o077) !== 0) chmodSync(part, 0o600)
    }
  } catch {
    // A file system without modes cannot be more private; SQLite reports any other failure.
  }
}

function statsOf(path: string) {
  return lstatSync(path, { throwIfNoEntry: false })
}

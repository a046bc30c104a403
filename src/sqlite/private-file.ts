import { chmodSync, closeSync, openSync, statSync } from 'node:fs'

/**
 * Makes a database file one that only this user reads, before SQLite opens it: its log gets the
 * same mode (design.md §2). An existing file is not opened, for that would drop SQLite's locks.
 */
export function keepPrivate(file: string): void {
  try {
    if (!exists(file)) closeSync(openSync(file, 'wx', 0o600))
    for (const part of [file, `${file}-wal`, `${file}-shm`]) {
      if (exists(part) && (statSync(part).mode & 0o077) !== 0) chmodSync(part, 0o600)
    }
  } catch {
    // A file system without modes cannot be more private; SQLite reports any other failure.
  }
}

function exists(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false }) !== undefined
}

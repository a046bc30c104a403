import { accessSync, constants, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { lockFolder } from '../sqlite/lock'

/** A folder in memory, or where temporary files are, that is gone when it is disposed. */
export interface MemoryFolder extends Disposable {
  readonly path: string
}

const PREFIX = 'satchel-memory-'

/**
 * A data folder for one process and no longer (design.md §2). It goes with the process however that
 * ends, except by kill -9: then the next one that makes such a folder clears it away.
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

/** Who wrote `holder.json` had the lock before: if it is free now, they are gone. */
function removeAbandoned(parent: string): void {
  for (const name of readdirSync(parent)) {
    const path = join(parent, name)
    if (name.startsWith(PREFIX) && existsSync(join(path, 'holder.json')) && isFree(path)) {
      rmSync(path, { recursive: true, force: true })
    }
  }
}

function isFree(path: string): boolean {
  try {
    using lock = lockFolder(path)
    return lock !== undefined
  } catch {
    // Of another user.
    return false
  }
}

function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK)
    return true
  } catch {
    return false
  }
}

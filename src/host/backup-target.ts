import type { Target } from '../backups/target'
import { makeFolder } from '../disk'
import { SatchelError } from '../domain/value/error'
import { lockFolder } from '../sqlite/lock'
import { checkStructure } from '../sqlite/shared-worker'

/**
 * Keeps other processes from writing to a folder with backups until it is disposed; a bucket has no lock. Throws
 * `CONFLICT` while another one does, and `READ_ONLY`.
 */
export function holdTarget({ name, fileOf }: Target): Disposable {
  if (fileOf === undefined) return { [Symbol.dispose]() {} }
  makeFolder(name)
  const lock = lockFolder(name)
  if (lock !== undefined) return lock
  throw new SatchelError(
    'CONFLICT',
    `Another backup is being written to ${name}: repeat the command when it has ended`,
  )
}

/** The damage in the structure of a database file of a backup, in SQLite's words. */
export function damageIn(file: string): Promise<readonly string[]> {
  return checkStructure({ file, durability: 'none', index: 'none' })
}

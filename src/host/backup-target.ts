import type { Target } from '../backups/target'
import { SatchelError } from '../domain/value/error'
import { lockFolderSoon } from '../sqlite/file-task'
import { checkStructure } from '../sqlite/file-task'

/**
 * Keeps other processes from writing to a folder with backups until it is disposed; a bucket has no lock. Throws
 * `CONFLICT` while another one does, and `READ_ONLY`.
 */
export async function holdTarget(target: Target): Promise<AsyncDisposable> {
  const { name, fileOf } = target
  if (fileOf === undefined) return { async [Symbol.asyncDispose]() {} }
  await target.prepare()
  const lock = await lockFolderSoon(name)
  if (lock !== undefined) return lock
  throw new SatchelError(
    'CONFLICT',
    `Another backup is being written to ${name}: repeat the command when it has ended`,
  )
}

/** The damage in the structure of a database file of a backup, in SQLite's words. The signal ends the search. */
export function damageIn(file: string, signal?: AbortSignal): Promise<readonly string[]> {
  return checkStructure(file, 'none', signal)
}

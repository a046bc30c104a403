import type { Migration } from '../../migrations/sqlite/index'
import { type ErrorCode, SatchelError } from '../domain/value/error'
import { openConnection } from './connection'
import type { Durability } from './durability'
import { openFailure } from './failure'
import { lockFolder } from './lock'
import { migrateFile, writeCopy } from './prepare'
import { type LogIndex, openDatabaseFile } from './private-file'

declare const self: Worker

/**
 * Work on the whole of a file that is not served meanwhile; a check of one that may be; or the lock of a folder on a
 * disk that may hang, which this thread holds until it is told `release`.
 */
export type FileTask =
  | WorkOnFile
  | { readonly kind: 'check'; readonly file: string; readonly index: LogIndex }
  | { readonly kind: 'lock'; readonly folder: string }
  | 'release'

type WorkOnFile = { readonly file: string; readonly durability: Durability } & (
  | { readonly kind: 'migrate'; readonly migrations: readonly Migration[] }
  /** Writes the file anew as `draft`, and saves and removes its log. */
  | { readonly kind: 'rewrite'; readonly draft: string }
)

export interface FileOutcome {
  /** The damage that a check has found, in SQLite's words. */
  readonly damage?: readonly string[]
  /** Another process has the lock. */
  readonly isTaken?: boolean
  /** Absent when the work is done; else the file is as it was. */
  readonly failure?: { readonly code: ErrorCode; readonly message: string }
}

let lock: Disposable | undefined

/** Takes one task: a large file takes minutes. */
self.addEventListener('message', ({ data }: MessageEvent<FileTask>) => {
  self.postMessage(perform(data))
})

function perform(task: FileTask): FileOutcome {
  if (task === 'release') {
    lock?.[Symbol.dispose]()
    return {}
  }
  if (task.kind === 'check') return { damage: check(task.file, task.index) }
  return task.kind === 'lock' ? take(task.folder) : work(task)
}

/** SQLite stops at this many. */
const MAX_FAULTS = 1_000

/** The writer goes on meanwhile, in a log that grows. */
function check(file: string, index: LogIndex): string[] {
  try {
    using db = openDatabaseFile(file, 'read', index)
    db.run('PRAGMA busy_timeout = 5000')
    using statement = db.prepare<{ integrity_check: string }, []>(
      `PRAGMA integrity_check(${MAX_FAULTS})`,
    )
    const found = statement.all().map((row) => row.integrity_check)
    return found.length === 1 && found[0] === 'ok' ? [] : found
  } catch (error) {
    return [error instanceof Error ? error.message : String(error)]
  }
}

function take(folder: string): FileOutcome {
  try {
    const readOnly = `${folder} cannot be written: make it writable for this user, or name another folder`
    lock = lockFolder(folder, readOnly)
    return { isTaken: lock === undefined }
  } catch (error) {
    const { code, message } = error instanceof SatchelError ? error : openFailure(error, folder)
    return { failure: { code, message } }
  }
}

function work(task: WorkOnFile): FileOutcome {
  const { file, durability } = task
  try {
    const connection = openConnection(file, 'write', durability)
    try {
      if (task.kind === 'migrate') migrateFile(connection, file, task.migrations)
      else writeCopy(connection, task.draft)
    } finally {
      connection.close()
    }
    return {}
  } catch (error) {
    const { code, message } = openFailure(error, file)
    return { failure: { code, message } }
  }
}

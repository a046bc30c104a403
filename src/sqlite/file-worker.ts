import type { Migration } from '../../migrations/sqlite/index'
import { type ErrorCode, SatchelError } from '../domain/value/error'
import { openConnection } from './connection'
import type { Durability } from './durability'
import { openFailure } from './failure'
import { lockFolder } from './lock'
import { migrateFile, writeCopy } from './prepare'

declare const self: Worker

/**
 * Work on the whole of a file that is not served meanwhile; or the lock of a folder on a disk that may hang, which
 * this thread holds until it is told `release`.
 */
export type FileTask = WorkOnFile | { readonly kind: 'lock'; readonly folder: string } | 'release'

type WorkOnFile = { readonly file: string; readonly durability: Durability } & (
  | { readonly kind: 'migrate'; readonly migrations: readonly Migration[] }
  /** Writes the file anew as `draft`, and saves and removes its log. */
  | { readonly kind: 'rewrite'; readonly draft: string }
)

export interface FileOutcome {
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
  return task.kind === 'lock' ? take(task.folder) : work(task)
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

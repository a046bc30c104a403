import type { Migration } from '../../migrations/sqlite/index'
import type { ErrorCode } from '../domain/value/error'
import { openConnection } from './connection'
import type { Durability } from './durability'
import { openFailure } from './failure'
import { migrateFile, writeCopy } from './prepare'

declare const self: Worker

/** Work on the whole of a file that is not served meanwhile. */
export type FileTask = { readonly file: string; readonly durability: Durability } & (
  | { readonly kind: 'migrate'; readonly migrations: readonly Migration[] }
  /** Writes the file anew as `draft`, and saves and removes its log. */
  | { readonly kind: 'rewrite'; readonly draft: string }
)

export interface FileOutcome {
  /** Absent when the work is done; else the file is as it was. */
  readonly failure?: { readonly code: ErrorCode; readonly message: string }
}

/** Takes one task: a large file takes minutes. */
self.addEventListener('message', ({ data }: MessageEvent<FileTask>) => {
  self.postMessage(work(data))
})

function work(task: FileTask): FileOutcome {
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

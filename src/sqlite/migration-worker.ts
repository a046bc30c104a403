import type { Migration } from '../../migrations/sqlite/index'
import type { ErrorCode } from '../domain/value/error'
import { openConnection } from './connection'
import type { Durability } from './durability'
import { openFailure } from './failure'
import { migrateFile } from './prepare'

declare const self: Worker

export interface MigrationTask {
  readonly file: string
  readonly durability: Durability
  readonly migrations: readonly Migration[]
}

export interface MigrationOutcome {
  /** Absent when the file is migrated; else it is as it was. */
  readonly failure?: { readonly code: ErrorCode; readonly message: string }
}

/** Migrates one file: copying and changing a large one takes minutes. */
self.addEventListener('message', ({ data }: MessageEvent<MigrationTask>) => {
  self.postMessage(migrate(data))
})

function migrate({ file, durability, migrations }: MigrationTask): MigrationOutcome {
  try {
    const connection = openConnection(file, 'write', durability)
    try {
      migrateFile(connection, file, migrations)
    } finally {
      connection.close()
    }
    return {}
  } catch (error) {
    const { code, message } = openFailure(error, file)
    return { failure: { code, message } }
  }
}

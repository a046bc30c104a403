import { existsSync } from 'node:fs'
import { type Migration, migrations as ours } from '../../migrations/sqlite/index'
import type { Durability } from './durability'
import { runFileTask } from './file-task'
import { versionBefore } from './prepare'
import { openDatabaseFile } from './private-file'

/**
 * Migrates the file of an earlier version in a thread of its own, so that other databases are served
 * meanwhile; does nothing when there is no file or it is not older. `begins` is called with its version.
 * Throws what `openDatabase` throws; then the file is as it was.
 */
export async function migrateApart(
  file: string,
  durability: Durability,
  migrations: readonly Migration[] = ours,
  begins: (version: string) => void,
): Promise<void> {
  const version = olderVersion(file, migrations)
  if (version === undefined) return
  begins(version)
  await runFileTask({ kind: 'migrate', file, durability, migrations })
}

/** The version of the file when migrations are missing. Faults are reported when it is opened. */
function olderVersion(file: string, migrations: readonly Migration[]): string | undefined {
  if (!existsSync(file)) return undefined
  try {
    // A connection that only reads leaves the log to the one that serves the file.
    using db = openDatabaseFile(file, 'read')
    return versionBefore(db, migrations)
  } catch {
    return undefined
  }
}

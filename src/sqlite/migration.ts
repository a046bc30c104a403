import { existsSync } from 'node:fs'
import { type Migration, migrations as ours } from '../../migrations/sqlite/index'
import { SatchelError } from '../domain/value/error'
import type { Durability } from './durability'
import type { MigrationOutcome, MigrationTask } from './migration-worker'
import { versionBefore } from './prepare'
import { openDatabaseFile } from './private-file'

/** In the executable the worker has its path below the root of the bundle (build.ts). */
const WORKER = new URL(
  import.meta.url.includes('/$bunfs/')
    ? './src/sqlite/migration-worker.ts'
    : './migration-worker.ts',
  import.meta.url,
).href

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
  const worker = new Worker(WORKER)
  try {
    const { failure } = await askWorker(worker, { file, durability, migrations })
    if (failure !== undefined) throw new SatchelError(failure.code, failure.message)
  } finally {
    worker.terminate()
  }
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

function askWorker(worker: Worker, task: MigrationTask): Promise<MigrationOutcome> {
  return new Promise((resolve, reject) => {
    worker.addEventListener('message', ({ data }: MessageEvent<MigrationOutcome>) => resolve(data))
    worker.addEventListener('error', (event) => {
      reject(new Error('The migration failed', { cause: event.error ?? event.message }))
    })
    worker.postMessage(task)
  })
}

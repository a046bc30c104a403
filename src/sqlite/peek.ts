import { existsSync } from 'node:fs'
import { SatchelError } from '../domain/value/error'
import { openDatabaseFile } from './private-file'

/** A few facts of the file of a database that is not open. */
interface Peek {
  /** ms since the epoch. */
  readonly latestTime: number
  readonly stoppedJobs: number
}

/**
 * Reads them without migrating, repairing or locking anything. Throws the errors of SQLite, and `STORAGE_FAILED` for a
 * file without a database.
 */
export function peek(file: string): Peek {
  // A log that was not written back can only be read with an index beside it, which this would create.
  using db = openDatabaseFile(file, 'read', existsSync(`${file}-wal`) ? 'file' : 'none')
  using database = db.prepare<{ latestTime: number }, []>(
    'SELECT latest_time AS latestTime FROM database',
  )
  const row = database.get()
  if (row === null) throw new SatchelError('STORAGE_FAILED', 'it is empty')
  using jobs = db.prepare<{ stoppedJobs: number }, []>(
    'SELECT count(*) AS stoppedJobs FROM jobs WHERE failure IS NOT NULL',
  )
  return { ...row, ...jobs.get()! }
}

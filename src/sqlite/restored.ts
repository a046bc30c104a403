import { Database as SqliteDatabase, type Database } from 'bun:sqlite'
import { migrations } from '../../migrations/sqlite/index'
import type { ErasedUser } from '../domain/store/copy'
import { SatchelError } from '../domain/value/error'
import { randomToken } from '../domain/value/id'
import { openConnection } from './connection'
import { openFailure } from './failure'
import { stepText } from './log-file'
import { migrateFile } from './prepare'
import { openDatabaseFile } from './private-file'

/**
 * Makes the restored database in this file, which is not open, one that goes on from its backup: revisions that
 * were given out after it are unknown, so that their clients fetch everything anew, and what was sent or used after
 * it is neither sent nor used again. Migrates the file of an earlier version. Throws `NEWER_DATA`, and
 * `STORAGE_FAILED` for a file that others have added to.
 */
export function renewRestored(file: string, { revokesLogins }: { revokesLogins: boolean }): void {
  try {
    const connection = openConnection(file, 'write', 'full')
    try {
      const { db } = connection
      db.run('PRAGMA trusted_schema = OFF')
      requireOwnSchema(db)
      migrateFile(connection, file, migrations)
      db.transaction(() => {
        beginRun(db)
        for (const table of FORGOTTEN) db.run(`DELETE FROM ${table}`)
        // Their files are temporary, and in no backup.
        db.run("DELETE FROM jobs WHERE kind = 'import'")
        if (revokesLogins) for (const table of LOGINS) db.run(`DELETE FROM ${table}`)
      })()
      db.run('PRAGMA wal_checkpoint(TRUNCATE)')
    } finally {
      connection.close()
    }
  } catch (error) {
    throw openFailure(error, file)
  }
}

/** The ids of the users in the file, which is not open, whose life is one of these. */
export function findErasedUsers(file: string, erased: readonly ErasedUser[]): string[] {
  try {
    using db = openDatabaseFile(file, 'write')
    using user = db.prepare<{ id: string }, [number, number]>(
      'SELECT id FROM users WHERE number = ? AND created = ?',
    )
    return erased.flatMap(({ number, created }) => user.get(number, created)?.id ?? [])
  } catch (error) {
    throw openFailure(error, file)
  }
}

/** Codes and states that may have been used since, mails that may have been sent. */
const FORGOTTEN = ['codes', 'spent_states', 'mails', 'refresh_uses']
const LOGINS = ['keys', 'refresh_tokens']

/** With a revision of its own, because the next start begins another run where this one ends. */
function beginRun(db: Database): void {
  using counters = db.prepare<{ first: number }, []>('SELECT revision AS first FROM database')
  const { first } = counters.get() ?? { first: 0 }
  db.run('UPDATE database SET epoch = ?, revision = ?, step = ?', [
    randomToken(6),
    first + 1,
    stepText(first, first + 1),
  ])
  db.run('INSERT INTO runs (run, first) VALUES (?, ?)', [randomToken(9), first])
}

/** Throws `STORAGE_FAILED` for what runs when rows are read or written, unless a migration of ours has made it. */
function requireOwnSchema(db: Database): void {
  using applied = db.prepare<{ total: number }, []>('SELECT count(*) AS total FROM migrations')
  using ours = new SqliteDatabase(':memory:')
  for (const { sql } of migrations.slice(0, applied.get()?.total)) ours.run(sql)
  const known = new Set(activeParts(ours).map(({ sql }) => sql))
  const foreign = activeParts(db).find(({ sql }) => !known.has(sql))
  if (foreign === undefined) return
  throw new SatchelError(
    'STORAGE_FAILED',
    `The file has the ${foreign.type} ${JSON.stringify(foreign.name)}, which Satchel did not make: it is not restored`,
  )
}

function activeParts(db: Database) {
  using parts = db.prepare<{ type: string; name: string; sql: string }, []>(
    "SELECT type, name, sql FROM sqlite_schema WHERE type IN ('trigger', 'view') OR sql LIKE 'CREATE VIRTUAL%'",
  )
  return parts.all()
}

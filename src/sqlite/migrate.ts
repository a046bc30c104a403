import { type Migration, migrations } from '../../migrations/sqlite/index'
import { SatchelError } from '../domain/error'
import type { Connection } from './connection'

/**
 * Brings the file up to the newest migration, one immediate transaction each; `backUp` is called
 * before the first one that changes an existing file (design.md §3). Refuses a file written by a
 * newer program (`NEWER_DATA`) and one whose history was edited (`STORAGE_FAILED`).
 */
export function migrate(
  connection: Connection,
  backUp: (version: string) => void,
  list: readonly Migration[] = migrations,
): void {
  const { db } = connection
  db.run(
    'CREATE TABLE IF NOT EXISTS migrations (number INTEGER PRIMARY KEY, name TEXT NOT NULL, hash TEXT NOT NULL) STRICT',
  )
  const applied = db
    .query<{ name: string; hash: string }, []>('SELECT name, hash FROM migrations ORDER BY number')
    .all()
  if (applied.length > list.length) {
    const newest = applied.at(-1)?.name ?? ''
    throw new SatchelError(
      'NEWER_DATA',
      `The data was written by a newer version of Satchel (migration ${newest}): use that version or a newer one`,
    )
  }
  for (const [position, row] of applied.entries()) {
    const known = list[position]
    if (known?.name === row.name && hash(known.sql) === row.hash) continue
    throw new SatchelError(
      'STORAGE_FAILED',
      `The migration ${row.name} of this data is not the one this program has: the file was written by another build`,
    )
  }
  const version = applied.at(-1)?.name
  const pending = list.slice(applied.length)
  if (pending.length > 0 && version !== undefined) backUp(version)
  for (const migration of pending) apply(connection, migration)
}

function apply({ db }: Connection, migration: Migration): void {
  db.run('BEGIN IMMEDIATE')
  try {
    db.run(migration.sql)
    db.query('INSERT INTO migrations (name, hash) VALUES (?, ?)').run(
      migration.name,
      hash(migration.sql),
    )
    db.run('COMMIT')
  } catch (error) {
    if (db.inTransaction) db.run('ROLLBACK')
    throw error
  }
}

function hash(sql: string): string {
  return new Bun.CryptoHasher('sha256').update(sql).digest('hex')
}

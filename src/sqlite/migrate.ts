import type { Database } from 'bun:sqlite'
import type { Migration } from '../../migrations/sqlite/index'
import { SatchelError } from '../domain/value/error'
import type { Connection } from './connection'

/**
 * Brings the file up to the newest migration in one transaction, so that a failure leaves it as it
 * was; `backUp` is called before an existing file is changed (design.md §3). Refuses a file written
 * by a newer program (`NEWER_DATA`) and one whose history was edited (`STORAGE_FAILED`).
 */
export function migrate(
  { db }: Connection,
  backUp: (version: string) => void,
  list: readonly Migration[],
): void {
  const applied = listApplied(db)
  requireSameHistory(applied, list)
  const pending = list.slice(applied.length)
  if (pending.length === 0) return
  const version = applied.at(-1)?.name
  if (version !== undefined) backUp(version)
  db.run('BEGIN IMMEDIATE')
  try {
    db.run(HISTORY)
    for (const migration of pending) apply(db, migration)
    db.run('COMMIT')
  } catch (error) {
    if (db.inTransaction) db.run('ROLLBACK')
    throw error
  }
}

interface Applied {
  readonly name: string
  readonly hash: string
}

const HISTORY =
  'CREATE TABLE IF NOT EXISTS migrations (number INTEGER PRIMARY KEY, name TEXT NOT NULL, hash TEXT NOT NULL) STRICT'

function listApplied(db: Database): Applied[] {
  using schema = db.prepare<{ name: string }, []>('SELECT name FROM sqlite_schema')
  const names = schema.all()
  if (names.length === 0) return []
  if (!names.some(({ name }) => name === 'migrations')) {
    throw new SatchelError('STORAGE_FAILED', 'The file is a database of another program')
  }
  using applied = db.prepare<Applied, []>('SELECT name, hash FROM migrations ORDER BY number')
  return applied.all()
}

function requireSameHistory(applied: readonly Applied[], list: readonly Migration[]): void {
  for (const [position, { name, hash }] of applied.entries()) {
    const known = list[position]
    if (known === undefined) {
      throw new SatchelError(
        'NEWER_DATA',
        `The data was written by a newer version of Satchel (migration ${applied.at(-1)?.name}): use that version or a newer one`,
      )
    }
    if (known.name === name && hashOf(known.sql) === hash) continue
    throw new SatchelError(
      'STORAGE_FAILED',
      `Another build of Satchel made this data (its migration ${name} is not the one here): export it with that build, then import it into a new database here`,
    )
  }
}

function apply(db: Database, { name, sql }: Migration): void {
  db.run(sql)
  db.run('INSERT INTO migrations (name, hash) VALUES (?, ?)', [name, hashOf(sql)])
}

function hashOf(sql: string): string {
  return new Bun.CryptoHasher('sha256').update(sql).digest('hex')
}

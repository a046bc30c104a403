import { renameSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { type Migration, migrations } from '../../migrations/sqlite/index'
import type { Clock } from '../clock'
import { syncPathNow } from '../disk'
import { SatchelError } from '../domain/value/error'
import { randomToken } from '../domain/value/id'
import { PUBLIC_REALM, PUBLIC_REALM_REF } from '../domain/store/realm'
import { BUILT_IN_TABLES } from '../domain/store/table'
import type { Connection } from './connection'
import { migrate } from './migrate'
import { createObjectTable } from './object-table'
import { keepPrivate } from './private-file'

/** The oldest SQLite this engine trusts with a WAL (design.md §2). */
const OLDEST_SQLITE = '3.51.3'

/** Migrates a file, new or of an earlier version, and gives a new one its first rows. */
export function prepareFile(
  connection: Connection,
  file: string,
  clock: Clock,
  list: readonly Migration[] = migrations,
): void {
  migrate(connection, (version) => backUp(connection, file, `${file}.before-${version}`), list)
  if (connection.prepare('SELECT 1 FROM database').get() === null) insertDefaults(connection, clock)
}

export function sqliteVersion({ prepare }: Connection): string {
  return prepare<{ version: string }>('SELECT sqlite_version() AS version').get()?.version ?? '0'
}

/**
 * Throws `STORAGE_FAILED` for a SQLite that is too old. On macOS it is Apple's, which we cannot
 * choose: there the sentence goes to `warn` (design.md §2).
 */
export function requireSqlite(
  version: string,
  platform: NodeJS.Platform,
  warn: (sentence: string) => void,
): void {
  if (Bun.semver.order(version, OLDEST_SQLITE) >= 0) return
  const sentence = `SQLite ${version} is older than ${OLDEST_SQLITE}: it may lose committed writes`
  if (platform !== 'darwin') throw new SatchelError('STORAGE_FAILED', sentence)
  warn(sentence)
}

/** Either the whole copy is there under its name, safe from power loss, or none (SQLite syncs no copy). */
function backUp({ prepare }: Connection, file: string, copy: string): void {
  const draft = `${copy}.draft`
  rmSync(draft, { force: true })
  keepPrivate(draft)
  prepare('VACUUM INTO ?').run(draft)
  syncPathNow(draft)
  renameSync(draft, copy)
  syncPathNow(dirname(file))
}

/** The first rows of every database: its identity, the public realm, the built-in tables. */
function insertDefaults(connection: Connection, clock: Clock): void {
  const { db, prepare } = connection
  db.run('BEGIN IMMEDIATE')
  prepare(
    'INSERT INTO database (only_row, id, epoch, revision, oldest_revision, policy, next_seq, id_high_water, sealed, created, latest_time) VALUES (1, ?1, ?2, 1, 1, 1, 1, 0, 0, ?3, ?3)',
  ).run(randomToken(16), randomToken(6), clock.now())
  prepare("INSERT INTO realm_ids (number, id, state, head) VALUES (?, ?, 'live', 0)").run(
    PUBLIC_REALM_REF,
    PUBLIC_REALM,
  )
  const insert = prepare(
    'INSERT INTO tables (number, name, primary_key, compound, generated, id_prefix, stores, hidden, built_in) VALUES (?, ?, ?, ?, ?, ?, ?, 0, 1)',
  )
  for (const [position, table] of BUILT_IN_TABLES.entries()) {
    const { name, primaryKey, compound, generated, idPrefix, stores } = table
    const flags = [compound ? 1 : 0, generated ? 1 : 0] as const
    insert.run(position + 1, name, JSON.stringify(primaryKey), ...flags, idPrefix, stores)
    createObjectTable(connection, position + 1)
  }
  db.run('COMMIT')
}

import type { Database } from 'bun:sqlite'
import {
  closeSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { version } from '../../package.json'
import { type Migration, migrations } from '../../migrations/sqlite/index'
import type { Clock } from '../clock'
import { createOwnFile, syncPathNow } from '../disk'
import { SatchelError } from '../domain/value/error'
import { randomToken } from '../domain/value/id'
import { BLANK } from './blank'
import { type Connection, openConnection } from './connection'
import { stepText } from './log-file'
import { keepPrivate } from './private-file'
import { noteSum } from './summed'
import { createObjectTable } from './tables'
import { PUBLIC_REALM, PUBLIC_REALM_REF } from '../domain/store/realms'
import { BUILT_IN_TABLES } from '../domain/store/tables'

/** The oldest SQLite this engine trusts with a WAL (design.md §2). */
const OLDEST_SQLITE = '3.51.3'

/**
 * Writes a new file from the one in the executable, which is several times as fast as migrating it, if there
 * is one. It is not synced: only for a database that need not survive the machine.
 */
export function copyBlank(file: string): void {
  if (BLANK === null || existsSync(file)) return
  using undo = new DisposableStack()
  const created = undo.adopt(createOwnFile(file), closeSync)
  writeFileSync(created, Bun.zstdDecompressSync(Buffer.from(BLANK, 'base64')))
}

/** The bytes of `BLANK`, for the build. */
export function makeBlank(): Uint8Array {
  const folder = mkdtempSync(join(tmpdir(), 'satchel-blank-'))
  try {
    const file = join(folder, 'database.sqlite')
    const connection = openConnection(file, 'write', 'none')
    try {
      migrateFile(connection, file, migrations)
      insertContent(connection)
      connection.db.run(`PRAGMA user_version = ${BLANK_VERSION}`)
      connection.db.run('PRAGMA wal_checkpoint(TRUNCATE)')
    } finally {
      connection.close()
    }
    return readFileSync(file)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** Migrates a file, new or of an earlier version, and gives a new one its first rows. */
export function prepareFile(
  connection: Connection,
  file: string,
  clock: Clock,
  list: readonly Migration[] = migrations,
): void {
  migrateFile(connection, file, list)
  const { db, prepare } = connection
  if (prepare('SELECT 1 FROM database').get() !== null) return
  const realm = prepare('SELECT 1 FROM realm_ids WHERE number = ?').get(PUBLIC_REALM_REF)
  // Another file with content has lost its identity, and is refused when that is read.
  if (realm !== null && !isBlank(connection)) return
  db.run('BEGIN IMMEDIATE')
  insertIdentity(connection, clock)
  if (realm === null) insertContent(connection)
  else db.run('PRAGMA user_version = 0')
  db.run('COMMIT')
}

/** Tells a file of `makeBlank` from one that has lost its identity; 0 in all others. */
const BLANK_VERSION = 1

function isBlank({ prepare }: Connection): boolean {
  const row = prepare<{ user_version: number }>('PRAGMA user_version').get()
  return row?.user_version === BLANK_VERSION
}

/** Brings an older file to the newest version, after a copy beside it (`migrate`). */
export function migrateFile(
  connection: Connection,
  file: string,
  list: readonly Migration[],
): void {
  migrate(connection, (newest) => backUp(connection, file, `${file}.before-${newest}`), list)
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

/** The copy appears under its name when it is complete. */
function backUp(connection: Connection, file: string, copy: string): void {
  const draft = `${copy}.draft`
  writeCopy(connection, draft)
  renameSync(draft, copy)
  syncPathNow(dirname(file))
}

/** Writes the content of a file as another one, without its gaps, and syncs it, which SQLite does not do itself. */
export function writeCopy({ prepare }: Connection, copy: string): void {
  removeCopy(copy)
  keepPrivate(copy)
  prepare('VACUUM INTO ?').run(copy)
  syncPathNow(copy)
}

/** Removes a copy that may have been interrupted: SQLite would take its journal for that of the next one. */
export function removeCopy(copy: string): void {
  for (const name of [copy, `${copy}-journal`]) rmSync(name, { force: true })
}

/** The rows in which new databases differ. */
function insertIdentity(connection: Connection, clock: Clock): void {
  const { prepare } = connection
  prepare(
    'INSERT INTO database (only_row, id, epoch, revision, oldest_revision, next_seq, id_high_water, objects, users, sealed, created, latest_time, step) VALUES (1, ?1, ?2, 1, 0, 1, 0, 0, 0, 0, ?3, ?3, ?4)',
  ).run(randomToken(16), randomToken(6), clock.now(), stepText(1, 1))
  prepare('INSERT INTO runs (run, first) VALUES (?, 0)').run(randomToken(9))
}

/** The first rows of every database besides its identity: the public realm, the built-in tables. */
function insertContent(connection: Connection): void {
  const { prepare } = connection
  prepare("INSERT INTO realm_ids (number, id, state, born, head) VALUES (?, ?, 'live', 0, 0)").run(
    PUBLIC_REALM_REF,
    PUBLIC_REALM,
  )
  noteSum(connection, 'realm_ids', PUBLIC_REALM_REF)
  const insert = prepare(
    'INSERT INTO tables (number, name, primary_key, compound, generated, id_prefix, stores, hidden, built_in) VALUES (?, ?, ?, ?, ?, ?, ?, 0, 1)',
  )
  for (const [position, table] of BUILT_IN_TABLES.entries()) {
    const { name, primaryKey, compound, generated, idPrefix, stores } = table
    const flags = [compound ? 1 : 0, generated ? 1 : 0] as const
    insert.run(position + 1, name, JSON.stringify(primaryKey), ...flags, idPrefix, stores)
    createObjectTable(connection, position + 1)
  }
}

/**
 * Brings the file up to the newest migration in one transaction, so that a failure leaves it as it
 * was; `backUp` is called before an existing file is changed (design.md §3). Refuses a file written
 * by a newer program (`NEWER_DATA`) and one whose history was edited (`STORAGE_FAILED`).
 */
export function migrate(
  { db }: Connection,
  backUp: (newest: string) => void,
  list: readonly Migration[],
): void {
  const applied = listApplied(db)
  requireSameHistory(applied, list)
  const pending = list.slice(applied.length)
  if (pending.length === 0) return
  const newest = applied.at(-1)?.name
  if (newest !== undefined) backUp(newest)
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

/** The newest migration in a file of an earlier version; undefined for a new file and a current one. */
export function versionBefore(db: Database, list: readonly Migration[]): string | undefined {
  const applied = listApplied(db)
  requireSameHistory(applied, list)
  return applied.length < list.length ? applied.at(-1)?.name : undefined
}

interface Applied {
  readonly name: string
  readonly hash: string
  /** The version of the program that ran it. */
  readonly version: string
}

const HISTORY =
  'CREATE TABLE IF NOT EXISTS migrations (number INTEGER PRIMARY KEY, name TEXT NOT NULL, hash TEXT NOT NULL, version TEXT NOT NULL) STRICT'

function listApplied(db: Database): Applied[] {
  using schema = db.prepare<{ name: string }, []>('SELECT name FROM sqlite_schema')
  const names = schema.all()
  if (names.length === 0) return []
  if (!names.some(({ name }) => name === 'migrations')) {
    throw new SatchelError(
      'STORAGE_FAILED',
      'The file is a database of another program: choose another folder with --data',
    )
  }
  using applied = db.prepare<Applied, []>('SELECT * FROM migrations ORDER BY number')
  return applied.all()
}

function requireSameHistory(applied: readonly Applied[], list: readonly Migration[]): void {
  for (const [position, { name, hash }] of applied.entries()) {
    const known = list[position]
    if (known === undefined) throw newerData(applied.at(-1)!)
    if (known.name === name && hashOf(known.sql) === hash) continue
    throw new SatchelError(
      'STORAGE_FAILED',
      `Another build of Satchel made this data (its migration ${name} is not the one here): export it with that build, then import it into a new database here`,
    )
  }
}

function newerData({ name, version: writer }: Applied): SatchelError {
  return new SatchelError(
    'NEWER_DATA',
    `The data was written by Satchel ${writer} (migration ${name}), and this is Satchel ${version}: use ${writer} or a newer version`,
  )
}

function apply(db: Database, { name, sql }: Migration): void {
  db.run(sql)
  const row = [name, hashOf(sql), version]
  db.run('INSERT INTO migrations (name, hash, version) VALUES (?, ?, ?)', row)
}

function hashOf(sql: string): string {
  return new Bun.CryptoHasher('sha256').update(sql).digest('hex')
}

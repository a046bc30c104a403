import { existsSync, mkdirSync, rmSync, statSync } from 'node:fs'
import { platform } from 'node:os'
import { join } from 'node:path'
import type { Clock } from '../clock'
import { SatchelError } from '../domain/error'
import { createIds, randomToken } from '../domain/id'
import { PUBLIC_REALM, PUBLIC_REALM_REF } from '../domain/realm'
import { BUILT_IN_TABLES } from '../domain/table'
import type { Commit, Database } from '../domain/store'
import { createCheckpoints } from './checkpoint'
import { type Connection, type Durability, openConnection } from './connection'
import { storageFailure } from './failure'
import { migrate } from './migrate'
import { createObjectTable } from './object-table'
import {
  type Committed,
  loadCommitted,
  loadErasing,
  loadHasTombstones,
  loadSealed,
  loadTables,
} from './state'
import { type Group, SqliteReadTx } from './tx'
import { createSnapshot } from './snapshot'
import { createWriter } from './writer'

export interface DatabaseOptions {
  readonly clock: Clock
  readonly durability: Durability
  /** Called when the database was closed. */
  readonly onClose?: () => void
}

/** The oldest SQLite this engine trusts with a WAL (design.md §2). */
const OLDEST_SQLITE = '3.51.3'

/**
 * Opens, or makes, the database in `folder`. Throws `NEWER_DATA`, `READ_ONLY`, `STORAGE_FULL` or
 * `STORAGE_FAILED`, each with a sentence that names the file.
 */
export function openDatabase(name: string, folder: string, options: DatabaseOptions): Database {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const file = join(folder, 'database.sqlite')
  let connection: Connection | undefined
  try {
    connection = openConnection(file, 'write', options.durability)
    prepareFile(connection, file, options.clock)
    return serveDatabase(name, folder, file, connection, options)
  } catch (error) {
    connection?.close()
    const failure = storageFailure(error)
    if (failure instanceof SatchelError && failure.code !== 'NEWER_DATA') {
      throw new SatchelError(failure.code, `${file}: ${failure.message}`, { cause: error })
    }
    throw failure
  }
}

function prepareFile(connection: Connection, file: string, clock: Clock): void {
  const { version } = connection.db
    .query<{ version: string }, []>('SELECT sqlite_version() AS version')
    .get() ?? { version: '0' }
  if (Bun.semver.order(version, OLDEST_SQLITE) < 0 && platform() !== 'darwin') {
    throw new SatchelError(
      'STORAGE_FAILED',
      `SQLite ${version} is older than ${OLDEST_SQLITE}: it may lose committed writes`,
    )
  }
  migrate(connection, (applied) => {
    const copy = `${file}.before-${applied}`
    if (existsSync(copy)) rmSync(copy)
    connection.db.query('VACUUM INTO ?').run(copy)
  })
  if (connection.prepare('SELECT 1 FROM database').get() === null) furnish(connection, clock)
}

/** What every database has from its first moment: an identity, the public realm, the built-in tables. */
function furnish(connection: Connection, clock: Clock): void {
  const { db } = connection
  db.run('BEGIN IMMEDIATE')
  db.query(
    'INSERT INTO database (only_row, id, epoch, revision, oldest_revision, policy, next_seq, id_high_water, sealed, created) VALUES (1, ?, ?, 1, 1, 1, 1, 0, 0, ?)',
  ).run(randomToken(16), randomToken(6), clock.now())
  db.query("INSERT INTO realm_ids (number, id, state, head) VALUES (?, ?, 'live', 0)").run(
    PUBLIC_REALM_REF,
    PUBLIC_REALM,
  )
  const insert = db.query(
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

function serveDatabase(
  name: string,
  folder: string,
  file: string,
  connection: Connection,
  options: DatabaseOptions,
): Database {
  const reading = openConnection(file, 'read', options.durability)
  const snapshot = createSnapshot(reading)
  const committed = loadCommitted(connection)
  const identity = connection.prepare<{ id: string }>('SELECT id FROM database').get()
  const listeners = new Set<(change: Commit) => void>()
  const checkpoints = createCheckpoints(file, connection)
  const writer = createWriter({
    connection,
    committed,
    ids: createIds(options.clock, { highWater: committed.counters.idHighWater }),
    beginGroup: () => ({
      counters: { ...committed.counters },
      realms: new Set(),
      policyTouched: false,
      tablesTouched: false,
      realmsTouched: false,
      jobsTouched: false,
      buried: false,
      largest: new Map(),
    }),
    seal: (group) => seal(connection, group),
    publish(group) {
      snapshot.drop()
      publish(connection, committed, group)
      if (group.realms.size === 0 && !group.jobsTouched) return
      const change = {
        database: name,
        revision: group.counters.revision,
        realms: [...group.realms],
        jobs: group.jobsTouched,
      }
      for (const listener of listeners) listener(change)
    },
    between: () => checkpoints.consider(),
  })
  let isOpen = true
  return {
    id: identity?.id ?? '',
    name,
    folder,
    get policy() {
      return committed.counters.policy
    },
    async read(work) {
      if (!isOpen) throw closed(name)
      const tx = new SqliteReadTx(reading, committed)
      try {
        snapshot.take()
        return await work(tx)
      } catch (error) {
        throw storageFailure(error)
      } finally {
        tx.end()
      }
    },
    write: (work) => (isOpen ? writer.run(work) : Promise.reject(closed(name))),
    onCommit(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    async [Symbol.asyncDispose]() {
      if (!isOpen) return
      isOpen = false
      await writer.drained()
      await checkpoints.close()
      snapshot.drop()
      reading.close()
      connection.db.run('PRAGMA wal_checkpoint(TRUNCATE)')
      connection.close()
      options.onClose?.()
    },
  }
}

function closed(name: string): SatchelError {
  return new SatchelError('BUSY', `The database ${name} is closing: repeat the request`, {
    retryAfter: 1,
  })
}

function seal(connection: Connection, group: Group): void {
  const { counters } = group
  if (group.policyTouched) counters.policy += 1
  connection
    .prepare('UPDATE database SET revision = ?, policy = ?, next_seq = ?, id_high_water = ?')
    .run(counters.revision, counters.policy, counters.nextSeq, counters.idHighWater)
  const head = connection.prepare('UPDATE realm_ids SET head = ? WHERE number = ?')
  for (const realm of group.realms) head.run(counters.revision, realm)
  const grow = connection.prepare('UPDATE tables SET largest = ? WHERE number = ?')
  for (const [number, largest] of group.largest) grow.run(largest, number)
}

function publish(connection: Connection, committed: Committed, group: Group): void {
  committed.commits += 1
  committed.counters = group.counters
  for (const [number, largest] of group.largest) committed.largest.set(number, largest)
  committed.hasTombstones ||= group.buried
  if (group.policyTouched) committed.memo.clear()
  if (group.tablesTouched) {
    committed.tables = loadTables(connection)
    committed.sealed = loadSealed(connection)
  }
  if (group.realmsTouched) {
    committed.realmsById.clear()
    committed.realmsByRef.clear()
    committed.erasing = loadErasing(connection)
    committed.hasTombstones = loadHasTombstones(connection)
  }
}

/** Bytes of the write-ahead log on disk; for tests and the benchmark. */
export function walSize(folder: string): number {
  return statSync(join(folder, 'database.sqlite-wal'), { throwIfNoEntry: false })?.size ?? 0
}

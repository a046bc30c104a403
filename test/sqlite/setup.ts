import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { createIds } from '../../src/domain/value/id'
import { type Connection, openConnection } from '../../src/sqlite/connection'
import { type DatabaseOptions, openDatabase, type SqliteDatabase } from '../../src/sqlite/database'
import { type Group, publishGroup, sealGroup } from '../../src/sqlite/group'
import { prepareFile } from '../../src/sqlite/prepare'
import { type Committed, loadCommitted } from '../../src/sqlite/state'
import { createWriter, type Writer } from '../../src/sqlite/writer'
import { createTestClock } from '../auth/setup'
import { temporaryFolder } from '../setup'

export interface OpenedDatabase extends AsyncDisposable {
  readonly database: SqliteDatabase
  readonly file: string
  /** Failures that were reported outside of requests. */
  readonly reports: readonly unknown[]
}

/** The database in a folder, made if it is not there. */
export function openIn(folder: string, options: Partial<DatabaseOptions> = {}): OpenedDatabase {
  const reports: unknown[] = []
  const database = openDatabase('main', folder, {
    clock: createTestClock(),
    durability: 'none',
    report: (_, error) => reports.push(error),
    ...options,
  })
  return {
    database,
    file: join(folder, 'database.sqlite'),
    reports,
    [Symbol.asyncDispose]: () => database[Symbol.asyncDispose](),
  }
}

export interface SetupDatabase extends OpenedDatabase {
  readonly folder: string
}

export function setupDatabase(options: Partial<DatabaseOptions> = {}): SetupDatabase {
  const folder = temporaryFolder()
  const opened = openIn(folder.path, options)
  return {
    ...opened,
    folder: folder.path,
    async [Symbol.asyncDispose]() {
      await opened[Symbol.asyncDispose]()
      folder[Symbol.dispose]()
    },
  }
}

/** The writer on a connection that a test can get at. */
export interface SetupWriter extends AsyncDisposable, Writer {
  readonly connection: Connection
  readonly committed: Committed
  readonly file: string
  /** The commits, in order. */
  readonly groups: readonly Group[]
}

/** For its waits and time budgets the writer sees time pass `haste` times as fast. */
export function setupWriter(haste = 1, elapsed = () => performance.now() * haste): SetupWriter {
  const folder = temporaryFolder()
  const file = join(folder.path, 'database.sqlite')
  const connection = openConnection(file, 'write', 'none')
  prepareFile(connection, file, createTestClock())
  connection.db.run('PRAGMA busy_timeout = 0')
  const committed = loadCommitted(connection)
  const groups: Group[] = []
  const writer = createWriter({
    connection,
    committed,
    ids: createIds(createTestClock()),
    clock: createTestClock(),
    elapsed,
    seal: (group) => sealGroup(connection, committed, group),
    publish(group) {
      groups.push(group)
      publishGroup(committed, group)
    },
    between: () => undefined,
  })
  return {
    ...writer,
    connection,
    committed,
    file,
    groups,
    async [Symbol.asyncDispose]() {
      await writer.drained()
      connection.close()
      folder[Symbol.dispose]()
    },
  }
}

/** Names of the files in a folder, sorted. */
export function filesIn(folder: string): string[] {
  return readdirSync(folder).toSorted()
}

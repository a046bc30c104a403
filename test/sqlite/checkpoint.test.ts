import { Database as SqliteDatabase } from 'bun:sqlite'
import { describe, expect, test } from 'bun:test'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import type { Database } from '../../src/domain/store/store'
import { declareIn, fresh, NOW, scanAll } from '../contract/fixture'
import { type Checkpoints, createCheckpoints } from '../../src/sqlite/checkpoint'
import { type Connection, openConnection } from '../../src/sqlite/connection'
import { checkStructure } from '../../src/sqlite/file-task'
import { temporaryFolder } from '../setup'
import { until } from '../timing'
import { filesIn, setupDatabase } from './setup'
import type { Table } from '../../src/domain/store/tables'

const MIB = 1024 * 1024

describe('the write-ahead log', () => {
  test('is copied by the worker once it has grown by some MiB', async () => {
    await using opened = setupDatabase()
    const { database, file, reports } = opened
    const table = await declareIn(database, 'things')
    const before = statSync(file).size
    await write(database, table, 6)
    // The next commit sees what the last one left, and asks.
    await write(database, table, 0)
    await until(() => statSync(file).size > before + 5 * MIB)
    expect(reports).toEqual([])
  })

  test('of every database is copied by one worker, which ends with the last of them', async () => {
    using workers = countWorkers()
    {
      await using owned = new AsyncDisposableStack()
      const all = Array.from({ length: 4 }, () => owned.use(setupDatabase()))
      for (const { database, file, reports } of all) {
        const table = await declareIn(database, 'things')
        const before = statSync(file).size
        await write(database, table, 6)
        await write(database, table, 0)
        await until(() => statSync(file).size > before + 5 * MIB)
        expect(reports).toEqual([])
      }
      expect({ started: workers.started(), ended: workers.ended() }).toEqual({
        started: 1,
        ended: 0,
      })
    }
    expect(workers.ended()).toBe(1)
  })

  test('stays below 64 MiB under sustained writes, with readers at work', async () => {
    await using opened = setupDatabase()
    const { database, file, reports } = opened
    const table = await declareIn(database, 'things')
    let isWriting = true
    let largest = 0
    const writing = (async () => {
      for (let round = 0; round < 60; round += 1) {
        await Promise.all([write(database, table, 2), write(database, table, 2)])
      }
    })().finally(() => {
      isWriting = false
    })
    while (isWriting) {
      await database.read((tx) => tx.objects.page(table, { size: { rows: 100, bytes: MIB } }))
      largest = Math.max(largest, statSync(`${file}-wal`).size)
      await Bun.sleep(1)
    }
    await writing
    expect(largest).toBeLessThan(64 * MIB)
    expect(statSync(file).size).toBeGreaterThan(128 * MIB)
    expect(reports).toEqual([])
  })

  test('is copied by nobody in-line while a reader holds it, and holds up no group', async () => {
    await using log = setupLog()
    const reader = log.hold()
    const before = statSync(log.file).size
    for (let round = 0; round < 25; round += 1) {
      log.write(4)
      // A first checkpoint finds out that there is a reader.
      const wait = log.checkpoints.consider()
      if (round > 15) expect(wait).toBeUndefined()
      else await wait
    }
    expect(log.inLine()).toBe(0)
    reader[Symbol.dispose]()
    expect(log.checkpoints.consider()).toBeUndefined()
    // The restart of the writer would have copied 100 MiB by now.
    expect(log.inLine()).toBe(0)
    expect(statSync(log.file).size).toBeLessThan(before + 16 * MIB)
  })

  test('is short again when the reader has gone, although nobody writes', async () => {
    await using log = setupLog()
    const reader = log.hold()
    for (let round = 0; round < 25; round += 1) {
      log.write(4)
      await log.checkpoints.consider()
    }
    expect(statSync(`${log.file}-wal`).size).toBeGreaterThan(90 * MIB)
    reader[Symbol.dispose]()
    log.checkpoints.catchUp()
    await until(() => statSync(`${log.file}-wal`).size < 64 * MIB)
    expect(statSync(log.file).size).toBeGreaterThan(90 * MIB)
    expect(log.reports).toEqual([])
  })

  test('is asked for again only after some growth while a reader stops it', async () => {
    await using log = setupLog()
    using _ = log.hold()
    for (let round = 0; round < 20; round += 1) {
      log.write(1)
      await log.checkpoints.consider()
    }
    const known = log.passes()
    for (let round = 0; round < 20; round += 1) await log.checkpoints.consider()
    expect(log.passes()).toBe(known)
  })

  test('is restarted after a reader of another process has gone', async () => {
    await using opened = setupDatabase()
    const { database, file } = opened
    const table = await declareIn(database, 'things')
    const reader = new SqliteDatabase(file)
    reader.run('BEGIN')
    reader.query('SELECT count(*) FROM o_4').get()
    for (let round = 0; round < 12; round += 1) await write(database, table, 4)
    const pinned = logOf(file)
    expect(pinned).toBeGreaterThan(40 * MIB)
    reader.run('COMMIT')
    reader.close()
    await until(async () => {
      await write(database, table, 1)
      return logOf(file) < pinned
    })
    expect(logOf(file)).toBeLessThan(pinned)
  })

  test('is copied by another thread than the one that checks the structure of a file', async () => {
    await using opened = setupDatabase()
    const { database } = opened
    const table = await declareIn(database, 'things')
    await write(database, table, 6)
    await write(database, table, 0)
    using workers = countWorkers()
    for await (const { faults } of database.verify(() => undefined, false)) {
      expect(faults).toEqual([])
      break
    }
    expect({ started: workers.started(), ended: workers.ended() }).toEqual({ started: 1, ended: 1 })
  })

  test('is empty when the database is closed, and nothing of it is lost', async () => {
    await using opened = setupDatabase({ durability: 'full' })
    const { database, folder } = opened
    const table = await declareIn(database, 'things')
    await write(database, table, 9)
    const rows = await scanAll(database, table)
    await database[Symbol.asyncDispose]()
    expect(filesIn(folder)).toEqual(['database.sqlite'])
    using file = new SqliteDatabase(opened.file, { readonly: true })
    expect(file.query(`SELECT count(*) AS total FROM o_4`).get()).toEqual({ total: rows.length })
    expect(file.query('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' })
  })
})

test('a check of the structure of a file ends with its worker when nobody waits for it', async () => {
  using folder = temporaryFolder()
  using workers = countWorkers()
  const file = join(folder.path, 'database.sqlite')
  using db = new SqliteDatabase(file)
  db.run('CREATE TABLE things (id)')
  // The check waits for this for seconds, and is damage in the end.
  db.run('BEGIN EXCLUSIVE')
  const stop = new AbortController()
  const check = checkStructure(file, 'file', stop.signal)
  stop.abort(new Error('The server stops'))
  expect(await check.catch(String)).toBe('Error: The server stops')
  expect({ started: workers.started(), ended: workers.ended() }).toEqual({ started: 1, ended: 1 })
})

interface SetupLog extends AsyncDisposable {
  readonly file: string
  readonly checkpoints: Checkpoints
  readonly reports: readonly unknown[]
  /** Commits so many MiB. */
  write(mib: number): void
  /** A reader that holds the log as it is now. */
  hold(): Disposable
  /** How often the writer itself has copied the log, and how often the worker was asked to. */
  inLine(): number
  passes(): number
}

/** The checkpoints of a database with one table of large rows, and what they do to it. */
function setupLog(): SetupLog {
  const folder = temporaryFolder()
  const file = join(folder.path, 'database.sqlite')
  const connection = openConnection(file, 'write', 'none')
  connection.db.run('CREATE TABLE rows (id INTEGER PRIMARY KEY, bytes BLOB) STRICT')
  connection.db.run('PRAGMA busy_timeout = 0')
  const counts = { inLine: 0, passes: 0 }
  const counted: Connection = {
    ...connection,
    prepare(sql) {
      if (/RESTART|TRUNCATE/.test(sql)) counts.inLine += 1
      return connection.prepare(sql)
    },
  }
  const reports: unknown[] = []
  const request = {
    file,
    durability: 'none' as const,
    // Each task that is sent is a copy of these.
    get index() {
      counts.passes += 1
      return 'file' as const
    },
  }
  const checkpoints = createCheckpoints(request, counted, (error) => reports.push(error))
  const insert = connection.prepare('INSERT INTO rows (bytes) VALUES (zeroblob(?))')
  return {
    file,
    checkpoints,
    reports,
    write: (mib) => void insert.run(mib * MIB),
    hold() {
      const reader = new SqliteDatabase(file)
      reader.run('BEGIN')
      reader.query('SELECT count(*) FROM rows').get()
      return {
        [Symbol.dispose]() {
          reader.run('COMMIT')
          reader.close()
        },
      }
    },
    inLine: () => counts.inLine,
    passes: () => counts.passes,
    async [Symbol.asyncDispose]() {
      await checkpoints.close()
      connection.close()
      folder[Symbol.dispose]()
    },
  }
}

/** Stores so many MiB, or at least one small object. */
async function write(database: Database, table: Table, mib: number): Promise<void> {
  const text = 'x'.repeat(64 * 1024)
  const puts = Array.from({ length: Math.max(1, mib * 16) }, () => {
    const key = crypto.randomUUID()
    return fresh(key, { value: JSON.stringify({ id: key, text: mib === 0 ? '' : text }) })
  })
  await database.write((tx) => tx.objects.put(table, puts, NOW))
}

/** Bytes of the log that are in use. */
function logOf(file: string): number {
  using db = new SqliteDatabase(file)
  const row = db.query<{ log: number }, []>('PRAGMA wal_checkpoint(NOOP)').get()
  return (row?.log ?? 0) * 4096
}

/** Counts the workers that this process starts and ends, until disposed. */
function countWorkers() {
  const { Worker: Original } = globalThis
  let started = 0
  let ended = 0
  globalThis.Worker = class extends Original {
    constructor(...given: ConstructorParameters<typeof Original>) {
      super(...given)
      started += 1
    }

    override terminate(): void {
      ended += 1
      super.terminate()
    }
  }
  return {
    started: () => started,
    ended: () => ended,
    [Symbol.dispose]() {
      globalThis.Worker = Original
    },
  }
}

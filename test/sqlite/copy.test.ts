import { Database as SqliteDatabase } from 'bun:sqlite'
import { describe, expect, test } from 'bun:test'
import { closeSync, openSync, statSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import type { DatabaseCopy } from '../../src/domain/store/copy'
import type { Database } from '../../src/domain/store/store'
import type { Table } from '../../src/domain/store/tables'
import { declareIn, fresh, NOW, update } from '../contract/fixture'
import { temporaryFolder } from '../setup'
import { until } from '../timing'
import { setupDatabase } from './setup'

const MIB = 1024 * 1024

describe('a copy of a database', () => {
  test('holds everything that was committed before, and nothing that is written meanwhile', async () => {
    await using opened = setupDatabase()
    const { database } = opened
    const table = await declareIn(database, 'things')
    await write(database, table, 'before', 40)
    await using copy = await database.copy()
    using target = temporaryFolder()
    let pieces = 0
    const file = await save(copy, target.path, async () => {
      pieces += 1
      await write(database, table, `during-${pieces}`, 2)
    })
    expect(pieces).toBeGreaterThan(5)
    expect(statSync(file).size).toBe(copy.size)
    expect(keysIn(file)).toEqual(Array.from({ length: 40 }, (_, n) => `before-${n}`).toSorted())
    expect(revisionIn(file)).toBe(copy.facts.revision)
  })

  test('is the same while pages go from the log to the file meanwhile', async () => {
    await using opened = setupDatabase()
    const { database, file } = opened
    const table = await declareIn(database, 'things')
    // Some of this is in the log alone, some in both.
    for (let round = 0; round < 6; round += 1) await write(database, table, `before-${round}`, 30)
    await using copy = await database.copy()
    const sizeBefore = statSync(file).size
    using target = temporaryFolder()
    let rounds = 0
    const saved = await save(copy, target.path, async () => {
      rounds += 1
      if (rounds > 8) return
      await change(database, table, `before-${rounds % 6}`, 30)
    })
    expect(statSync(file).size).toBeGreaterThanOrEqual(sizeBefore)
    expect(valuesIn(saved).every((value) => !value.includes('changed'))).toBe(true)
    expect(keysIn(saved)).toHaveLength(180)
  })

  test('begins with a log that is in the file, and takes nothing from the log that begins anew', async () => {
    await using opened = setupDatabase()
    const { database, file } = opened
    const table = await declareIn(database, 'things')
    await write(database, table, 'before', 20)
    checkpoint(file)
    await using copy = await database.copy()
    using target = temporaryFolder()
    const saved = await save(copy, target.path, () => change(database, table, 'before', 20))
    expect(valuesIn(saved).every((value) => !value.includes('changed'))).toBe(true)
  })

  test('leaves the locks of SQLite on the file', async () => {
    await using opened = setupDatabase()
    const { database, file } = opened
    const table = await declareIn(database, 'things')
    await write(database, table, 'before', 3)
    using target = temporaryFolder()
    {
      await using copy = await database.copy()
      await save(copy, target.path)
    }
    // Another process that believes itself alone would remove the log.
    const script = `import { Database } from 'bun:sqlite'
      const db = new Database(process.argv[1])
      db.query('SELECT count(*) FROM database').get()
      db.close(true)`
    Bun.spawnSync([process.execPath, '-e', script, file])
    expect(statSync(`${file}-wal`).size).toBeGreaterThan(0)
    await write(database, table, 'after', 3)
    expect(keysIn(file)).toHaveLength(6)
  })

  test('ends with a sentence when too much is written meanwhile, and writes go on', async () => {
    await using opened = setupDatabase({ longestLog: 4 * MIB })
    const { database, file } = opened
    const table = await declareIn(database, 'things')
    for (let round = 0; round < 8; round += 1) await write(database, table, `before-${round}`, 20)
    checkpoint(file)
    using target = temporaryFolder()
    const copy = await database.copy()
    let round = 0
    const saving = save(copy, target.path, () => write(database, table, `more-${(round += 1)}`, 20))
    const error = await saving.catch((failure: unknown) => failure)
    expect(String(error)).toContain(
      'The backup was ended because the write-ahead log had reached 4 MiB while it was copied',
    )
    await copy[Symbol.asyncDispose]()
    await write(database, table, 'after', 1)
    // What the copy held goes to the file again.
    await until(() => checkpoint(file) === 0)
  })

  test('ends so while something else is copied beside it, too, and when its database is closed', async () => {
    await using opened = setupDatabase({ longestLog: 4 * MIB })
    const { database } = opened
    const table = await declareIn(database, 'things')
    await write(database, table, 'before', 20)
    const copy = await database.copy()
    await copy.giveWay()
    // The log holds what it had before this, too.
    for (let round = 0; round < 8; round += 1) await write(database, table, `more-${round}`, 20)
    const failure = await copy.giveWay().catch((error: unknown) => error)
    expect(String(failure)).toContain('the write-ahead log had reached 4 MiB while it was copied')
    await database[Symbol.asyncDispose]()
    const closed = await copy.giveWay().catch((error: unknown) => error)
    expect(String(closed)).toContain('was closed or deleted while it was backed up')
    await copy[Symbol.asyncDispose]()
  })

  test('ends when its database is closed, and reads no other file', async () => {
    await using opened = setupDatabase()
    const { database } = opened
    const table = await declareIn(database, 'things')
    await write(database, table, 'before', 20)
    const copy = await database.copy()
    const pieces = copy.bytes()[Symbol.asyncIterator]()
    expect((await pieces.next()).done).toBe(false)
    await database[Symbol.asyncDispose]()
    const failure = await pieces.next().catch((error: unknown) => error)
    expect(String(failure)).toContain('was closed or deleted while it was backed up')
    await copy[Symbol.asyncDispose]()
  })

  test('lists each content of blobs once, as of its moment', async () => {
    await using opened = setupDatabase()
    const { database } = opened
    const [one, two] = ['a'.repeat(64), 'b'.repeat(64)]
    const blob = { size: 5, type: 'text/plain', created: NOW }
    await database.write((tx) => {
      tx.blobs.put({ id: 'first', hash: two, file: two, ...blob }, null)
      tx.blobs.put({ id: 'second', hash: one, file: one, ...blob }, null)
      tx.blobs.put({ id: 'third', hash: one, file: one, ...blob }, null)
    })
    await using copy = await database.copy()
    const late = 'c'.repeat(64)
    await database.write((tx) =>
      tx.blobs.put({ id: 'late', hash: late, file: late, ...blob }, null),
    )
    expect(copy.contents('', 10)).toMatchObject([
      { hash: one, file: one, size: 5 },
      { hash: two, file: two, size: 5 },
    ])
    expect(copy.contents(one, 10)).toMatchObject([{ hash: two }])
  })
})

async function write(database: Database, table: Table, name: string, count: number): Promise<void> {
  const puts = Array.from({ length: count }, (_, n) => {
    const key = `${name}-${n}`
    return fresh(key, { value: valueOf(key, 'x') })
  })
  await database.write((tx) => tx.objects.put(table, puts, NOW))
}

/** Replaces the objects that `write` has made. */
async function change(
  database: Database,
  table: Table,
  name: string,
  count: number,
): Promise<void> {
  await database.write((tx) => {
    for (let n = 0; n < count; n += 1) {
      const key = `${name}-${n}`
      update(tx, table, key, { value: valueOf(key, 'changed') })
    }
  })
}

function valueOf(id: string, text: string): string {
  return JSON.stringify({ id, text: text.repeat(60_000 / text.length) })
}

/** Writes the copy to a file and calls `meanwhile` after each piece of it. */
async function save(
  copy: DatabaseCopy,
  folder: string,
  meanwhile: () => Promise<void> = async () => {},
): Promise<string> {
  const path = join(folder, 'copy.sqlite')
  const file = openSync(path, 'w')
  try {
    for await (const piece of copy.bytes()) {
      writeSync(file, piece)
      await meanwhile()
    }
  } finally {
    closeSync(file)
  }
  return path
}

function keysIn(path: string): string[] {
  return rowsIn<{ key: string }>(path, 'SELECT key FROM o_4 ORDER BY key').map(({ key }) => key)
}

function valuesIn(path: string): string[] {
  return rowsIn<{ value: string }>(path, 'SELECT value FROM o_4').map(({ value }) => value)
}

function revisionIn(path: string): number | undefined {
  return rowsIn<{ revision: number }>(path, 'SELECT revision FROM database')[0]?.revision
}

/** Of a file that is whole. */
function rowsIn<Row>(path: string, sql: string): Row[] {
  using db = new SqliteDatabase(path)
  expect(db.query('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' })
  return db.query<Row, []>(sql).all()
}

/** Copies the log to the file as another program may; returns the pages that are left. */
function checkpoint(path: string): number {
  using db = new SqliteDatabase(path)
  const row = db
    .query<{ log: number; checkpointed: number }, []>('PRAGMA wal_checkpoint(PASSIVE)')
    .get()
  return (row?.log ?? 0) - (row?.checkpointed ?? 0)
}

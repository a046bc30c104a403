import { Database as SqliteDatabase } from 'bun:sqlite'
import { describe, expect, test } from 'bun:test'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { openConnection } from '../../src/sqlite/connection'
import type { Durability } from '../../src/sqlite/durability'
import { requireSqlite } from '../../src/sqlite/prepare'
import { createSqliteStore } from '../../src/sqlite/store'
import { createTestClock } from '../auth/setup'
import { declareIn, insert, keysOf, refusalOf } from '../contract/fixture'
import { refusal } from '../domain/refusal'
import { temporaryFolder } from '../setup'
import { copyFolder } from './folders'
import { filesIn, openIn, setupDatabase } from './setup'

describe('the files of a database', () => {
  test('belong to their owner alone, the log and its index too', async () => {
    using folder = temporaryFolder()
    await using store = createSqliteStore(folder.path, options())
    const database = await store.create('main')
    await declareIn(database, 'things')
    expect(modesIn(join(folder.path, 'databases', 'main'))).toEqual({
      '.': '700',
      'database.sqlite': '600',
      'database.sqlite-shm': '600',
      'database.sqlite-wal': '600',
    })
    expect((statSync(join(folder.path, 'databases')).mode & 0o777).toString(8)).toBe('700')
  })

  test('are closed to others when they were open', async () => {
    using folder = temporaryFolder()
    await using first = openIn(folder.path)
    await first.database[Symbol.asyncDispose]()
    chmodSync(first.file, 0o644)
    await using second = openIn(folder.path)
    await declareIn(second.database, 'things')
    expect(Object.values(modesIn(folder.path)).slice(1)).toEqual(['600', '600', '600'])
  })

  test.skipIf(process.platform !== 'linux')('are all closed with it', async () => {
    await using opened = setupDatabase()
    const { database, folder } = opened
    await insert(database, await declareIn(database, 'things'), 'a')
    await database.read((tx) => tx.clients.list())
    expect(openedIn(folder).length).toBeGreaterThan(2)
    await database[Symbol.asyncDispose]()
    expect(openedIn(folder)).toEqual([])
    expect(filesIn(folder)).toEqual(['database.sqlite'])
  })

  test('are the database elsewhere, too: stopped, or as a crash left them', async () => {
    using folder = temporaryFolder()
    const [original, crashed, stopped] = ['original', 'crashed', 'stopped'].map((name) =>
      join(folder.path, name),
    ) as [string, string, string]
    const { database } = openIn(original, { durability: 'full' })
    const table = await declareIn(database, 'things')
    await insert(database, table, 'a', 'b')
    copyFolder(original, crashed)
    await insert(database, table, 'c')
    await database[Symbol.asyncDispose]()
    copyFolder(original, stopped)
    await using other = openIn(crashed)
    await using another = openIn(stopped)
    expect([other.database.id, another.database.id]).toEqual([database.id, database.id])
    expect(await keysOf(other.database, table)).toEqual(['a', 'b'])
    expect(await keysOf(another.database, table)).toEqual(['a', 'b', 'c'])
  })

  test('of a removal that was interrupted are removed after the next start', async () => {
    using folder = temporaryFolder()
    await using store = createSqliteStore(folder.path, options())
    await store.create('main')
    const main = join(folder.path, 'databases', 'main')
    writeFileSync(join(main, 'secret.key'), 'secret')
    const leftover = join(folder.path, 'databases', '.removed-other-123')
    copyFolder(main, leftover)
    expect(await store.list()).toEqual(['main'])
    await using next = createSqliteStore(folder.path, options())
    expect(await next.list()).toEqual(['main'])
    while (existsSync(leftover)) await Bun.sleep(5)
    await store.remove('main')
    expect(readdirSync(join(folder.path, 'databases'))).toEqual([])
  })

  test('beside a new database stay, in a folder that was there', async () => {
    using folder = temporaryFolder()
    const blobs = join(folder.path, 'databases', 'main', 'blobs')
    mkdirSync(blobs, { recursive: true })
    await using store = createSqliteStore(folder.path, options())
    expect(await store.list()).toEqual([])
    await store.create('main')
    expect(existsSync(blobs)).toBe(true)
  })
})

describe('a file that is broken', () => {
  test.each<[string, (file: string) => void]>([
    ['is no database', (file) => writeFileSync(file, 'once upon a time '.repeat(1_000))],
    ['has a broken first page', (file) => overwrite(file, 0, 100)],
    ['has a broken schema', (file) => overwrite(file, 100, 3_000)],
    ['ends too early', (file) => truncateSync(file, 4096 * 3)],
    ['has lost its identity', (file) => edit(file, 'DELETE FROM database')],
    ['was made by another build', (file) => edit(file, "UPDATE migrations SET hash = 'other'")],
    ['has lost a table', (file) => edit(file, 'DROP TABLE realm_ids')],
  ])('because it %s is refused with its name, at every request', async (_, damage) => {
    using folder = temporaryFolder()
    {
      await using opened = openIn(folder.path)
      await declareIn(opened.database, 'things')
    }
    const file = join(folder.path, 'database.sqlite')
    damage(file)
    const before = await Bun.file(file).bytes()
    const failure = refusal(() => openIn(folder.path))
    expect(failure.code).toBe('STORAGE_FAILED')
    expect(failure.message).toStartWith(file)
    expect(await Bun.file(file).bytes()).toEqual(before)
  })

  test('in the middle refuses what touches the damage, and says so', async () => {
    using folder = temporaryFolder()
    const { database, file } = openIn(folder.path)
    const table = await declareIn(database, 'things')
    const keys = Array.from({ length: 20_000 }, (_, n) => `k${n}`)
    await insert(database, table, ...keys)
    await database[Symbol.asyncDispose]()
    const { size } = statSync(file)
    overwrite(file, Math.floor(size / 2 / 4096) * 4096, 4096 * 40)
    await using again = openIn(folder.path)
    expect(await refusalOf(keysOf(again.database, table))).toBe('STORAGE_FAILED')
    expect(again.database.id).toBe(database.id)
  })
})

describe('a connection', () => {
  test.each<[Durability, number]>([
    ['full', 2],
    ['relaxed', 1],
    ['none', 0],
  ])('with durability %s syncs as it says', (durability, synchronous) => {
    using folder = temporaryFolder()
    const connection = openConnection(join(folder.path, 'a.sqlite'), 'write', durability)
    const pragma = (name: string) => connection.db.query(`PRAGMA ${name}`).values()[0]?.[0]
    expect(pragma('synchronous')).toBe(synchronous)
    expect([pragma('fullfsync'), pragma('checkpoint_fullfsync')]).toEqual([1, 1])
    expect([pragma('journal_mode'), pragma('wal_autocheckpoint')]).toEqual(['wal', 0])
    connection.close()
  })

  test('that reads cannot write', () => {
    using folder = temporaryFolder()
    const file = join(folder.path, 'a.sqlite')
    const writing = openConnection(file, 'write', 'none')
    const reading = openConnection(file, 'read', 'none')
    expect(() => reading.db.run('CREATE TABLE a (b)')).toThrow('readonly')
    reading.close()
    writing.close()
  })

  test('keeps its statements, and frees those that are not asked for any more', () => {
    using folder = temporaryFolder()
    const connection = openConnection(join(folder.path, 'a.sqlite'), 'write', 'none')
    const { prepare } = connection
    const first = prepare('SELECT 1')
    const busy = prepare('SELECT 2')
    for (let n = 0; n < 5_000; n += 1) {
      prepare(`SELECT ${n} AS n`)
      expect(prepare('SELECT 2')).toBe(busy)
    }
    expect([first.isFinalized, busy.isFinalized]).toEqual([true, false])
    expect(prepare('SELECT 1').get()).toEqual({ 1: 1 })
    connection.close()
    expect(busy.isFinalized).toBe(true)
  })
})

describe('SQLite', () => {
  const warnings: string[] = []
  const check = (version: string, platform: NodeJS.Platform) =>
    requireSqlite(version, platform, (sentence) => warnings.push(sentence))

  test('that may lose writes is refused, but on macOS, where it is not ours, warned of', () => {
    expect(() => check('3.51.2', 'linux')).toThrow('3.51.2 is older than 3.51.3')
    expect(warnings).toEqual([])
    check('3.43.2', 'darwin')
    expect(warnings).toEqual([expect.stringContaining('3.43.2')])
  })

  test('that is new enough is taken', () => {
    for (const version of ['3.51.3', '3.54.1', '4.0.0']) {
      expect(() => check(version, 'linux')).not.toThrow()
    }
  })
})

describe('a failure outside of requests', () => {
  test('is reported: a listener that throws', async () => {
    await using opened = setupDatabase()
    const { database, reports } = opened
    const failure = new Error('a listener')
    const table = await declareIn(database, 'things')
    database.onCommit(() => {
      throw failure
    })
    await insert(database, table, 'a')
    expect(reports).toEqual([failure])
  })
})

function options() {
  return { clock: createTestClock(), durability: 'full' as const }
}

function modesIn(folder: string): Record<string, string> {
  const names = ['.', ...filesIn(folder)]
  return Object.fromEntries(
    names.map((name) => [name, (statSync(join(folder, name)).mode & 0o777).toString(8)]),
  )
}

/** Paths below a folder that this process has open. */
function openedIn(folder: string): string[] {
  return readdirSync('/proc/self/fd').flatMap((descriptor) => {
    try {
      const path = readlinkSync(`/proc/self/fd/${descriptor}`)
      return path.startsWith(folder) ? [path] : []
    } catch {
      return []
    }
  })
}

/** No descriptor of this process has the file open. */
function overwrite(file: string, start: number, length: number): void {
  const garbage = Buffer.alloc(length, 0xa5)
  const dd = ['dd', `of=${file}`, 'conv=notrunc', 'bs=1', `seek=${start}`, 'status=none']
  const { success } = Bun.spawnSync(dd, { stdin: garbage })
  if (!success) throw new Error('the file could not be damaged')
}

function edit(file: string, sql: string): void {
  using db = new SqliteDatabase(file)
  db.run(sql)
}

import { expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type Migration, migrations } from '../../migrations/sqlite/index'
import { createSqliteStore } from '../../src/sqlite/store'
import { createTestClock, refusalOf } from '../auth/setup'
import { temporaryFolder } from '../setup'

/** A migration that takes SQLite a while. */
const SLOW: Migration = {
  name: '0002_slow',
  sql: `CREATE TABLE slow (n INTEGER) STRICT;
    INSERT INTO slow WITH RECURSIVE numbers (n) AS
      (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 1000000) SELECT n FROM numbers;`,
}
const BROKEN: Migration = { name: '0002_broken', sql: 'SELECT nonsense;' }

const options = { clock: createTestClock(), durability: 'none' } as const

async function setup() {
  const folder = temporaryFolder()
  {
    await using store = createSqliteStore(folder.path, options)
    for (const name of ['older', 'other']) await store.create(name)
  }
  const copy = join(folder.path, 'databases/older/database.sqlite.before-0001_init')
  return { ...folder, copy }
}

test('a database of an earlier version is migrated while others are served', async () => {
  using place = await setup()
  const begun: string[] = []
  await using store = createSqliteStore(place.path, {
    ...options,
    migrations: [...migrations, SLOW],
    onMigration: (...about) => void begun.push(about.join(' ')),
  })
  let isDone = false
  let turns = 0
  const opening = store.open('older').finally(() => (isDone = true))
  while (!isDone) {
    await Bun.sleep(1)
    turns += 1
  }
  const older = await opening
  expect(turns).toBeGreaterThan(20)
  expect(begun).toEqual(['older 0001_init'])
  expect(existsSync(place.copy)).toBe(true)
  expect(await older.read((tx) => tx.jobs.list())).toEqual([])
  expect(await store.open('older')).toBe(older)
})

test('callers that come during a migration share it', async () => {
  using place = await setup()
  const begun: string[] = []
  await using store = createSqliteStore(place.path, {
    ...options,
    migrations: [...migrations, SLOW],
    onMigration: (name) => void begun.push(name),
  })
  const opened = await Promise.all(Array.from({ length: 5 }, () => store.open('older')))
  expect(new Set(opened).size).toBe(1)
  expect(begun).toEqual(['older'])
})

test('a migration that fails is reported, leaves the file as it was, and can be tried again', async () => {
  using place = await setup()
  {
    await using store = createSqliteStore(place.path, {
      ...options,
      migrations: [...migrations, BROKEN],
    })
    for (let times = 0; times < 2; times += 1) {
      const refusal = await refusalOf(() => store.open('older'))
      expect(refusal.code).toBe('STORAGE_FAILED')
      expect(refusal.message).toContain('older/database.sqlite cannot be used: no such column')
    }
  }
  await using store = createSqliteStore(place.path, options)
  const older = await store.open('older')
  expect(await older.read((tx) => tx.jobs.list())).toEqual([])
})

import { Database as SqliteDatabase } from 'bun:sqlite'
import { expect, test } from 'bun:test'
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Store } from '../../src/domain/store/store'
import { createSqliteStore } from '../../src/sqlite/store'
import { createTestClock, refusalOf } from '../auth/setup'
import { declareIn, ensureRealm, eraseAll, fresh, keysOf, NOW } from '../contract/fixture'
import { killCompactions } from '../lab/kill-compactions'
import { canLoadLayer } from '../lab/layer'
import { temporaryFolder } from '../setup'
import { mayMount, mountSmallDisk } from '../small-disk'

const MARK = 'marked-for-erasure'
const options = { clock: createTestClock(), durability: 'full' } as const

test('a compacted database is smaller, has no byte of removed rows and all others', async () => {
  using folder = temporaryFolder()
  await using store = createSqliteStore(folder.path, options)
  const kept = await fill(store)
  const seen: number[] = []
  const { before, after } = await store.compact('main', (done) => seen.push(done))
  expect(after).toBeLessThan(before)
  expect(marked(folder.path)).toEqual([])
  expect(Math.max(0, ...seen)).toBeLessThanOrEqual(before)
  expect(await keysIn(store)).toEqual(kept)
})

test('the draft of a compaction that was interrupted is removed when the database is opened', async () => {
  using folder = temporaryFolder()
  {
    await using store = createSqliteStore(folder.path, options)
    await store.create('main')
  }
  const main = join(folder.path, 'databases', 'main')
  writeFileSync(join(main, 'database.sqlite.compacting'), MARK)
  await using store = createSqliteStore(folder.path, options)
  await store.open('main')
  expect(marked(folder.path)).toEqual([])
})

test('a file that another process has open for writing is not exchanged', async () => {
  using folder = temporaryFolder()
  await using store = createSqliteStore(folder.path, options)
  const kept = await fill(store)
  const file = join(folder.path, 'databases', 'main', 'database.sqlite')
  using other = new SqliteDatabase(file)
  other.run('BEGIN')
  other.query('SELECT count(*) FROM users').get()
  const { code, message } = await refusalOf(() => store.compact('main'))
  expect(code).toBe('STORAGE_FAILED')
  expect(message).toContain(`${file} is as it was: another process works on it`)
  other.run('COMMIT')
  expect(readdirSync(join(file, '..')).filter((name) => name.includes('compacting'))).toEqual([])
  expect(await keysIn(store)).toEqual(kept)
})

test.skipIf(!mayMount)('on a full disk the database stays as it was, and is served', async () => {
  using disk = mountSmallDisk('64m')
  await using store = createSqliteStore(disk.path, options)
  const kept = await fill(store)
  const { size } = statSync(join(disk.path, 'databases', 'main', 'database.sqlite'))
  using ballast = fillDisk(disk.path, size / 4)
  const { code, message } = await refusalOf(() => store.compact('main'))
  expect(code).toBe('STORAGE_FULL')
  expect(message).toContain('needs room to be written anew')
  expect(readdirSync(join(disk.path, 'databases', 'main'))).not.toContain(
    'database.sqlite.compacting',
  )
  expect(await keysIn(store)).toEqual(kept)
  ballast[Symbol.dispose]()
  await store.compact('main')
  expect(marked(disk.path)).toEqual([])
})

// The lab kills at each call (`bun run lab`).
test.skipIf(!canLoadLayer())(
  'a compaction that is killed leaves the database as it was or compacted, at 16 of its calls (needs gcc)',
  async () => {
    const { calls, problems } = await killCompactions(16)
    expect(problems).toEqual([])
    // Or the layer kills nothing.
    expect(calls).toBeGreaterThan(50)
  },
  240_000,
)

/** Objects of two realms in turn, one of which is erased. Returns the keys of the other. */
async function fill(store: Store): Promise<string[]> {
  const database = await store.create('main')
  const table = await declareIn(database, 'things')
  const [kept, gone] = [
    await ensureRealm(database, 'rlm-kept'),
    await ensureRealm(database, 'rlm-gone'),
  ]
  const text = 'x'.repeat(2_000)
  await database.write((tx) => {
    const rows = Array.from({ length: 400 }, (_, n) => {
      const isKept = n % 2 === 0
      const value = JSON.stringify({ text: isKept ? text : `${MARK} ${text}` })
      return fresh(`key${String(n).padStart(3, '0')}`, { realm: isKept ? kept : gone, value })
    })
    tx.objects.put(table, rows, NOW)
  })
  await database.write((tx) => tx.realms.markErasing(gone))
  await eraseAll(database, gone)
  return await keysOf(database, table)
}

/** Writes nothing: the disk may be full. */
async function keysIn(store: Store): Promise<string[]> {
  const database = await store.open('main')
  const table = await database.read((tx) => tx.tables.find('things'))
  return await keysOf(database, table!)
}

function marked(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => readFileSync(file).includes(MARK))
}

/** Leaves this many bytes free until it is disposed. */
function fillDisk(folder: string, free: number): Disposable {
  const file = join(folder, 'ballast')
  const { stdout } = Bun.spawnSync(['df', '--output=avail', '-B1', folder])
  const available = Number(stdout.toString().split('\n')[1])
  writeFileSync(file, Buffer.alloc(Math.max(0, available - free)))
  return { [Symbol.dispose]: () => writeFileSync(file, '') }
}

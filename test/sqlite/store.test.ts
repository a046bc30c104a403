import { describe, expect, test } from 'bun:test'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  statSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { createSqliteStore } from '../../src/sqlite/store'
import { createTestClock, refusalOf } from '../auth/setup'
import { temporaryFolder } from '../setup'

const options = { clock: createTestClock(), durability: 'none' } as const

/** As many files as blobs of a small application, in as many folders. */
function fill(folder: string, files: number): void {
  const folders = Array.from({ length: 16 }, (_, n) => join(folder, 'blobs', n.toString(16)))
  for (const each of folders) mkdirSync(each, { recursive: true })
  for (let n = 0; n < files; n += 1) writeFileSync(join(folders[n % 16] ?? '', String(n)), 'bytes')
}

const leftIn = (folder: string) => readdirSync(join(folder, 'databases'))
const largeIn = (folder: string) => join(folder, 'databases', 'large')

describe('a database with thousands of blobs', () => {
  test('is removed while others are served', async () => {
    using folder = temporaryFolder()
    await using store = createSqliteStore(folder.path, options)
    const other = await store.create('other')
    await store.create('large')
    fill(largeIn(folder.path), 1_000)
    let isRemoved = false
    const removal = store.remove('large').finally(() => (isRemoved = true))
    let answered = 0
    for (; !isRemoved; answered += 1) {
      await other.write((tx) => tx.settings.put({ id: 'count', value: { answered } }))
      await Bun.sleep(0)
    }
    await removal
    expect(answered).toBeGreaterThan(20)
    expect(leftIn(folder.path)).toEqual(['other'])
  })

  test('is no more from the first moment of its removal on', async () => {
    using folder = temporaryFolder()
    await using store = createSqliteStore(folder.path, options)
    await store.create('large')
    fill(largeIn(folder.path), 500)
    const removal = store.remove('large')
    while (existsSync(join(folder.path, 'databases', 'large'))) await Bun.sleep(0)
    expect(leftIn(folder.path)).toHaveLength(1)
    expect(await store.list()).toEqual([])
    expect(await store.has('large')).toBe(false)
    await removal
    expect(leftIn(folder.path)).toEqual([])
  })

  test('whose removal was interrupted holds up neither a start nor an end, and goes in the end', async () => {
    using folder = temporaryFolder()
    const leftover = join(folder.path, 'databases', '.removed-large-123')
    fill(leftover, 1_000)
    {
      await using store = createSqliteStore(folder.path, options)
      await store.create('main')
    }
    expect(existsSync(leftover)).toBe(true)
    await using store = createSqliteStore(folder.path, options)
    while (existsSync(leftover)) await Bun.sleep(5)
    expect(leftIn(folder.path)).toEqual(['main'])
    expect(await store.list()).toEqual(['main'])
  })

  test('that cannot be removed is told, and does not keep others from it', async () => {
    using folder = temporaryFolder()
    const root = join(folder.path, 'databases')
    fill(join(root, '.removed-b-1'), 10)
    writeFileSync(join(root, '.removed-a-1'), 'no folder')
    const reported: string[] = []
    const report = (name: string) => void reported.push(name)
    await using _ = createSqliteStore(folder.path, { ...options, report })
    while (existsSync(join(root, '.removed-b-1'))) await Bun.sleep(5)
    expect(reported).toEqual(['.removed-a-1'])
  })
})

describe('a database file that has lost its content', () => {
  async function setup() {
    const folder = temporaryFolder()
    const home = join(folder.path, 'databases', 'main')
    const file = join(home, 'database.sqlite')
    {
      await using store = createSqliteStore(folder.path, options)
      await store.create('main')
    }
    const size = statSync(file).size
    const attempt = async (verb: 'open' | 'create') => {
      await using store = createSqliteStore(folder.path, options)
      return await refusalOf(() => store[verb]('main'))
    }
    return { folder, home, file, size, attempt, [Symbol.dispose]: () => folder[Symbol.dispose]() }
  }

  test.each([0, 1, 10, 100, 512, 4096, 0.5, -4096, -1])(
    'is refused as it is when it was cut off at %p bytes',
    async (cut) => {
      using place = await setup()
      const { file, size } = place
      const left = cut < 0 ? size + cut : cut === 0.5 ? size / 2 : cut
      truncateSync(file, left)
      const refusal = await place.attempt('open')
      expect(refusal.code).toBe('STORAGE_FAILED')
      expect(refusal.message).toContain(file)
      expect(statSync(file).size).toBe(left)
    },
  )

  test('is refused beside its secret key, also where the table of folders is lost', async () => {
    using place = await setup()
    const { folder, home, file } = place
    writeFileSync(join(home, 'secret.key'), 'a key')
    unlinkSync(join(folder.path, 'server.sqlite'))
    truncateSync(file, 0)
    expect((await place.attempt('open')).code).toBe('STORAGE_FAILED')
    expect(statSync(file).size).toBe(0)
  })

  test('keeps the log beside it, which SQLite would remove', async () => {
    using place = await setup()
    const { folder, file } = place
    unlinkSync(join(folder.path, 'server.sqlite'))
    truncateSync(file, 0)
    writeFileSync(`${file}-wal`, 'the last writes')
    expect((await place.attempt('open')).code).toBe('STORAGE_FAILED')
    expect(statSync(`${file}-wal`).size).toBe(15)
  })

  test('is not replaced by a new one when it is missing beside its secret key', async () => {
    using place = await setup()
    writeFileSync(join(place.home, 'secret.key'), 'a key')
    unlinkSync(place.file)
    const refusal = await place.attempt('create')
    expect(refusal.code).toBe('STORAGE_FAILED')
    expect(refusal.message).toContain(`${place.file} is missing`)
    expect(existsSync(place.file)).toBe(false)
  })

  test('is made when a crash left it empty before it had data', async () => {
    using folder = temporaryFolder()
    const home = join(folder.path, 'databases', 'main')
    mkdirSync(home, { recursive: true })
    writeFileSync(join(home, 'database.sqlite'), '')
    await using store = createSqliteStore(folder.path, options)
    const database = await store.open('main')
    expect(await database.read((tx) => tx.origins.list())).toEqual([])
  })
})

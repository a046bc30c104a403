import { describe, expect, test } from 'bun:test'
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createSqliteStore } from '../../src/sqlite/store'
import { createTestClock } from '../auth/setup'
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

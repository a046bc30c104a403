import { expect, test } from 'bun:test'
import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createSqliteStore } from '../../src/sqlite/store'
import { codeOf, createTestClock, refusalOf } from '../auth/setup'
import { temporaryFolder } from '../setup'
import { copyFolder } from './folders'

const options = { clock: createTestClock(), durability: 'none' } as const

function setup() {
  const folder = temporaryFolder()
  const pathOf = (name: string) => join(folder.path, 'databases', name)
  return {
    /** Runs `work` with the store of a process of its own. */
    async run<T>(work: (store: ReturnType<typeof createSqliteStore>) => Promise<T>): Promise<T> {
      await using store = createSqliteStore(folder.path, options)
      return await work(store)
    },
    fileOf: (name: string) => join(pathOf(name), 'database.sqlite'),
    copy: (from: string, to: string) => copyFolder(pathOf(from), pathOf(to)),
    rename: (from: string, to: string) => renameSync(pathOf(from), pathOf(to)),
    [Symbol.dispose]: () => folder[Symbol.dispose](),
  }
}

// promises.md 13
test('a copied folder is refused alone, whichever is opened first, until it is adopted', async () => {
  using place = setup()
  const id = await place.run(async (store) => (await store.create('main')).id)
  place.copy('main', 'copy')
  await place.run(async (store) => {
    const refusal = await refusalOf(() => store.open('copy'))
    expect(refusal.code).toBe('COPIED_DATABASE')
    expect(refusal.message).toContain('satchel db adopt copy')
    expect((await store.open('main')).id).toBe(id)
    expect(await codeOf(() => store.open('copy'))).toBe('COPIED_DATABASE')
    await store.adopt('copy')
    expect((await store.open('copy')).id).not.toBe(id)
  })
  await place.run(async (store) => {
    expect((await store.open('copy')).id).not.toBe(id)
    expect((await store.open('main')).id).toBe(id)
  })
})

test('an adopted copy has no key, login or code of the original, and all the rest', async () => {
  using place = setup()
  await place.run(async (store) => {
    const database = await store.create('main')
    await database.write((tx) => {
      tx.keys.put({
        id: 'k',
        state: 'current',
        publicKey: '{}',
        sealedPrivateKey: 'x',
        created: 0,
        retired: null,
      })
      tx.origins.put({ id: 'https://a.example', created: 0 })
    })
  })
  place.copy('main', 'copy')
  await place.run(async (store) => {
    await store.adopt('copy')
    const contentOf = async (name: string) => {
      const database = await store.open(name)
      return await database.read((tx) => [tx.keys.list().length, tx.origins.list().length])
    }
    expect(await contentOf('copy')).toEqual([0, 1])
    expect(await contentOf('main')).toEqual([1, 1])
  })
})

test('a database that is no copy is not adopted', async () => {
  using place = setup()
  await place.run(async (store) => {
    const { id } = await store.create('main')
    expect(await codeOf(() => store.adopt('main'))).toBe('CONFLICT')
    expect(await codeOf(() => store.adopt('none'))).toBe('UNKNOWN_DATABASE')
    expect((await store.open('main')).id).toBe(id)
  })
})

test('folders may be renamed, exchanged and moved away', async () => {
  using place = setup()
  const { a, b } = await place.run(async (store) => ({
    a: (await store.create('a')).id,
    b: (await store.create('b')).id,
  }))
  const idOf = (name: string) => place.run(async (store) => (await store.open(name)).id)
  place.rename('a', 'c')
  expect(await idOf('c')).toBe(a)
  place.rename('c', 'x')
  place.rename('b', 'c')
  place.rename('x', 'b')
  expect([await idOf('b'), await idOf('c')]).toEqual([a, b])
})

test('a copy takes the place of an original that was deleted, but not of one that is damaged', async () => {
  using place = setup()
  const id = await place.run(async (store) => (await store.create('main')).id)
  place.copy('main', 'copy')
  await place
    .run(async (store) => {
      await store.open('main')
      writeFileSync(place.fileOf('main'), 'damaged')
    })
    .catch(() => undefined)
  await place.run(async (store) => {
    expect(await codeOf(() => store.open('copy'))).toBe('COPIED_DATABASE')
    await store.remove('main')
    expect((await store.open('copy')).id).toBe(id)
  })
})

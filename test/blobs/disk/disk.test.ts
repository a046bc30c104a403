import { expect, test } from 'bun:test'
import { existsSync, mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { createDiskBlobs } from '../../../src/blobs/disk/disk'
import { codeOf } from '../../auth/setup'
import { ANY_SIZE, bring, chunksOf, hashOf, listed } from '../../contract/content-fixture'
import { temporaryFolder } from '../../setup'

const fileOf = ({ path }: { readonly path: string }, hash: string) =>
  join(path, hash.slice(0, 2), hash.slice(2))

function setup() {
  const folder = temporaryFolder()
  const reported: unknown[] = []
  const path = join(folder.path, 'blobs')
  const report = (error: unknown) => void reported.push(error)
  const store = createDiskBlobs(path, { isDurable: true, report })
  return { path, store, reported, [Symbol.dispose]: () => folder[Symbol.dispose]() }
}

test('a content lies under its hash, for its owner alone', async () => {
  using scene = setup()
  const hash = await bring(scene.store, 'abc')
  const shelf = join(scene.path, hash.slice(0, 2))
  const modes = [scene.path, join(scene.path, 'incoming'), shelf, join(shelf, hash.slice(2))].map(
    (path) => (statSync(path).mode & 0o777).toString(8),
  )
  expect(modes).toEqual(['700', '700', '700', '600'])
  expect(readdirSync(join(scene.path, 'incoming'))).toEqual([])
})

test('nothing but a hash becomes part of a path (promise 27)', async () => {
  using scene = setup()
  const { store } = scene
  const yes = async () => true
  writeFileSync(join(scene.path, '..', 'secret'), 'abc')
  const names = ['../secret', '..', '', 'ab', `${'a'.repeat(62)}/x`, 'A'.repeat(64), 'g'.repeat(64)]
  for (const name of [...names, `${'a'.repeat(64)}\0`, `${'a'.repeat(64)}\n`]) {
    expect(store.open(name, 3)).rejects.toThrow('named by its hash')
    expect(store.remove(name, yes)).rejects.toThrow('named by its hash')
    expect(store.check(name)).rejects.toThrow('named by its hash')
  }
})

test('foreign files in the folder are no contents', async () => {
  using scene = setup()
  const hash = await bring(scene.store, 'abc')
  writeFileSync(join(scene.path, 'README'), '')
  writeFileSync(join(scene.path, hash.slice(0, 2), 'README'), '')
  mkdirSync(join(scene.path, 'other'))
  expect(await listed(scene.store)).toEqual([hash])
})

test('all remains of a crash are removed by the next sweep', async () => {
  using scene = setup()
  const { store, path } = scene
  const used = await bring(store, 'used')
  writeFileSync(join(path, 'incoming', 'half'), 'ab')
  writeFileSync(join(path, 'incoming', used), '')
  writeFileSync(join(path, 'incoming', hashOf('never placed')), '')
  await store.sweep(async (hash) => hash === used)
  expect(readdirSync(join(path, 'incoming'))).toEqual([])
  expect(await listed(store)).toEqual([used])
})

test('an upload works again when its folder can be made', async () => {
  using scene = setup()
  const { store, path } = scene
  writeFileSync(path, 'in the way')
  const receive = () => store.receive(chunksOf('abc'), ANY_SIZE)
  expect(await codeOf(receive)).toBe('STORAGE_FAILED')
  Bun.spawnSync(['rm', path])
  expect(await bring(store, 'abc')).toBe(hashOf('abc'))
  expect(scene.reported).toEqual([])
})

test.skipIf(!existsSync('/proc/self/fd'))(
  'few files are open, however many contents wait (told by /proc, on Linux)',
  async () => {
    using scene = setup()
    const { store } = scene
    const openFiles = () => readdirSync('/proc/self/fd').length
    const before = openFiles()
    const texts = Array.from({ length: 300 }, (_, n) => `content ${n}`)
    {
      await using waiting = new AsyncDisposableStack()
      const arrivals = []
      for (const text of texts) {
        arrivals.push(waiting.use(await store.receive(chunksOf(text), ANY_SIZE)))
      }
      expect(openFiles() - before).toBeLessThan(100)
      for (const arrival of arrivals) await arrival.keep(async () => undefined)
    }
    expect(openFiles() - before).toBeLessThan(10)
    expect(await listed(store)).toEqual(texts.map(hashOf).toSorted())
  },
)

test('contents that wait by the hundred mend what is damaged', async () => {
  using scene = setup()
  const { store } = scene
  const texts = Array.from({ length: 100 }, (_, n) => `content ${n}`)
  const files: string[] = []
  for (const text of texts) files.push(fileOf(scene, await bring(store, text)))
  for (const file of files) writeFileSync(file, 'x'.repeat(statSync(file).size))
  await using waiting = new AsyncDisposableStack()
  const arrivals = []
  for (const text of texts) {
    arrivals.push(waiting.use(await store.receive(chunksOf(text), ANY_SIZE)))
  }
  for (const arrival of arrivals) await arrival.keep(async () => undefined)
  expect(files.map((file) => readFileSync(file, 'utf8'))).toEqual(texts)
})

test('a reader of a content that is being repaired continues with the old file', async () => {
  using scene = setup()
  const file = fileOf(scene, await bring(scene.store, 'abc'))
  writeFileSync(file, 'xyz')
  await using reader = await open(file)
  await bring(scene.store, 'abc')
  expect(readFileSync(file, 'utf8')).toBe('abc')
  expect(await reader.readFile('utf8')).toBe('xyz')
})

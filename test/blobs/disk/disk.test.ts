import { expect, test } from 'bun:test'
import { existsSync, mkdirSync, readdirSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createDiskBlobs } from '../../../src/blobs/disk/disk'
import { codeOf, createTestClock } from '../../auth/setup'
import { ANY_SIZE, bring, chunksOf, hashOf, listed } from '../../contract/content-fixture'
import { temporaryFolder } from '../../setup'
import { fileWith } from '../files'

function setup() {
  const folder = temporaryFolder()
  const reported: unknown[] = []
  const path = join(folder.path, 'blobs')
  const report = (error: unknown) => void reported.push(error)
  const clock = createTestClock()
  const store = createDiskBlobs(path, { clock, isDurable: true, report })
  return { path, store, clock, reported, [Symbol.dispose]: () => folder[Symbol.dispose]() }
}

test('a content is one file, which only its owner can read', async () => {
  using scene = setup()
  const { place } = await bring(scene.store, 'abc')
  const shelf = join(scene.path, place.slice(-2))
  const modes = [scene.path, join(scene.path, 'incoming'), shelf, join(shelf, place)].map((path) =>
    (statSync(path).mode & 0o777).toString(8),
  )
  expect(modes).toEqual(['700', '700', '700', '600'])
  expect(readdirSync(join(scene.path, 'incoming'))).toEqual([])
  expect(fileWith(scene.path, 'abc')).toBe(join(shelf, place))
})

test('nothing but a place becomes part of a path (promise 27)', async () => {
  using scene = setup()
  const { store } = scene
  writeFileSync(join(scene.path, '..', 'secret'), 'abc')
  const good = `1-${'a'.repeat(24)}`
  const names = ['../secret', '..', '', 'ab', `../${good}`, `${good}/x`, good.toUpperCase()]
  for (const name of [...names, `1-${'g'.repeat(24)}`, `${good}\0`, `${good}\n`]) {
    expect(store.open(name, 3)).rejects.toThrow('not a place')
    expect(store.remove(name)).rejects.toThrow('not a place')
    expect(store.check(name, hashOf('abc'))).rejects.toThrow('not a place')
  }
})

test('foreign files in the folder are not contents', async () => {
  using scene = setup()
  const { place } = await bring(scene.store, 'abc')
  writeFileSync(join(scene.path, 'README'), '')
  writeFileSync(join(scene.path, place.slice(-2), 'README'), '')
  mkdirSync(join(scene.path, 'other'))
  expect(await listed(scene.store)).toEqual([place])
})

test('a sweep removes whatever a crash left in the middle', async () => {
  using scene = setup()
  const { store, path, clock } = scene
  const places: string[] = []
  for (let n = 0; n < 4; n += 1) places.push((await bring(store, `content ${n}`)).place)
  const [used = '', unused = '', later = '', elsewhere = ''] = places
  const rename = (from: string, time: number, shelf: string) => {
    const place = `${time.toString(36)}-${from.slice(-24, -2)}${shelf}`
    renameSync(join(path, from.slice(-2), from), join(path, shelf, place))
    return place
  }
  const now = clock.now()
  const kept = [rename(used, now, 'aa'), rename(later, now + 10_000, 'aa')]
  const [earlier, stray] = [rename(elsewhere, now - 1, 'aa'), rename(unused, now + 9_999, 'aa')]
  writeFileSync(join(path, 'incoming', 'half'), 'ab')
  writeFileSync(join(path, 'incoming', `${now.toString(36)}-${'a'.repeat(24)}.mark`), '')
  writeFileSync(join(path, 'incoming', `1-${'b'.repeat(24)}.mark`), '')
  const asked: string[] = []
  await store.sweep(Infinity, async (place) => {
    asked.push(place)
    return kept.includes(place)
  })
  expect(asked.toSorted()).toEqual([kept[0] ?? '', stray].toSorted())
  expect(readdirSync(join(path, 'incoming'))).toEqual([])
  expect(await listed(store)).toEqual([...kept, earlier].toSorted())
})

test('the places of ten seconds share a shelf, and a mark until all are recorded', async () => {
  using scene = setup()
  const { store, path, clock } = scene
  const marks = () => readdirSync(join(path, 'incoming')).filter((name) => name.endsWith('.mark'))
  await using arrivals = new AsyncDisposableStack()
  const recorded = Promise.withResolvers<void>()
  const begin = async () => {
    const arrival = arrivals.use(await store.receive(chunksOf('abc'), ANY_SIZE))
    const reached = Promise.withResolvers<void>()
    const kept = arrival.keep(async () => {
      reached.resolve()
      await recorded.promise
      return arrival.place
    })
    await reached.promise
    return { kept, shelf: arrival.place.slice(-2) }
  }
  const first = await begin()
  clock.advance(9_999)
  const second = await begin()
  expect(second.shelf).toBe(first.shelf)
  expect(marks()).toHaveLength(1)
  clock.advance(1)
  const third = await begin()
  clock.advance(-1)
  const back = await begin()
  expect(marks()).toHaveLength(3)
  recorded.resolve()
  const kept = await Promise.all([first, second, third, back].map((each) => each.kept))
  expect(marks()).toEqual([])
  expect(await listed(store)).toEqual(kept.toSorted())
})

test('an upload works again when its folder can be made', async () => {
  using scene = setup()
  const { store, path } = scene
  writeFileSync(path, 'in the way')
  const receive = () => store.receive(chunksOf('abc'), ANY_SIZE)
  expect(await codeOf(receive)).toBe('STORAGE_FAILED')
  Bun.spawnSync(['rm', path])
  expect(await bring(store, 'abc')).toMatchObject({ hash: hashOf('abc') })
  expect(scene.reported).toEqual([])
})

test.skipIf(!existsSync('/proc/self/fd'))(
  'few files are open, however many contents wait (told by /proc, on Linux)',
  async () => {
    using scene = setup()
    const { store } = scene
    const openFiles = () => readdirSync('/proc/self/fd').length
    const before = openFiles()
    const places: string[] = []
    {
      await using waiting = new AsyncDisposableStack()
      const arrivals = []
      for (let n = 0; n < 300; n += 1) {
        arrivals.push(waiting.use(await store.receive(chunksOf(`content ${n}`), ANY_SIZE)))
      }
      expect(openFiles() - before).toBeLessThan(100)
      for (const arrival of arrivals) places.push(await arrival.keep(async () => arrival.place))
    }
    expect(openFiles() - before).toBeLessThan(10)
    expect(await listed(store)).toEqual(places.toSorted())
  },
)

import { expect, test } from 'bun:test'
import { existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { createDiskBlobs, openDiskBlobs } from '../../../src/blobs/disk/disk'
import { codeOf } from '../../auth/setup'
import { ANY_SIZE, bring, chunksOf, hashOf, listed } from '../../contract/content-fixture'
import { temporaryFolder } from '../../setup'
import { fileWith } from '../files'

function setup() {
  const folder = temporaryFolder()
  const reported: unknown[] = []
  const path = join(folder.path, 'blobs')
  const report = (error: unknown) => void reported.push(error)
  const isUsed = async () => false
  const options = { isDurable: true, isUsed, report }
  const store = createDiskBlobs(path, options)
  return { path, store, options, reported, [Symbol.dispose]: () => folder[Symbol.dispose]() }
}

test('a content is one file named by its SHA-256, which only its owner can read', async () => {
  using scene = setup()
  const { file } = await bring(scene.store, 'abc')
  expect(file).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad')
  const modes = [scene.path, join(scene.path, 'incoming'), join(scene.path, file)].map((path) =>
    (statSync(path).mode & 0o777).toString(8),
  )
  expect(modes).toEqual(['700', '700', '600'])
  expect(readdirSync(scene.path).toSorted()).toEqual([file, 'incoming'])
  expect(readdirSync(join(scene.path, 'incoming'))).toEqual([])
})

test('sha256sum verifies the folder without Satchel', async () => {
  using scene = setup()
  for (const text of ['abc', '', 'x'.repeat(300_000)]) await bring(scene.store, text)
  const verify = () => {
    const list = "find . -maxdepth 1 -type f -printf '%f  %f\\n' | sha256sum --check --quiet"
    const { exitCode, stdout } = Bun.spawnSync(['sh', '-c', list], { cwd: scene.path })
    return { exitCode, named: stdout.toString().trim() }
  }
  expect(verify()).toEqual({ exitCode: 0, named: '' })
  const file = fileWith(scene.path, 'abc')
  writeFileSync(file, 'abd')
  expect(verify()).toEqual({ exitCode: 1, named: `${basename(file)}: FAILED` })
})

test('nothing but a hash becomes part of a path (promise 27)', async () => {
  using scene = setup()
  const { store } = scene
  writeFileSync(join(scene.path, '..', 'secret'), 'abc')
  const good = 'a'.repeat(64)
  const names = ['../secret', '..', '', 'ab', `../${good}`, `${good}/x`, good.toUpperCase()]
  for (const name of [...names, 'g'.repeat(64), `${good}\0`, `${good}\n`]) {
    expect(store.open(name, 3)).rejects.toThrow('not a file')
    expect(store.remove(name)).rejects.toThrow('not a file')
    expect(store.check(name, hashOf('abc'))).rejects.toThrow('not a file')
  }
})

test('foreign files in the folder are not contents', async () => {
  using scene = setup()
  const { file } = await bring(scene.store, 'abc')
  writeFileSync(join(scene.path, 'README'), '')
  mkdirSync(join(scene.path, 'other'))
  expect(await listed(scene.store)).toEqual([file])
})

test('whatever a crash left in the middle is removed', async () => {
  using scene = setup()
  const { store, path, options } = scene
  const { file } = await bring(store, 'abc')
  writeFileSync(join(path, 'incoming', 'half'), 'ab')
  await using next = await openDiskBlobs(path, options)
  expect(readdirSync(join(path, 'incoming'))).toEqual([])
  expect(await listed(next)).toEqual([file])
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
    const files: string[] = []
    {
      await using waiting = new AsyncDisposableStack()
      const arrivals = []
      for (let n = 0; n < 300; n += 1) {
        arrivals.push(waiting.use(await store.receive(chunksOf(`content ${n}`), ANY_SIZE)))
      }
      expect(openFiles() - before).toBeLessThan(100)
      for (const arrival of arrivals) files.push(await arrival.keep(async () => arrival.file))
    }
    expect(openFiles() - before).toBeLessThan(10)
    expect(await listed(store)).toEqual(files.toSorted())
  },
)

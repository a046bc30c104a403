import { existsSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'bun:test'
import { createDiskScratch } from '../../../src/blobs/disk/scratch'
import { codeOf, createTestClock } from '../../auth/setup'
import { describeScratch } from '../../contract/scratch'
import { temporaryFolder } from '../../setup'
import { mayMount, mountSmallDisk } from '../../small-disk'

describeScratch('Disk', () => {
  const folder = temporaryFolder()
  const path = join(folder.path, 'imports')
  const clock = createTestClock()
  return {
    scratch: createDiskScratch(path, clock),
    clock,
    another: () => createDiskScratch(path, clock),
    names: () => (existsSync(path) ? readdirSync(path).toSorted() : []),
    [Symbol.dispose]: () => folder[Symbol.dispose](),
  }
})

test('only the owner can read the files', async () => {
  using folder = temporaryFolder()
  const path = join(folder.path, 'imports')
  await using file = await createDiskScratch(path, createTestClock()).create('ndjson')
  const modes = [path, join(path, file.name)].map((at) => (statSync(at).mode & 0o777).toString(8))
  expect(modes).toEqual(['700', '600'])
})

test('nothing but a file name becomes part of a path (promise 27)', async () => {
  using folder = temporaryFolder()
  writeFileSync(join(folder.path, 'secret'), 'x')
  const scratch = createDiskScratch(join(folder.path, 'imports'), createTestClock())
  for (const name of ['../secret', '..', '.', '/etc/passwd', 'a/b', 'a\\b', 'a\0']) {
    expect(scratch.open(name)).rejects.toThrow('not the name')
    expect(async () => scratch.remove(name)).toThrow('not the name')
  }
  expect(existsSync(join(folder.path, 'secret'))).toBe(true)
})

test.skipIf(!mayMount)('a full disk is reported, and the file is gone', async () => {
  using disk = mountSmallDisk('2m')
  const scratch = createDiskScratch(disk.path, createTestClock())
  const before = readdirSync(disk.path)
  const fill = async () => {
    await using file = await scratch.create('ndjson')
    for (let n = 0; n < 10; n += 1) await file.write(Buffer.alloc(1024 * 1024))
  }
  expect(await codeOf(fill)).toBe('STORAGE_FULL')
  expect(readdirSync(disk.path)).toEqual(before)
})

import { expect, test } from 'bun:test'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { thisProcess, writeHolder } from '../../src/host/holder'
import { readConfig } from '../../src/config/config'
import { takeDataFolder } from '../../src/host/data-folder'
import { createMemoryFolder } from '../../src/host/folder'
import { lockFolder } from '../../src/sqlite/lock'
import { createTestClock, refusalOf } from '../auth/setup'
import { temporaryFolder } from '../setup'

test('lies in the first place that can be written, and is gone afterwards', () => {
  using place = temporaryFolder()
  let path = ''
  {
    using folder = createMemoryFolder(['/nowhere', place.path])
    path = folder.path
    expect(existsSync(path)).toBe(true)
    expect(path).toStartWith(`${place.path}/satchel-memory-`)
  }
  expect(existsSync(path)).toBe(false)
})

test('clears away what killed processes left, and nothing that is in use or begins', () => {
  using place = temporaryFolder()
  using abandoned = createMemoryFolder([place.path])
  writeHolder(abandoned.path, thisProcess())
  using used = createMemoryFolder([place.path])
  using lock = lockFolder(used.path)
  expect(lock).toBeDefined()
  writeHolder(used.path, thisProcess())
  using next = createMemoryFolder([place.path])
  expect(
    readdirSync(place.path)
      .map((name) => join(place.path, name))
      .toSorted(),
  ).toEqual([used.path, next.path].toSorted())
  using last = createMemoryFolder([place.path])
  expect(existsSync(next.path)).toBe(true)
  expect(existsSync(last.path)).toBe(true)
})

test('follows no link and opens no folder that others planted beside its own', () => {
  using place = temporaryFolder()
  const victim = join(place.path, 'victim')
  writeFileSync(victim, '')
  chmodSync(victim, 0o644)
  const plant = (folder: string, mode: number) => {
    mkdirSync(folder)
    writeFileSync(join(folder, 'holder.json'), '{}')
    symlinkSync(victim, join(folder, 'lock.sqlite'))
    chmodSync(folder, mode)
  }
  const shared = join(place.path, 'shared')
  mkdirSync(shared)
  plant(join(shared, 'satchel-memory-open'), 0o777)
  plant(join(place.path, 'elsewhere'), 0o700)
  symlinkSync(join(place.path, 'elsewhere'), join(shared, 'satchel-memory-link'))
  symlinkSync(victim, join(shared, 'satchel-memory-file'))
  using folder = createMemoryFolder([shared])
  expect(existsSync(folder.path)).toBe(true)
  expect(statSync(victim).mode & 0o777).toBe(0o644)
  expect(existsSync(join(place.path, 'elsewhere', 'holder.json'))).toBe(true)
  expect(readdirSync(shared)).toHaveLength(4)
})

test('a link in place of the lock is not followed', () => {
  using place = temporaryFolder()
  const victim = join(place.path, 'victim')
  writeFileSync(victim, '')
  chmodSync(victim, 0o644)
  const folder = join(place.path, 'folder')
  mkdirSync(folder)
  symlinkSync(victim, join(folder, 'lock.sqlite'))
  expect(() => lockFolder(folder)).toThrow('is a link, which is not followed')
  expect(statSync(victim).mode & 0o777).toBe(0o644)
  expect(statSync(victim).size).toBe(0)
})

const take = (data: string) =>
  takeDataFolder(readConfig({ environment: {}, flags: { data } }), createTestClock())
const modeOf = (path: string) => statSync(path).mode & 0o777

test('an existing folder is closed to other users', async () => {
  using place = temporaryFolder()
  const data = join(place.path, 'data')
  mkdirSync(data)
  for (const mode of [0o777, 0o755, 0o770]) {
    chmodSync(data, mode)
    await using folder = await take(data)
    expect(folder).toBeDefined()
    expect(modeOf(data)).toBe(0o700)
  }
})

test('a folder of other things that every user may write is refused, and left as it is', async () => {
  using place = temporaryFolder()
  writeFileSync(join(place.path, 'other.txt'), '')
  chmodSync(place.path, 0o777)
  const refusal = await refusalOf(async () => {
    await using folder = await take(place.path)
    return folder
  })
  expect(refusal.code).toBe('READ_ONLY')
  expect(refusal.message).toContain(place.path)
  expect(modeOf(place.path)).toBe(0o777)
  expect(readdirSync(place.path)).toEqual(['other.txt'])
  chmodSync(place.path, 0o755)
  await using folder = await take(place.path)
  expect(folder).toBeDefined()
  expect(modeOf(place.path)).toBe(0o755)
})

import { expect, test } from 'bun:test'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { thisProcess, writeHolder } from '../../src/host/holder'
import { createMemoryFolder } from '../../src/host/data-folder'
import { lockFolder } from '../../src/sqlite/lock'
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

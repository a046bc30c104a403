import { describe, expect, test } from 'bun:test'
import { copyFileSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PUBLIC_REALM_REF } from '../../src/domain/store/realms'
import { createSqliteStore } from '../../src/sqlite/store'
import { createTestClock } from '../auth/setup'
import { declareIn, insert, keysOf, refusalOf } from '../contract/fixture'
import { temporaryFolder } from '../setup'

/**
 * Promise 9: a restart heals. A log that belongs to another version of the file, because the file was
 * restored or replaced, is detected; the index of the log never matters.
 */

const FILES = ['', '-wal', '-shm'] as const

/** States of one database: `file` without its log, `crashed` with the log of a process that was killed. */
async function makeStates() {
  const folder = temporaryFolder()
  const open = () =>
    createSqliteStore(folder.path, { clock: createTestClock(), durability: 'none' })
  const fileOf = (state: string) => join(folder.path, state)
  const file = join(folder.path, 'databases', 'main', 'database.sqlite')
  const keep = (state: string) => {
    for (const part of FILES) {
      if (existsSync(file + part)) copyFileSync(file + part, fileOf(state) + part)
    }
  }
  {
    await using store = open()
    const database = await store.create('main')
    await insert(database, await declareIn(database, 'things'), 'a')
  }
  keep('old')
  {
    await using store = open()
    const database = await store.open('main')
    const table = (await database.read((tx) => tx.tables.find('things')))!
    // The first makes the file newer than the old one, the second is in the log alone.
    await insert(database, table, 'b')
    keep('crashed-early')
  }
  {
    await using store = open()
    const database = await store.open('main')
    const table = (await database.read((tx) => tx.tables.find('things')))!
    await insert(database, table, 'c')
    keep('crashed')
  }
  keep('new')
  return { fileOf, [Symbol.dispose]: () => folder[Symbol.dispose]() }
}

type States = Awaited<ReturnType<typeof makeStates>>

/** The keys in a database that is put together from the file of one state and the log of another. */
async function keysIn(
  { fileOf }: States,
  file: string,
  log: string | undefined,
  change: (file: string) => void = () => undefined,
) {
  using folder = temporaryFolder()
  const target = join(folder.path, 'databases', 'main', 'database.sqlite')
  mkdirSync(join(folder.path, 'databases', 'main'), { recursive: true, mode: 0o700 })
  copyFileSync(fileOf(file), target)
  if (log !== undefined) {
    for (const part of ['-wal', '-shm']) copyFileSync(fileOf(log) + part, target + part)
  }
  change(target)
  await using store = createSqliteStore(folder.path, {
    clock: createTestClock(),
    durability: 'none',
  })
  const database = await store.open('main')
  const meaning = { entries: [], blobs: [], membership: undefined }
  for await (const { faults } of database.verify(() => meaning, false)) {
    expect(faults).toEqual([])
  }
  expect(await database.read((tx) => tx.realms.findByRef(PUBLIC_REALM_REF)?.id)).toBe('rlm-public')
  const table = (await database.read((tx) => tx.tables.find('things')))!
  return keysOf(database, table)
}

describe('promise 9: a log beside a database file', () => {
  test('that belongs to it is read, whatever its index says', async () => {
    using states = await makeStates()
    expect(await keysIn(states, 'crashed', 'crashed')).toEqual(['a', 'b', 'c'])
    expect(await keysIn(states, 'crashed-early', 'crashed-early')).toEqual(['a', 'b'])
    const garbage = (file: string) => writeFileSync(`${file}-shm`, Buffer.alloc(32_768, 7))
    expect(await keysIn(states, 'crashed', 'crashed', garbage)).toEqual(['a', 'b', 'c'])
    const without = (file: string) => rmSync(`${file}-shm`)
    expect(await keysIn(states, 'crashed', 'crashed', without)).toEqual(['a', 'b', 'c'])
  })

  test('that is gone is refused while its index names rows that were in it alone', async () => {
    using states = await makeStates()
    const gone = (file: string) => rmSync(`${file}-wal`)
    for (const state of ['crashed', 'crashed-early']) {
      expect(await refusalOf(keysIn(states, state, state, gone))).toBe('STORAGE_FAILED')
      expect(keysIn(states, state, state, gone)).rejects.toThrow(
        /database\.sqlite-wal is gone, and \d+ pages of commits were in it alone: .*rm .*-shm/,
      )
    }
    const givenUp = (file: string) => {
      gone(file)
      rmSync(`${file}-shm`)
    }
    expect(await keysIn(states, 'crashed', 'crashed', givenUp)).toEqual(['a', 'b'])
  })

  test.each([
    ['an older file was restored', 'old', 'crashed'],
    ['a newer file was restored', 'new', 'crashed-early'],
  ])('is refused when %s, until it is removed', async (_, file, log) => {
    using states = await makeStates()
    expect(await refusalOf(keysIn(states, file, log))).toBe('STORAGE_FAILED')
    expect(keysIn(states, file, log)).rejects.toThrow(
      /database\.sqlite-wal does not belong to this .*remove .*-wal and .*-shm/,
    )
    expect((await keysIn(states, file, undefined))[0]).toBe('a')
  })
})

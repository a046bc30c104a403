import { Database as SqliteDatabase } from 'bun:sqlite'
import { expect, test } from 'bun:test'
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import type { RealmRef } from '../../src/domain/store/realms'
import type { Database } from '../../src/domain/store/store'
import type { Table } from '../../src/domain/store/tables'
import { declare, declareIn, fresh, NOW, WHOLE } from '../contract/fixture'
import { temporaryFolder } from '../setup'
import type { Connection } from '../../src/sqlite/connection'
import { SqliteReadTx } from '../../src/sqlite/tx'
import { openIn, setupDatabase, setupWriter } from './setup'

/** Realms with one object each, `k<n>` in the realm with the number n of `refs`. */
async function fill(database: Database, table: Table, count: number): Promise<RealmRef[]> {
  const refs: RealmRef[] = []
  await database.write((tx) => {
    for (let n = 0; n < count; n += 1) {
      const { ref } = tx.realms.ensure(`rlm${n}`)
      refs.push(ref)
      tx.objects.put(table, [fresh(`k${n}`, { realm: ref })], NOW)
    }
  })
  return refs
}

/** Touches one object in each of these realms, all in one unit. */
async function touch(database: Database, table: Table, places: readonly number[]): Promise<number> {
  await database.write((tx) => {
    for (const n of places) {
      const previous = tx.objects.find(table, `k${n}`)
      if (previous === undefined) throw new Error(`there is no k${n}`)
      const put = fresh(previous.key, { realm: previous.realm, previous })
      tx.objects.put(table, [put], NOW)
    }
  })
  return database.read((tx) => tx.revision())
}

/** The keys that changed after a revision in all of these realms. */
async function changedAfter(database: Database, refs: readonly RealmRef[], revision: number) {
  const { changes } = await database.read((tx) =>
    tx.objects.changes(new Set(refs), revision, Infinity, WHOLE),
  )
  return changes.map(({ key }) => key)
}

const count = (file: string, sql: string): number => {
  using db = new SqliteDatabase(file, { readonly: true })
  return (db.query(sql).values()[0] as [number])[0]
}

const LOGGED = 'SELECT count(*) FROM realm_moves'
const MOVED_HEADS = 'SELECT count(*) FROM realm_ids WHERE head > 0'

test('a commit writes the heads of all its realms in one row', async () => {
  await using opened = setupDatabase()
  const { database, file } = opened
  const table = await declareIn(database, 'things')
  await fill(database, table, 300)
  const before = count(file, LOGGED)
  await touch(
    database,
    table,
    Array.from({ length: 300 }, (_, n) => n),
  )
  expect(count(file, LOGGED)).toBe(before + 1)
  expect(count(file, MOVED_HEADS)).toBe(0)
})

test('the log is folded into the heads when it has grown, a part by each commit', async () => {
  await using opened = setupDatabase()
  const { database, file } = opened
  const table = await declareIn(database, 'things')
  const refs = await fill(database, table, 2_500)
  const all = refs.map((_, n) => n)
  const revisions: number[] = []
  for (let round = 0; round < 6; round += 1) revisions.push(await touch(database, table, all))
  expect(count(file, MOVED_HEADS)).toBe(2_500)
  const logged = 'SELECT sum(json_array_length(realms)) FROM realm_moves'
  expect(count(file, logged)).toBeLessThanOrEqual(10_000 + 2_500)
  const last = await touch(database, table, [7])
  const afterIt = count(file, logged)
  expect(await touch(database, table, [8])).toBe(last + 1)
  expect(count(file, logged)).toBeLessThanOrEqual(afterIt + 1)
  expect(await changedAfter(database, refs, last - 1)).toEqual(['k7', 'k8'])
  expect(await changedAfter(database, refs, revisions[4]!)).toHaveLength(2_500)
})

test('what changed is known after a crash and after a restart, before and after the log is folded', async () => {
  await using opened = setupDatabase()
  const { database, folder } = opened
  const table = await declareIn(database, 'things')
  const refs = await fill(database, table, 1_200)
  const all = refs.map((_, n) => n)
  const revisions = [await touch(database, table, [3, 4])]
  for (let round = 0; round < 9; round += 1) {
    revisions.push(await touch(database, table, all.slice(0, 1_100)))
    revisions.push(await touch(database, table, [round, 1_150 + round]))
  }
  const expected: string[][] = []
  for (const revision of [0, ...revisions]) {
    expected.push(await changedAfter(database, refs, revision))
  }
  expect(expected.at(-2)).toEqual(['k8', 'k1158'])
  expect(expected.at(-1)).toEqual([])
  using copies = temporaryFolder()
  // As a crash leaves it: with its log, and without the end of the process.
  cpSync(folder, copies.path, { recursive: true })
  await using crashed = openIn(copies.path)
  for (const [place, revision] of [0, ...revisions].entries()) {
    expect(await changedAfter(crashed.database, refs, revision)).toEqual(expected[place]!)
    const few = [refs[3]!, refs[1_158]!]
    expect(await changedAfter(crashed.database, few, revision)).toEqual(
      expected[place]!.filter((key) => key === 'k3' || key === 'k1158'),
    )
  }
  expect(count(join(copies.path, 'database.sqlite'), MOVED_HEADS)).toBeGreaterThan(0)
})

test('a commit that fails logs nothing', async () => {
  await using opened = setupDatabase()
  const { database, file } = opened
  const table = await declareIn(database, 'things')
  const refs = await fill(database, table, 3)
  const before = count(file, LOGGED)
  const revision = await database.read((tx) => tx.revision())
  const failing = database.write((tx) => {
    tx.objects.put(table, [fresh('new', { realm: refs[0]! })], NOW)
    throw new Error('expected')
  })
  expect(await failing.catch(({ message }: Error) => message)).toBe('expected')
  expect(count(file, LOGGED)).toBe(before)
  expect(await changedAfter(database, refs, revision)).toEqual([])
})

test('changes are looked up only in tables that have moved, and tombstones only when there are new ones', async () => {
  await using writer = setupWriter()
  const { connection, committed } = writer
  const put = (name: string, key: string) =>
    writer.run((tx) => {
      const table = tx.tables.find(name)!
      const { ref } = tx.realms.ensure('rlm1')
      tx.objects.put(table, [fresh(key, { realm: ref })], NOW)
      return ref
    })
  await writer.run((tx) => {
    for (let n = 0; n < 10; n += 1) declare(tx, `table${n}`, '@id')
  })
  const realm = await put('table3', 'k1')
  const before = committed.counters.revision
  const find = async () => {
    const looked: string[] = []
    const prepare = ((sql: string) => {
      looked.push(/FROM (\w+) INDEXED/.exec(sql)?.[1] ?? '')
      return connection.prepare(sql)
    }) as Connection['prepare']
    const tx = new SqliteReadTx({ ...connection, prepare }, committed)
    const { changes } = tx.objects.changes(new Set([realm]), before, Infinity, WHOLE)
    return { keys: changes.map(({ key }) => key), looked: looked.filter((name) => name !== '') }
  }
  const tableOf = (name: string) => `o_${committed.tables.get(name)!.number}`
  expect(await find()).toEqual({ keys: [], looked: [] })
  await put('table3', 'k2')
  await put('table7', 'k3')
  const moved = ['table3', 'table7'].map(tableOf)
  expect(await find()).toEqual({ keys: ['k2', 'k3'], looked: moved })
  await writer.run((tx) => {
    const table = tx.tables.find('table7')!
    const previous = tx.objects.find(table, 'k3')!
    tx.objects.remove(table, [{ previous, entries: [], blobs: [] }], NOW)
  })
  expect(await find()).toEqual({ keys: ['k2', 'k3'], looked: ['tombstones', ...moved] })
})

test('the realms of the latest units are known, while each moved few', async () => {
  await using opened = setupDatabase()
  const { database } = opened
  const table = await declareIn(database, 'things')
  const refs = await fill(database, table, 101)
  const first = await database.read((tx) => tx.revision())
  const moved = (after: number, upTo: number) =>
    database.read((tx) => tx.objects.realmsMoved(new Set(refs), after, upTo, new Set()))
  await touch(database, table, [1])
  expect(await moved(first, first + 1)).toEqual(new Set([refs[1]!]))
  await touch(database, table, [...refs.keys()])
  await touch(database, table, [2])
  expect(await moved(first, first + 1)).toBeUndefined()
  expect(await moved(first + 1, first + 3)).toBeUndefined()
  expect(await moved(first + 2, first + 3)).toEqual(new Set([refs[2]!]))
})

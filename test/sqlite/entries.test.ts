import { expect, test } from 'bun:test'
import * as fc from 'fast-check'
import type { ObjectPut } from '../../src/domain/store/objects'
import { declare, fresh, NOW } from '../contract/fixture'
import { setupWriter } from './setup'

const OBJECTS = 20
const KEYS = Array.from({ length: 50 }, (_, n) => Buffer.from(`6tag${n}`))
const OTHERS = Array.from({ length: 50 }, (_, n) => Buffer.from(`6other${n}`))

const inOrder = (keys: readonly Buffer[]) => keys.map(String).toSorted()

test('the entries of objects that are put together are written key by key', async () => {
  await using writer = setupWriter()
  const { connection } = writer
  const written: string[] = []
  const { prepare } = connection
  connection.prepare = ((sql: string) => {
    const statement = prepare(sql)
    if (!/^(INSERT|DELETE).* index_entries/.test(sql)) return statement
    return {
      run(index: number, ...bindings: (Uint8Array | number)[]) {
        for (const key of bindings.filter((binding) => typeof binding === 'object')) {
          written.push(`${sql.slice(0, 6)} ${index} ${Buffer.from(key).toString()}`)
        }
        return statement.run(index, ...bindings)
      },
    }
  }) as typeof prepare
  const puts = (keys: readonly Buffer[]) =>
    Array.from({ length: OBJECTS }, (_, n) =>
      fresh(`k${n}`, { entries: keys.map((key) => ({ index: 1, key })) }),
    )
  await writer.run((tx) => {
    const table = declare(tx, 'tagged', '@id, *tags')
    tx.objects.put(table, puts(KEYS), NOW)
    const keys = puts(KEYS).map(({ key }) => key)
    const stored = tx.objects.findMany(table, keys)
    const replaced = puts(OTHERS).map((put): ObjectPut => {
      const previousTraces = { entries: KEYS.map((key) => ({ index: 1, key })), blobs: [] }
      return { ...put, previous: stored.get(put.key)!, previousTraces }
    })
    tx.objects.put(table, replaced, NOW)
  })
  expect(written).toHaveLength(3 * OBJECTS * KEYS.length)
  const runs = written.filter((entry, at) => entry !== written[at - 1])
  expect(runs).toEqual([
    ...inOrder(KEYS).map((key) => `INSERT 1 ${key}`),
    ...inOrder(KEYS).map((key) => `DELETE 1 ${key}`),
    ...inOrder(OTHERS).map((key) => `INSERT 1 ${key}`),
  ])
  const left = connection.prepare<{ count: number }>('SELECT count(*) AS count FROM index_entries')
  expect(left.get()?.count).toBe(OBJECTS * OTHERS.length)
})

/** Keys of all lengths, many of which begin alike or end within the bytes that are compared. */
const KEY = fc.uint8Array({ minLength: 1, maxLength: 9, max: 3 })

test.each([
  ['few', 1, 30],
  ['many', 150, 400],
])('whatever their keys, all of them are there: %s', async (_, minLength, maxLength) => {
  await using writer = setupWriter()
  const { connection } = writer
  const nameOf = (index: number, key: Uint8Array, seq: number) =>
    `${index} ${Buffer.from(key).toString('hex')} ${seq}`
  const stored = () =>
    connection
      .prepare<{ index_number: number; key: Uint8Array; seq: number }>(
        'SELECT index_number, key, seq FROM index_entries',
      )
      .all()
      .map(({ index_number: index, key, seq }) => nameOf(index, key, seq))
  const entry = fc.tuple(fc.integer({ min: 1, max: 3 }), KEY, fc.integer({ min: 1, max: 5 }))
  const property = fc.asyncProperty(
    fc.array(entry, { minLength, maxLength }),
    fc.boolean(),
    async (given, isLazy) => {
      connection.prepare('DELETE FROM index_entries').run()
      const rows = Array.from({ length: 5 }, (_each, n) => {
        const own = given.filter(([, , seq]) => seq === n + 1)
        const entries = own.map(([index, key]) => ({ index, key }))
        return { seq: n + 1, entries: isLazy ? new Set(entries) : entries }
      })
      await writer.run((tx) => tx.objects.addEntries(rows))
      expect(stored().toSorted()).toEqual(
        [...new Set(given.map((each) => nameOf(...each)))].toSorted(),
      )
    },
  )
  await fc.assert(property, { numRuns: 40 })
})

test('more entries than are put in order at once are there, and go again', async () => {
  await using writer = setupWriter()
  const { connection } = writer
  const count = () =>
    connection.prepare<{ count: number }>('SELECT count(*) AS count FROM index_entries').get()
      ?.count
  const keys = Array.from({ length: 60_003 }, (_, n) => Buffer.from(`6${(n * 7919) % 60_003}`))
  const entries = keys.map((key) => ({ index: 1, key }))
  const table = await writer.run((tx) => {
    const declared = declare(tx, 'tagged', '@id, *tags')
    tx.objects.put(declared, [fresh('a', { entries }), fresh('b', { entries: [] })], NOW)
    return declared
  })
  expect(count()).toBe(keys.length)
  await writer.run((tx) => {
    const stored = tx.objects.find(table, 'a')
    tx.objects.remove(table, [{ previous: stored!, entries, blobs: [] }], NOW)
  })
  expect(count()).toBe(0)
})

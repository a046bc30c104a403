import { expect, test } from 'bun:test'
import type { ObjectPut } from '../../src/domain/store/objects'
import { declare, fresh, NOW } from '../contract/fixture'
import { setupWriter } from './setup'

const OBJECTS = 20
const KEYS = Array.from({ length: 50 }, (_, n) => Buffer.from(`6tag${n}`))
const OTHERS = Array.from({ length: 50 }, (_, n) => Buffer.from(`6other${n}`))

test('the entries of objects that are put together are written key by key', async () => {
  await using writer = setupWriter()
  const { connection } = writer
  const written: string[] = []
  const { prepare } = connection
  connection.prepare = ((sql: string) => {
    const statement = prepare(sql)
    if (!/^(INSERT|DELETE).* index_entries/.test(sql)) return statement
    return {
      run(...[index, key, seq]: [number, Uint8Array, number]) {
        written.push(`${sql.slice(0, 6)} ${index} ${Buffer.from(key).toString()}`)
        return statement.run(index, key, seq)
      },
    }
  }) as typeof prepare
  const puts = (keys: readonly Buffer[]) =>
    Array.from({ length: OBJECTS }, (_, n) =>
      fresh(`k${n}`, { entries: keys.map((key) => ({ index: 1, key })) }),
    )
  await writer.run(async (tx) => {
    const table = await declare(tx, 'tagged', '@id, *tags')
    await tx.objects.put(table, puts(KEYS), NOW)
    const keys = puts(KEYS).map(({ key }) => key)
    const stored = await tx.objects.findMany(table, keys)
    const replaced = puts(OTHERS).map((put): ObjectPut => {
      const previousTraces = { entries: KEYS.map((key) => ({ index: 1, key })), blobs: [] }
      return { ...put, previous: stored.get(put.key)!, previousTraces }
    })
    await tx.objects.put(table, replaced, NOW)
  })
  expect(written).toHaveLength(3 * OBJECTS * KEYS.length)
  const runs = written.filter((entry, at) => entry !== written[at - 1])
  expect(runs).toEqual([
    ...KEYS.map((key) => `INSERT 1 ${key.toString()}`),
    ...KEYS.map((key) => `DELETE 1 ${key.toString()}`),
    ...OTHERS.map((key) => `INSERT 1 ${key.toString()}`),
  ])
  const left = connection.prepare<{ count: number }>('SELECT count(*) AS count FROM index_entries')
  expect(left.get()?.count).toBe(OBJECTS * OTHERS.length)
})

import { expect, test } from 'bun:test'
import { listObjects } from '../../src/domain/object/list'
import { parseFilters } from '../../src/domain/object/filter'
import type { Database, ReadTx } from '../../src/domain/store/store'
import type { Connection } from '../../src/sqlite/connection'
import { SqliteReadTx } from '../../src/sqlite/tx'
import { encodeKey } from '../../src/domain/value/index-key'
import { administrator } from '../domain/blob/setup'
import { declare, fresh, NOW } from '../contract/fixture'
import { setupWriter } from './setup'

const MATCHES = 20_000

test('a page of many matches visits as many rows as it shows', async () => {
  await using writer = setupWriter()
  await writer.run(async (tx) => {
    const table = await declare(tx, 'cities', '@id, country')
    const [declared] = table.indexes
    const index = declared!.number
    await tx.tables.setIndexState(index, 'ready')
    const entries = [{ index, key: encodeKey('US')! }]
    const puts = Array.from({ length: MATCHES }, (_, n) =>
      fresh(`k${n}`, { entries, value: `{"id":"k${n}","country":"US"}` }),
    )
    await tx.objects.put(table, puts, NOW)
  })
  let visited = 0
  const connection = counting(writer.connection, (rows) => (visited += rows))
  const database = {
    read: (work: (tx: ReadTx) => unknown) =>
      Promise.resolve(work(new SqliteReadTx(connection, writer.committed))),
  } as unknown as Database
  const list = (query: string) =>
    listObjects(database, administrator, 'all', 'cities', parseFilters(query))
  const costs: number[] = []
  let after = ''
  for (let pages = 0; pages < 3; pages += 1) {
    visited = 0
    const page = await list(`country=US&$limit=10${after}`)
    expect(page.texts).toHaveLength(10)
    after = `&$after=${page.after}`
    costs.push(visited)
  }
  expect(Math.max(...costs)).toBeLessThan(60)
  visited = 0
  const { texts, more } = await list('country=US')
  expect(texts).toHaveLength(1_000)
  expect(more).toBeDefined()
  expect(visited).toBeLessThan(5_000)
})

test('one large object does not make the filters of its table visit more rows', async () => {
  await using writer = setupWriter()
  const put = async (from: number, count: number, text: string) => {
    await writer.run(async (tx) => {
      const table =
        (await tx.tables.find('cities')) ?? (await declare(tx, 'cities', '@id, country'))
      const index = table.indexes[0]!.number
      await tx.tables.setIndexState(index, 'ready')
      const entries = [{ index, key: encodeKey('US')! }]
      const puts = Array.from({ length: count }, (_, n) =>
        fresh(`k${from + n}`, { entries, value: JSON.stringify({ country: 'US', text }) }),
      )
      await tx.objects.put(table, puts, NOW)
    })
  }
  let visited = 0
  const connection = counting(writer.connection, (rows) => (visited += rows))
  const database = {
    read: (work: (tx: ReadTx) => unknown) =>
      Promise.resolve(work(new SqliteReadTx(connection, writer.committed))),
  } as unknown as Database
  const costOf = async (matches: number) => {
    visited = 0
    const { texts } = await listObjects(
      database,
      administrator,
      'all',
      'cities',
      parseFilters('country=US'),
    )
    expect(texts).toHaveLength(matches)
    return visited
  }
  await put(0, 30, 'short')
  // The rights of the caller are read once.
  await costOf(30)
  const before = await costOf(30)
  await put(30, 1, 'x'.repeat(3_000_000))
  // The large one is found with the others, and then read.
  expect(await costOf(31)).toBe(before + 2)
})

/** The connection; `count` is called with the number of rows that each statement gave. */
function counting(connection: Connection, count: (rows: number) => void): Connection {
  return {
    ...connection,
    prepare: ((sql: string) => {
      const statement = connection.prepare(sql)
      return new Proxy(statement, {
        get(target, name) {
          const value: unknown = Reflect.get(target, name)
          if (typeof value !== 'function') return value
          return (...parameters: unknown[]) => {
            const result: unknown = Reflect.apply(value, target, parameters)
            count(Array.isArray(result) ? result.length : 1)
            return result
          }
        },
      })
    }) as Connection['prepare'],
  }
}

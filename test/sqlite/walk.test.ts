import { expect, test } from 'bun:test'
import { listObjects } from '../../src/domain/object/list'
import { parseFilters } from '../../src/domain/object/filter'
import type { PageEnd } from '../../src/domain/store/objects'
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
  await writer.run((tx) => {
    const table = declare(tx, 'cities', '@id, country')
    const [declared] = table.indexes
    const index = declared!.number
    tx.tables.setIndexState(index, 'ready')
    const entries = [{ index, key: encodeKey('US')! }]
    const puts = Array.from({ length: MATCHES }, (_, n) =>
      fresh(`k${n}`, { entries, value: `{"id":"k${n}","country":"US"}` }),
    )
    tx.objects.put(table, puts, NOW)
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
    await writer.run((tx) => {
      const table = tx.tables.find('cities') ?? declare(tx, 'cities', '@id, country')
      const index = table.indexes[0]!.number
      tx.tables.setIndexState(index, 'ready')
      const entries = [{ index, key: encodeKey('US')! }]
      const puts = Array.from({ length: count }, (_, n) =>
        fresh(`k${from + n}`, { entries, value: JSON.stringify({ country: 'US', text }) }),
      )
      tx.objects.put(table, puts, NOW)
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
  expect(await costOf(31)).toBeLessThanOrEqual(before + 2)
})

test.each([
  ['a fifth of the rows, one by one', (n: number) => n % 5 === 0],
  ['the last fifth', (n: number) => n >= (MATCHES * 4) / 5],
])('a page of realms with %s holds the positions of a page', async (_, isListed) => {
  await using writer = setupWriter()
  const realm = await writer.run((tx) => {
    const table = declare(tx, 'cities', '@id')
    const { ref } = tx.realms.ensure('rlm-listed')
    const puts = Array.from({ length: MATCHES }, (_unused, n) =>
      fresh(`k${n}`, { realm: isListed(n) ? ref : 1, value: `{"id":"k${n}"}` }),
    )
    tx.objects.put(table, puts, NOW)
    return ref
  })
  let visited = 0
  let visitedEntries = false
  const connection = counting(writer.connection, (rows, sql) => {
    visited += rows
    // Inside SQLite this visits all entries of the realm.
    if (/ INDEXED BY .* ORDER BY /.test(sql)) visitedEntries = true
  })
  const read = async <T>(work: (tx: ReadTx) => T) =>
    work(new SqliteReadTx(connection, writer.committed))
  const table = (await read((tx) => tx.tables.find('cities')))!
  const realms = new Set([realm])
  const all: number[] = []
  for (let after: PageEnd | undefined, isMore = true; isMore;) {
    const from: PageEnd | undefined = after
    const query = { after: from, size: { rows: 1_000, bytes: 1_000_000 }, realms }
    const page = await read((tx) => tx.objects.page(table, query))
    all.push(...page.rows.map(({ seq }) => seq))
    after = page.next
    isMore = after !== undefined
  }
  expect(all).toHaveLength(MATCHES / 5)
  for (const seq of [0, all[100]!, all.at(-20)!]) {
    visited = 0
    visitedEntries = false
    const query = { after: { seq }, size: { rows: 11, bytes: 1_000_000 }, realms }
    const { rows } = await read((tx) => tx.objects.page(table, query))
    expect(rows.map((row) => row.seq)).toEqual(all.filter((other) => other > seq).slice(0, 11))
    expect(visited).toBeLessThan(40)
    expect(visitedEntries).toBe(false)
  }
  const database = { read } as unknown as Database
  const found: string[] = []
  const query = parseFilters('realmId=rlm-listed&$limit=1500')
  for (let after: string | undefined = 's0'; after !== undefined;) {
    const page: Awaited<ReturnType<typeof listObjects>> = await listObjects(
      database,
      administrator,
      'all',
      'cities',
      { ...query, after },
    )
    found.push(...page.texts)
    after = page.after
  }
  const expected = Array.from({ length: MATCHES }, (_unused, n) => n).filter(isListed)
  expect(found).toEqual(expected.map((n) => `{"id":"k${n}"}`))
})

/** The connection; `count` is called with the number of rows that each statement gave, and its text. */
function counting(connection: Connection, count: (rows: number, sql: string) => void): Connection {
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
            count(Array.isArray(result) ? result.length : 1, sql)
            return result
          }
        },
      })
    }) as Connection['prepare'],
  }
}

import { expect, test } from 'bun:test'
import type { Database } from '../../../src/domain/store/store'
import { findCandidates, lookupFor } from '../../../src/domain/sync/candidates'
import { readCriteria } from '../../../src/domain/sync/criteria'
import { encodeKey } from '../../../src/domain/value/index-key'
import { refusalOf } from '../../contract/fixture'
import { card, connect, only, person, put, setupPush, upsert } from './push-setup'
import { readRequest } from './read-request'

const NONE = { $t: 'undefined' }

test('a ready index looks up ranges whose bounds are of one type, and no other', async () => {
  await using database = await setupPush('@id, title, [list+title], *tags', true)
  const table = (await database.read((tx) => tx.tables.find('cards')))!
  const lookup = (index: unknown, range: object, of = table) =>
    lookupFor(of, readCriteria({ index, range }))
  const number = (name: string) => table.indexes.find((index) => index.name === name)!.number
  expect(lookup('title', only('a'))).toEqual({ index: number('title'), keys: [encodeKey('a')!] })
  expect(lookup('tags', only(5))).toEqual({ index: number('tags'), keys: [encodeKey(5)!] })
  expect(lookup('[list+title]', only(['a', 1]))).toEqual({
    index: number('[list+title]'),
    keys: [encodeKey(['a', 1])!],
  })
  const found = lookup('title', { type: 2, lower: 'a', upper: 'b', upperOpen: true })
  expect(found?.range?.lower).toEqual(encodeKey('a'))
  expect(Buffer.compare(found!.range!.upper, encodeKey('b')!)).toBe(1)
  const others = [
    lookup('list', only('a')),
    lookup(NONE, { type: 3 }),
    lookup('title', { type: 4 }),
    lookup('title', { type: 2, lower: 'a', upper: NONE }),
    lookup('title', { type: 2, lower: NONE, upper: 'a' }),
    lookup('title', { type: 2, lower: 1, upper: 'a' }),
    lookup('title', only({ $t: 'number', v: 'Infinity' })),
    lookup('[list+title]', { type: 2, lower: ['a', 'a'], upper: ['a', 'b'] }),
    lookup('title', only('a'), { ...table, primaryKey: null }),
  ]
  expect(others.filter((one) => one !== undefined)).toEqual([])
  const indexes = table.indexes.map((index) => ({ ...index, state: 'building' as const }))
  expect(lookup('title', only('a'), { ...table, indexes })).toBeUndefined()
})

test('the look-up for 500 criteria lets others have their turns, and ends with its caller', async () => {
  await using world = await setupPush()
  const caller = new AbortController()
  let reads = 0
  const database: Database = {
    ...world,
    read: (work) => {
      reads += 1
      return world.read(work)
    },
  }
  const muts = Array.from({ length: 500 }, (_, n) => ({
    type: 'delete',
    keys: [],
    txid: 't',
    criteria: { index: 'list', range: only(n) },
  }))
  const body = { clientIdentity: 'one', schema: {}, changes: [{ table: 'cards', muts }] }
  const [transaction] = readRequest(body).transactions
  const find = () => findCandidates(database, person('alice'), transaction!, caller.signal)
  expect((await find()).keysByCriteria.size).toBe(500)
  expect(reads).toBe(1_001)
  caller.abort()
  reads = 0
  expect(await refusalOf(find())).toBe('BUSY')
  expect(reads).toBe(1)
})

test('candidates are the rows in the realms of the actor that satisfy the criteria', async () => {
  await using database = await setupPush()
  const alice = await connect(database, 'alice')
  await alice.push(
    upsert(...Array.from({ length: 1_500 }, (_, n) => card(`k${n}`, { list: n % 2 }))),
  )
  await put(database, 'cards', [card('x', { list: 1 }, 'bob'), card('y', { list: 1 }, 'carol')])
  const range = only(1)
  const { transactions } = readRequest({
    clientIdentity: 'one',
    schema: {},
    changes: [
      {
        table: 'cards',
        muts: [{ type: 'delete', keys: [], txid: 't', criteria: { index: 'list', range } }],
      },
    ],
  })
  const found = await findCandidates(database, person('alice'), transactions[0]!)
  const [keys = []] = found.keysByCriteria.values()
  expect(keys).toHaveLength(750)
  expect(new Set(keys).size).toBe(750)
  const bobs = await findCandidates(database, person('bob'), transactions[0]!)
  expect([...bobs.keysByCriteria.values()]).toEqual([['x']])
})

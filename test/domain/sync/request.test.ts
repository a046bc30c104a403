import { describe, expect, test } from 'bun:test'
import { movedBy, type Operation, type SyncRequest } from '../../../src/domain/sync/request'
import { readRequest } from './read-request'

const UNDEFINED = { $t: 'undefined' }

/** The first request of a client (protocol.md A.1). */
const FIRST = {
  v: 3,
  dbID: UNDEFINED,
  clientIdentity: 'UebGj3YD7M35H75CKtI6xQ==',
  schema: {
    items: { generatedGlobalId: true, idPrefix: 'itm', markedForSync: true },
    local: { markedForSync: false },
    $$jobs: {},
  },
  lastPull: UNDEFINED,
  baseRevs: [],
  changes: [],
  y: [],
  dxcv: '4.4.14',
}

function withMuts(...muts: readonly object[]) {
  return readRequest({
    ...FIRST,
    changes: [{ table: 'items', muts: muts.map((mut) => ({ txid: 't', ...mut })) }],
  })
}

describe('a request to /sync (protocol.md §4.2)', () => {
  test('shares its tables with others that declare the same, unless they are very long', () => {
    const tablesOf = (schema: object) => readRequest(structuredClone({ ...FIRST, schema })).tables
    const short = { cards: { markedForSync: true } }
    expect(tablesOf(short)).toBe(tablesOf(short))
    expect(tablesOf({ cards: { markedForSync: false } })).not.toBe(tablesOf(short))
    const long = { cards: { markedForSync: true, idPrefix: 'x'.repeat(20_000) } }
    expect(tablesOf(long)).not.toBe(tablesOf(long))
    expect(tablesOf(long)).toEqual(tablesOf(long))
    for (let n = 0; n < 100; n += 1) tablesOf({ [`table${n}`]: {} })
    expect(tablesOf(short).get('cards')).toMatchObject({ isMarked: true, generated: false })
  })

  test('of a new client is read', () => {
    const request = readRequest(FIRST)
    expect(request).toMatchObject({ dbId: undefined, lastPull: undefined, transactions: [] })
    expect([...request.tables.keys()]).toEqual(['items', 'local'])
    expect(request.tables.get('items')).toMatchObject({
      isMarked: true,
      generated: true,
      idPrefix: 'itm',
      primaryKey: undefined,
    })
  })

  test('of a later version is read as well', () => {
    expect(readRequest({ ...FIRST, v: 4, syncedRealmDownloads: {} }).tables.size).toBe(2)
  })

  test('every shape of an operation is read', () => {
    const range = { type: 1, lower: 'x', upper: 'x' }
    const { transactions } = withMuts(
      { type: 'insert', keys: ['a'], values: [{ id: 'a' }], ts: 1, opNo: 1, rev: 1, userId: 'u' },
      { type: 'upsert', keys: ['a'], values: [{ id: 'a' }], changeSpecs: [null], rev: 2 },
      { type: 'update', keys: ['a', 'b'], changeSpecs: [{ p: 1 }], rev: 3 },
      { type: 'update', keys: [], changeSpecs: [{ p: 1 }], rev: 4 },
      { type: 'modify', keys: ['a'], criteria: { index: 'n', range }, changeSpec: { p: 1 } },
      { type: 'delete', keys: ['a'], criteria: UNDEFINED },
      {
        type: 'delete',
        keys: [['a', 1]],
        criteria: { index: 'n', range },
        isAdditionalChunk: true,
      },
    )
    expect(transactions).toHaveLength(1)
    expect(transactions[0]?.refusal).toBeUndefined()
    expect(transactions[0]?.operations.map(({ action }) => action.type)).toEqual([
      'insert',
      'upsert',
      'update',
      'update',
      'modify',
      'delete',
      'delete',
    ])
    expect(transactions[0]?.operations.at(-1)).toMatchObject({
      keys: ['["a",1]'],
      action: { query: { isFirstChunk: false } },
    })
  })

  test('operations of one txid are one transaction, whatever their tables', () => {
    const mut = (txid: string) => ({ txid, type: 'delete', keys: ['a'] })
    const { transactions } = readRequest({
      ...FIRST,
      changes: [
        { table: 'items', muts: [mut('1'), mut('2')] },
        { table: 'other', muts: [mut('1'), mut('upload-3')] },
      ],
    })
    expect(transactions.map(({ txid, operations }) => [txid, operations.length])).toEqual([
      ['1', 2],
      ['2', 1],
      ['upload-3', 1],
    ])
    expect(transactions.map(({ isUpload }) => isUpload)).toEqual([false, false, true])
  })

  test.each([
    ['an unknown type', { type: 'merge', keys: ['a'] }],
    ['values that are fewer than keys', { type: 'insert', keys: ['a', 'b'], values: [{}] }],
    [
      'changeSpecs that are fewer than keys',
      { type: 'update', keys: ['a', 'b', 'c'], changeSpecs: [{}, {}] },
    ],
    ['a modify without criteria', { type: 'modify', keys: ['a'], changeSpec: {} }],
    [
      'a broken modification',
      { type: 'update', keys: ['a'], changeSpecs: [{ n: { '@@propmod': 1 } }] },
    ],
  ])('an operation with %s refuses its transaction and names its keys', (_what, mut) => {
    const { transactions } = withMuts(mut, { txid: 'good', type: 'delete', keys: ['z'] })
    expect(transactions[0]?.refusal?.code).toBe('UNPROCESSABLE')
    expect(transactions[0]?.operations[0]?.keys).toEqual(mut.keys)
    expect(transactions[1]?.refusal).toBeUndefined()
  })

  test.each([
    ['no object', 5],
    ['no identity', { ...FIRST, clientIdentity: undefined }],
    ['a schema that is none', { ...FIRST, schema: [] }],
    ['changes that are no list', { ...FIRST, changes: {} }],
    ['muts without txid', { ...FIRST, changes: [{ table: 'items', muts: [{ keys: [] }] }] }],
    ['a lastPull that is none', { ...FIRST, lastPull: 'x' }],
    ['realms that are no names', { ...FIRST, lastPull: { realms: [1] } }],
    ['baseRevs that are none', { ...FIRST, baseRevs: [{}] }],
  ])('with %s is refused', (_what, body) => {
    expect(() => readRequest(body)).toThrow('must be')
  })
})

test('the times of operations are moved with the clock of the database, those of uploads are not', () => {
  const operation = { table: 'todos', keys: ['a'], rev: 1, userId: undefined }
  const remove = { kind: 'delete' } as unknown as Operation['action']
  const operations: Operation[] = [
    { ...operation, ts: 1_000, action: remove },
    { ...operation, ts: undefined, action: remove },
  ]
  const transaction = { txid: 't', isUpload: false, operations, refusal: undefined }
  const request = { transactions: [transaction] } as unknown as SyncRequest
  const timesOf = ({ transactions }: SyncRequest) =>
    transactions.flatMap((each) => each.operations.map(({ ts }) => ts))
  expect(timesOf(movedBy(request, 500))).toEqual([1_500, undefined])
  expect(timesOf(movedBy(request, -500))).toEqual([500, undefined])
  expect(movedBy(request, 0)).toBe(request)
})

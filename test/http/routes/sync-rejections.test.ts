import { describe, expect, test } from 'bun:test'
import { until } from '../../timing'
import { ALICE, BOB, type Caller, type DataServer, setupData } from '../setup'

const MARKED = { markedForSync: true, initiallySynced: true }
const SCHEMA = { plain: MARKED, items: MARKED, realms: MARKED, members: MARKED }

interface Line {
  readonly level: string
  readonly logger: string
  readonly message: string
  readonly table?: string
  readonly key?: string
  readonly code?: string
  readonly rule?: string
  readonly changes?: number
}

interface Push {
  readonly table: string
  readonly muts: readonly Readonly<Record<string, unknown>>[]
}

function mut(type: string, txid: string, more: object) {
  return { type, txid, userId: BOB, ts: Date.parse('2030-01-01T12:00:01Z'), rev: 1, ...more }
}

async function push(caller: Caller, changes: readonly Push[]) {
  const answer = await caller.post('/sync', {
    v: 3,
    clientIdentity: 'one',
    schema: SCHEMA,
    changes,
  })
  expect(answer.status).toBe(200)
  return answer.body as { readonly rejections: readonly object[] }
}

/** Lines about rejections, once there are so many. */
async function linesOf({ lines }: DataServer, count: number): Promise<readonly Line[]> {
  const found = () => lines.filter((line) => line.includes('rejected"'))
  await until(() => found().length >= count)
  expect(found()).toHaveLength(count)
  return found().map((line) => JSON.parse(line) as Line)
}

/** Bob may read the realm of Alice and change nothing. */
async function setup() {
  const server = await setupData()
  const alice = await server.as(ALICE)
  await alice.post('/my/realms', { realmId: 'rlmA', name: 'A' })
  await server.root.post('/all/members', { id: 'mbrB', realmId: 'rlmA', userId: BOB })
  await alice.post('/my/plain', { id: 'a', realmId: 'rlmA', title: 'of Alice' })
  const bob = await server.as(BOB)
  return { server, bob, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() }
}

describe('a rejected change is logged once, with table, key, code and rule', () => {
  test('by key, in a transaction of several', async () => {
    await using scene = await setup()
    const { server, bob } = scene
    const changes = [
      {
        table: 'plain',
        muts: [
          mut('insert', 't1', { keys: ['own'], values: [{ id: 'own' }] }),
          mut('update', 't1', { keys: ['a'], changeSpecs: [{ title: 'of Bob' }] }),
        ],
      },
    ]
    const { rejections } = await push(bob, changes)
    // The answer has nothing that clients do not know.
    expect(rejections).toEqual([
      { txid: 't1', name: 'NOT_AUTHORIZED', message: expect.any(String) as string },
    ])
    const [line] = await linesOf(server, 1)
    expect(line).toMatchObject({
      level: 'info',
      logger: 'http',
      message: 'A change was rejected',
      database: 'main',
      subject: BOB,
      table: 'plain',
      key: 'a',
      code: 'NOT_AUTHORIZED',
      rule: 'update plain.title',
      requestId: expect.any(String) as string,
    })
    // A repeat is answered as before, and is no news.
    expect((await push(bob, changes)).rejections).toEqual(rejections)
    await linesOf(server, 1)
  })

  test('of a removal, of a row of a realm, and of an operation that cannot be executed', async () => {
    await using scene = await setup()
    const { server, bob } = scene
    await push(bob, [
      { table: 'plain', muts: [mut('delete', 't1', { keys: ['a'] })] },
      {
        table: 'realms',
        muts: [mut('update', 't3', { keys: ['rlmA'], changeSpecs: [{ name: 'B' }] })],
      },
      { table: 'items', muts: [mut('conjure', 't4', { keys: ['itmX'] })] },
      {
        table: 'plain',
        muts: [
          mut('insert', 't5', {
            keys: ['x'],
            values: [{ id: 'x', title: { $t: 'Date', v: 'never' } }],
          }),
        ],
      },
    ])
    const found = (await linesOf(server, 4)).map(({ table, key, code, rule }) => ({
      table,
      key,
      code,
      rule,
    }))
    expect(found).toEqual([
      { table: 'plain', key: 'a', code: 'NOT_AUTHORIZED', rule: 'manage plain' },
      { table: 'realms', key: 'rlmA', code: 'NOT_AUTHORIZED', rule: 'update realms.name' },
      { table: 'items', key: 'itmX', code: 'UNPROCESSABLE', rule: undefined },
      { table: 'plain', key: 'x', code: 'UNPROCESSABLE', rule: 'title' },
    ])
  })

  test('row by row for an upload, and at most a hundred rows of a request', async () => {
    await using scene = await setup()
    const { server, bob } = scene
    const keys = Array.from({ length: 150 }, (_, n) => `k${n}`)
    const values = keys.map((id) => ({ id, realmId: 'rlmA' }))
    await push(bob, [
      { table: 'plain', muts: [{ type: 'upsert', txid: 'upload-1', keys, values }] },
    ])
    const found = await linesOf(server, 101)
    expect(found.slice(0, 100).map(({ key }) => key)).toEqual(keys.slice(0, 100))
    expect(found[0]).toMatchObject({ table: 'plain', code: 'NOT_AUTHORIZED', rule: 'add plain' })
    expect(found[100]).toMatchObject({ message: 'More changes were rejected', changes: 50 })
  })

  test('of an operation on more rows than are written at once', async () => {
    await using scene = await setup()
    const { server, bob } = scene
    const keys = [...Array.from({ length: 5_500 }, (_, n) => `k${n}`), 'a']
    const change = mut('update', 't1', { keys, changeSpecs: [{ title: 'of Bob' }] })
    await push(bob, [{ table: 'plain', muts: [change] }])
    const [line] = await linesOf(server, 1)
    expect(line).toMatchObject({ table: 'plain', key: 'a', rule: 'update plain.title' })
  })

  test('without a control character of the client in the text', async () => {
    await using scene = await setup()
    const { server, bob } = scene
    const key = `x\n{"level":"error"}`
    await push(bob, [
      { table: 'plain', muts: [mut('insert', 't1', { keys: [key], values: [{ id: key }] })] },
    ])
    const [line] = await linesOf(server, 1)
    expect(line).toMatchObject({ table: 'plain', key })
    expect(server.lines.filter((text) => text.startsWith('{"level":"error"'))).toEqual([])
  })
})

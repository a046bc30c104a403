import { describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { ALICE, type Caller, setupData } from '../http/setup'

/**
 * Promise 51: nothing is acknowledged and not done. Strings that become keys, ids or property names are
 * well-formed and without U+0000, or refused at every door; values keep theirs.
 */

/** More with SATCHEL_RUNS=10000, others with SATCHEL_SEED. */
const RUNS = Number(process.env['SATCHEL_RUNS'] ?? 400)
const SEED = Number(process.env['SATCHEL_SEED'] ?? 20300101)

const MARKED = { markedForSync: true, initiallySynced: true }
const LONE = ['\ud800', '\ud801', '\udbff', '\udc00', '\udfff', '\ude00\ud83d', '\0']

const malformed = fc
  .tuple(
    fc.string({ unit: 'binary', maxLength: 8 }),
    fc.constantFrom(...LONE),
    fc.constantFrom('', 'a', '\ud83d\ude00'),
  )
  .map(([before, bad, after]) => `${before}${bad}${after}`)
  .filter((text) => !text.isWellFormed() || text.includes('\0'))

/** How a malformed string gets into an operation on the row `key`. */
const PLACES = {
  key: (_key, bad) => ({ type: 'insert', keys: [bad], values: [{ id: bad }] }),
  id: (key, bad) => ({ type: 'upsert', keys: [key], values: [{ id: bad }] }),
  property: (key, bad) => ({ type: 'insert', keys: [key], values: [{ id: key, [bad]: 1 }] }),
  'inner property': (key, bad) => ({
    type: 'upsert',
    keys: [key],
    values: [{ id: key, deep: [{ inner: { [bad]: 1 } }] }],
  }),
  realm: (key, bad) => ({ type: 'insert', keys: [key], values: [{ id: key, realmId: bad }] }),
  owner: (key, bad) => ({ type: 'insert', keys: [key], values: [{ id: key, owner: bad }] }),
  path: (_key, bad) => ({ type: 'update', keys: ['known'], changeSpecs: [{ [bad]: 1 }] }),
  'inner path': (_key, bad) => ({
    type: 'update',
    keys: ['known'],
    changeSpecs: [{ [`deep.${bad}`]: 1 }],
  }),
  'removed path': (_key, bad) => ({
    type: 'update',
    keys: ['known'],
    changeSpecs: [{ [bad]: { $t: 'undefined' } }],
  }),
  'path of criteria': (_key, bad) => ({
    type: 'modify',
    keys: ['known'],
    criteria: { index: 'id', range: { type: 1, lower: 'known', upper: 'known' } },
    changeSpec: { [bad]: 1 },
  }),
  'index of criteria': (_key, bad) => ({
    type: 'modify',
    keys: ['known'],
    criteria: { index: bad, range: { type: 3 } },
    changeSpec: { done: true },
  }),
  'deleted key': (_key, bad) => ({ type: 'delete', keys: [bad] }),
} as const satisfies Record<string, (key: string, bad: string) => object>

interface SyncAnswer {
  readonly rejections: readonly { readonly txid: string; readonly name: string }[]
}

const PLACE_NAMES = Object.keys(PLACES) as (keyof typeof PLACES)[]

async function push(caller: Caller, muts: readonly object[], clientIdentity = 'device') {
  const all = muts.map((mut, at) => ({
    ts: Date.parse('2030-01-01T12:00:01Z'),
    rev: at + 1,
    userId: ALICE,
    ...mut,
  }))
  return await caller.post('/sync', {
    v: 3,
    clientIdentity,
    schema: { plain: MARKED },
    changes: [{ table: 'plain', muts: all }],
  })
}

describe('promise 51: a malformed name', () => {
  test('rejects its transaction, and no other one', async () => {
    await using server = await setupData()
    const alice = await server.as(ALICE)
    await alice.post('/my/plain', { id: 'known', deep: {} })
    let count = 0
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...PLACE_NAMES), malformed, async (place, bad) => {
        count += 1
        const [key, other] = [`k${count}`, `o${count}`]
        const { status, body } = await push(alice, [
          { txid: `bad${count}`, ...PLACES[place](key, bad) },
          {
            txid: `good${count}`,
            type: 'insert',
            keys: [other],
            values: [{ id: other, text: bad }],
          },
        ])
        expect(status).toBe(200)
        expect((body as SyncAnswer).rejections).toMatchObject([{ txid: `bad${count}` }])
        expect((await alice.get(`/my/plain/${key}`)).status).toBe(404)
        // The acknowledged transaction is done, and its value is kept as it came.
        expect((await alice.get(`/my/plain/${other}`)).body).toMatchObject({ id: other, text: bad })
        expect((await alice.get('/my/plain/known')).body).toEqual({
          id: 'known',
          deep: {},
          realmId: ALICE,
          owner: ALICE,
        })
      }),
      { numRuns: RUNS, seed: SEED },
    )
    expect(await server.commands.run('verify', { database: 'main', accept: false })).toMatchObject({
      faults: [],
    })
  })

  test('of a transaction or a client refuses the request, before anything is stored', async () => {
    await using server = await setupData()
    const alice = await server.as(ALICE)
    let count = 0
    await fc.assert(
      fc.asyncProperty(fc.boolean(), malformed, async (isClient, bad) => {
        count += 1
        const id = `k${count}`
        const mut = { txid: isClient ? id : bad, type: 'insert', keys: [id], values: [{ id }] }
        const other = {
          txid: `other ${id}`,
          type: 'insert',
          keys: [`o${id}`],
          values: [{ id: `o${id}` }],
        }
        const { status, body } = await push(alice, [other, mut], isClient ? bad : 'device')
        expect({ status, body }).toMatchObject({ status: 400, body: { code: 'INVALID_REQUEST' } })
        expect((body as { message: string }).message).toContain('without U+0000')
      }),
      { numRuns: RUNS, seed: SEED },
    )
    expect((await alice.get('/my/plain')).body).toEqual([])
    // Both are stored as U+FFFD by an engine that takes them.
    for (const txid of ['\ud800', '\ud801']) {
      const mut = { txid, type: 'insert', keys: [txid], values: [{ id: 'x' }] }
      expect((await push(alice, [mut])).status).toBe(400)
    }
  })

  test('is refused over REST and in an import, where values keep theirs', async () => {
    await using server = await setupData()
    const alice = await server.as(ALICE)
    const { root } = server
    const manager = await server.as('manager@example.com', [
      'MANAGE_DB',
      'GLOBAL_WRITE',
      'ACCESS_DB',
    ])
    await fc.assert(
      fc.asyncProperty(malformed, async (bad) => {
        const rows = [
          { id: bad },
          { id: 'x', [bad]: 1 },
          { id: 'x', deep: { [bad]: 1 } },
          { id: 'x', realmId: bad },
          { id: 'x', owner: bad },
        ]
        for (const row of rows) {
          for (const answer of [
            await alice.post('/my/plain', row),
            await root.post('/all/plain', { realmId: 'rlm-public', ...row }),
            await root.send('PUT', '/public/plain/x', { body: row }),
          ]) {
            expect({ row, status: answer.status }).toEqual({ row, status: 422 })
          }
          const { id, realmId = 'rlm-public', ...rest } = row as { id: string; realmId?: string }
          const headers = { 'content-type': 'application/x-tson' }
          const data = { [realmId]: { plain: { [id]: rest } } }
          const body = JSON.stringify({ data })
          const imported = await manager.send('POST', '/import', { body, headers })
          expect({ row, status: imported.status }).toEqual({ row, status: 422 })
        }
      }),
      { numRuns: Math.ceil(RUNS / 20), seed: SEED },
    )
    expect((await root.get('/all/plain')).body).toEqual([])
    for (const text of LONE) {
      expect((await alice.post('/my/plain', { id: 'v', text })).status).toBe(200)
      expect((await alice.get('/my/plain/v')).body).toMatchObject({ text })
    }
  })
})

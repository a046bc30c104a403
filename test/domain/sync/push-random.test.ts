import { describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import type { Database } from '../../../src/domain/store/store'
import { declareIn } from '../../contract/fixture'
import {
  card,
  change,
  connect,
  drop,
  insert,
  only,
  revisionOf,
  setupPush,
  upsert,
  type WireOperation,
} from './push-setup'

const keys = ['a', 'b', 'c', 'd']
const key = fc.constantFrom(...keys)
const list = fc.constantFrom('x', 'y')
const add = { '@@propmod': { add: 1 } }

function operationOf(owner: string): fc.Arbitrary<WireOperation> {
  const realm = fc.constantFrom('rlm-team', owner)
  const whole = fc
    .record({ key, realm, list, n: fc.integer({ min: 0, max: 9 }) })
    .map((given) => card(given.key, { list: given.list, n: given.n }, owner, given.realm))
  return fc.oneof(
    whole.map((value) => insert(value)),
    whole.map((value) => upsert(value)),
    fc.tuple(key, list).map(([one, to]) => change(one, { list: to, n: add })),
    fc.tuple(key, fc.integer({ min: 0, max: 9 })).map(([one, x]) => change(one, { 'deep.x': x })),
    fc.tuple(key, realm).map(([one, realmId]) => change(one, { realmId })),
    key.map((one) => drop(one)),
    list.map((of) => ({
      type: 'modify',
      keys: [],
      criteria: { index: 'list', range: only(of) },
      changeSpec: { m: add },
    })),
    list.map((of) => ({
      type: 'delete',
      keys: [],
      criteria: { index: 'list', range: only(of) },
    })),
  )
}

const transactions = (owner: string) =>
  fc.array(fc.array(operationOf(owner), { minLength: 1, maxLength: 4 }), {
    minLength: 1,
    maxLength: 3,
  })

const request = fc.oneof(
  transactions('alice').map((sent) => ({ owner: 'alice', sent })),
  transactions('bob').map((sent) => ({ owner: 'bob', sent })),
)

const history = fc.array(
  fc.record({
    request,
    lag: fc.integer({ min: 0, max: 4 }),
    time: fc.integer({ min: 0, max: 99 }),
  }),
  { minLength: 1, maxLength: 8 },
)

describe('any history of two users', () => {
  test('ends alike when executed transactions come again, sooner or later', async () => {
    await using database = await setupPush()
    await fc.assert(
      fc.asyncProperty(history, fc.array(fc.nat(), { maxLength: 6 }), async (steps, again) => {
        const once = await play(database, steps, [])
        const twice = await play(database, steps, again)
        expect(twice).toEqual(once)
      }),
      { numRuns: 8 },
    )
  })

  test('leaves rows whose realm and owner are those in their values', async () => {
    await using database = await setupPush()
    await fc.assert(
      fc.asyncProperty(history, async (steps) => {
        for (const { value, owner, realmId } of await play(database, steps, [])) {
          const object = JSON.parse(value) as Record<string, unknown>
          expect([object['owner'], object['realmId']]).toEqual([owner, realmId])
        }
      }),
      { numRuns: 8 },
    )
  })
})

type Step = typeof history extends fc.Arbitrary<readonly (infer T)[]> ? T : never

const START = Date.UTC(2030, 0, 2)
let tables = 0

/**
 * Sends every step once, each based on the state before an earlier one, and after step n, a second
 * time, the executed transactions of the step that `again[n]` chooses. In a table of its own.
 */
async function play(database: Database, steps: readonly Step[], again: readonly number[]) {
  const table = `cards${(tables += 1)}`
  await declareIn(database, table, '@id, list')
  const clients = {
    alice: await connect(database, 'alice'),
    bob: await connect(database, 'bob'),
  }
  const revisions: number[] = []
  const executed: (readonly string[])[] = []
  const send = async (position: number, isChosen: (txid: string) => boolean) => {
    const { request: given, time, lag } = steps[position]!
    const client = clients[given.owner as keyof typeof clients]
    const all = given.sent.map((operations, n) => ({
      operations,
      txid: `${table}-${position}-${n}`,
    }))
    const chosen = all.filter(({ txid }) => isChosen(txid))
    const { rejections } = await client.send(
      chosen.map(({ operations }) => operations.map((operation) => ({ ...operation, table }))),
      {
        base: revisions[Math.max(0, position - lag)],
        now: START + time,
        txids: chosen.map(({ txid }) => txid),
      },
    )
    const rejected = new Set(rejections.map(({ txid }) => txid))
    return chosen.map(({ txid }) => txid).filter((txid) => !rejected.has(txid))
  }
  for (const position of steps.keys()) {
    revisions.push(await revisionOf(database))
    executed.push(await send(position, () => true))
    const back = again[position]
    if (back === undefined) continue
    const chosen = position - (back % (position + 1))
    const repeated = await send(chosen, (txid) => executed[chosen]?.includes(txid) === true)
    expect(repeated).toEqual([...(executed[chosen] ?? [])])
  }
  return rowsOf(database, table)
}

async function rowsOf(database: Database, name: string) {
  return database.read((tx) => {
    const table = tx.tables.find(name)
    const found = tx.objects.findMany(table!, keys)
    const rows = []
    for (const { key: its, value, owner, realm } of found.values()) {
      rows.push({ key: its, value, owner, realmId: tx.realms.findByRef(realm)?.id })
    }
    return rows
  })
}

import { expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { declareIn, NOW } from '../../contract/fixture'
import { actorFor } from '../../access/setup'
import { setupStore } from '../../auth/setup'
import { ROW_RULES } from '../../../src/domain/rows/row-rules'
import type { Database } from '../../../src/domain/store/store'
import type { SyncClient } from '../../../src/domain/store/sync'
import { pushTransactions } from '../../../src/domain/sync/push'
import { put, read, revisionOf } from '../../domain/sync/push-setup'
import {
  type DeviceClock,
  exceptionOf,
  firstRow,
  isCreation,
  type OrderHistory,
  type OrderNames,
  type OrderTransaction,
  orderHistories,
  UNDEFINED,
  timeBy,
  transactionsOf,
} from './orders'
import { readRequest, UNLIMITED } from '../../domain/sync/read-request'

/** More with SATCHEL_RUNS=100000, others with SATCHEL_SEED. */
const RUNS = Number(process.env['SATCHEL_RUNS'] ?? 400)
const SEED = Number(process.env['SATCHEL_SEED'] ?? 20300101)
/** Histories in one database. */
const SHARED = 500

const ALICE = 'alice@example.com'
const BOB = 'bob@example.com'

test(
  'a row ends alike in whichever order the work of two devices arrives',
  async () => {
    let world: Awaited<ReturnType<typeof setup>> | undefined
    let played = 0
    const excused = new Map<string, number>()
    const different = new Map<string, number>()
    try {
      await fc.assert(
        fc.asyncProperty(orderHistories, async (history) => {
          if (played % SHARED === 0) {
            await world?.[Symbol.asyncDispose]()
            world = await setup()
          }
          played += 1
          const one = await play(world!, history, `${played}a`, false)
          const other = await play(world!, history, `${played}b`, true)
          const { exception } = one
          if (exception !== undefined) {
            excused.set(exception, (excused.get(exception) ?? 0) + 1)
            if (one.row !== other.row) different.set(exception, (different.get(exception) ?? 0) + 1)
            return
          }
          expect(other.row).toBe(one.row)
        }),
        { numRuns: RUNS, seed: SEED },
      )
    } finally {
      await world?.[Symbol.asyncDispose]()
    }
    // Most histories have none of the listed exceptions.
    const excuses = [...excused.values()].reduce((sum, count) => sum + count, 0)
    expect(excuses).toBeLessThan(played * 0.6)
  },
  60_000 + RUNS * 1_000,
)

async function setup() {
  const base = await setupStore()
  const database = await base.store.create('main')
  const items = await declareIn(database, 'items', '@id, list')
  await database.write((tx) => {
    for (const { number } of items.indexes) tx.tables.setIndexState(number, 'ready')
  })
  const permissions = { manage: '*' }
  for (const realmId of ['rlm-team', 'rlm-side']) {
    await put(database, 'realms', [{ realmId, owner: ALICE }])
    await put(database, 'members', [{ id: `mmb-${realmId}`, realmId, userId: BOB, permissions }])
  }
  const clients: SyncClient[] = []
  for (const [position, subject] of [ALICE, BOB, ALICE].entries()) {
    clients.push(
      await database.write((tx) => tx.syncClients.ensure(subject, `client-${position}`, NOW)),
    )
  }
  return { database, clients, [Symbol.asyncDispose]: () => base[Symbol.asyncDispose]() }
}

async function play(
  { database, clients }: Awaited<ReturnType<typeof setup>>,
  history: OrderHistory,
  name: string,
  isReversed: boolean,
): Promise<{ readonly row: string | undefined; readonly exception: string | undefined }> {
  const { users, start, isSwapped, devices } = history
  const pair = users === 2 ? [0, 1] : [0, 2]
  const [one = 0, other = 0] = isSwapped ? (users === 2 ? [2, 1] : [2, 0]) : pair
  const senders = [clients[one]!, clients[other]!]
  const namesOf = (user: string): OrderNames => ({
    key: `itm${name}`,
    prefix: `${name}-`,
    user,
    realmOf: (place) => (place === 'own' ? user : `rlm-${place}`),
  })
  const names = namesOf(ALICE)
  const early = await revisionOf(database)
  if (start !== 'absent') await put(database, 'items', [firstRow(names)])
  const late = await revisionOf(database)
  const requests = senders.map((client, position) => {
    const knows = start === 'seen' || (start === 'seen by one' && position === 0)
    const own = namesOf(client.subject)
    const transactions = transactionsOf(
      devices[position]!,
      own,
      knows ? firstRow(names) : undefined,
    )
    const base = knows ? late : early
    return { client, transactions, base: history.unplaced === position ? undefined : base }
  })
  const all = requests.map(({ transactions }) => transactions)
  const exception = exceptionOf(history, all)
  const isDouble =
    all.every((its) => its.some(({ operations }) => operations.some(isCreation))) ||
    (start === 'seen by one' && all[1]!.some(({ operations }) => operations.some(isCreation)))
  for (const [position, request] of (isReversed ? requests.toReversed() : requests).entries()) {
    const clock = history.clocks[isReversed ? 1 - position : position]!
    await send(database, { ...request, clock, name: `${name} ${position}`, isDouble })
  }
  const row = await read(database, 'items', names.key)
  return { row: row && textOf({ ...row, id: '', list: withoutPrefix(row['list']) }), exception }
}

function withoutPrefix(list: unknown): unknown {
  return typeof list === 'string' ? list.slice(list.indexOf('-')) : list
}

/** Objects are the same in whatever order their properties came. */
function textOf(row: object): string {
  return JSON.stringify(row, (_, value: unknown) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(
          Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1)),
        )
      : value,
  )
}

interface Sending {
  readonly client: SyncClient
  readonly transactions: readonly OrderTransaction[]
  readonly clock: DeviceClock
  readonly base: number | undefined
  readonly name: string
  readonly isDouble: boolean
}

async function send(database: Database, sending: Sending): Promise<void> {
  const { client, transactions, clock, base, name, isDouble } = sending
  const changes = transactions.flatMap(({ at, operations }, position) =>
    operations
      // Of a row that both have made, a deletion by key removes one, and the other one is left.
      .filter(({ type, criteria }) => !isDouble || type !== 'delete' || criteria !== UNDEFINED)
      .map((operation) => ({
        table: 'items',
        muts: [
          {
            ...operation,
            isCreation: undefined,
            isRemade: undefined,
            txid: `${name} ${position}`,
            ts: NOW + timeBy(clock, at, position),
            userId: client.subject,
          },
        ],
      })),
  )
  if (changes.length === 0) return
  const fields = { v: 3, clientIdentity: client.identity, schema: {}, baseRevs: [] }
  const { transactions: read } = readRequest(structuredClone({ ...fields, changes }))
  const fresh = await database.read((tx) => tx.syncClients.find(client.subject, client.identity))
  await pushTransactions(database, {
    actor: {
      ...actorFor({ id: client.subject, email: client.subject }, 'my'),
      subject: client.subject,
    },
    client: { ...fresh!, floor: 0 },
    isFirst: false,
    transactions: read,
    baseOf: () => base,
    now: NOW + 1_000,
    rulesByTable: ROW_RULES,
    limits: UNLIMITED,
  })
}

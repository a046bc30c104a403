import type { Actor } from '../../src/domain/access/actor'
import { accessOf } from '../../src/domain/access/access'
import { type List, listObjects } from '../../src/domain/object/list'
import { requireTable } from '../../src/domain/object/tables'
import type { Database, WriteTx } from '../../src/domain/store/store'
import { createSqliteStore } from '../../src/sqlite/store'
import { createTestClock } from '../auth/setup'
import { declareIn, fresh, NOW } from '../contract/fixture'
import { temporaryFolder } from '../setup'
import type { Finding } from './experiment'

const REALMS = 10_000
const OBJECTS = 1_000
/** In ms: what a user in 10,000 realms pays after a change of their own, and for a list. */
const MARKS = { change: 20, list: 5 }

const ALICE: Actor = {
  subject: 'alice',
  email: 'alice@example.com',
  name: null,
  scopes: new Set(['ACCESS_DB']),
}

/**
 * Times the requests of a user in 10,000 realms: the first one after a change of their own rights, one
 * after a change of somebody else's, and a list of 1,000 objects.
 */
export async function measureManyRealms(rounds: number): Promise<Finding> {
  await using stack = new AsyncDisposableStack()
  const folder = stack.use(temporaryFolder())
  const store = stack.use(
    createSqliteStore(folder.path, { clock: createTestClock(NOW), durability: 'none' }),
  )
  const database = await store.create('main')
  await fill(database)
  const times = { change: [] as number[], stranger: [] as number[], list: [] as number[] }
  const access = async () => void (await database.read((tx) => accessOf(tx, ALICE)))
  const list = async () => listObjects(database, ALICE, 'my', 'things', { filters: [] })
  await access()
  for (let round = 0; round < rounds; round += 1) {
    await change(database, `stranger${round}`)
    times.stranger.push(await timeOf(access))
    await change(database, 'alice', round)
    times.change.push(await timeOf(access))
    requireWhole(await list())
    times.list.push(await timeOf(list))
  }
  const median = {
    change: medianOf(times.change),
    stranger: medianOf(times.stranger),
    list: medianOf(times.list),
  }
  const problems = (['change', 'list'] as const).flatMap((name) =>
    median[name] <= MARKS[name]
      ? []
      : [`${name}: ${median[name].toFixed(1)} ms instead of ${MARKS[name]}`],
  )
  if (median.stranger > median.change / 10) problems.push('a stranger costs as much')
  const told = Object.entries(median).map(([name, time]) => `${name} ${time.toFixed(2)} ms`)
  return { facts: told.join(', '), problems }
}

/** A text may hold several objects, joined by commas. */
function requireWhole({ texts, more }: List): void {
  const { length } = JSON.parse(`[${texts.join()}]`) as unknown[]
  if (more !== undefined || length !== OBJECTS) throw new Error(`the list has ${length} objects`)
}

/** One realm of a hundred has a role of its own, the others use that of `rlm-public`. */
async function fill(database: Database): Promise<void> {
  const table = await declareIn(database, 'things')
  const role = (realmId: string, realm: number) =>
    fresh(JSON.stringify([realmId, 'writer']), {
      realm,
      value: JSON.stringify({ realmId, name: 'writer', permissions: { add: ['things'] } }),
    })
  const fillSome = (tx: WriteTx, from: number) => {
    const roles = requireTable(tx, 'roles')
    if (from === 0) tx.objects.put(roles, [role('rlm-public', 1)], NOW)
    for (let n = from; n < Math.min(from + 500, REALMS); n += 1) {
      const { ref: realm, id } = tx.realms.ensure(`rlm${n}`)
      const rights = { permissions: {}, roles: ['writer'] }
      const member = { email: null, accepted: true, rejected: false, ...rights }
      tx.memberships.put({ source: `members:${n}`, realm, userId: 'alice', ...member })
      if (n % 100 === 0) tx.objects.put(roles, [role(id, realm)], NOW)
      if (n % (REALMS / OBJECTS) === 0) tx.objects.put(table, [fresh(`k${n}`, { realm })], NOW)
    }
  }
  await database.writeSteps(
    async (step) => {
      for (let from = 0; from < REALMS; from += 500) await step((tx) => fillSome(tx, from))
    },
    { isUnbounded: true },
  )
}

async function change(database: Database, userId: string, round = 0): Promise<void> {
  await database.write((tx) =>
    tx.memberships.put({
      source: `members:of ${userId}`,
      realm: 1,
      userId,
      email: null,
      accepted: true,
      rejected: false,
      permissions: { add: [`table${round}`] },
      roles: [],
    }),
  )
}

async function timeOf(work: () => Promise<unknown>): Promise<number> {
  const begun = performance.now()
  await work()
  return performance.now() - begun
}

function medianOf(times: readonly number[]): number {
  return times.toSorted((one, other) => one - other)[times.length >> 1] ?? 0
}

import type { Actor } from '../../../src/domain/access/actor'
import { createJobRunner, type JobRunner } from '../../../src/domain/job/job-runner'
import { MAINTENANCE } from '../../../src/domain/object/maintenance'
import { listObjects } from '../../../src/domain/object/list'
import { upsertObjects } from '../../../src/domain/object/upsert'
import { parseStores } from '../../../src/domain/value/schema'
import { SCOPES } from '../../../src/domain/value/scope'
import type { Database } from '../../../src/domain/store/store'
import { admitUser } from '../../../src/domain/user/policy'
import { REMOVAL_STEPS, removeUser } from '../../../src/domain/user/removal'
import { setupStore } from '../../auth/setup'
import { ROW_RULES } from '../../../src/domain/rows/row-rules'
import { declareTables } from '../../../src/domain/object/tables'

export const NOW = Date.UTC(2030, 0, 1)
export const [ALICE, BOB, CAROL] = ['alice', 'bob', 'carol'] as const

type Row = Readonly<Record<string, unknown>>

const person = (id: string): Actor => ({
  subject: id,
  email: `${id}@example.com`,
  name: null,
  scopes: new Set(['ACCESS_DB']),
})
const administrator: Actor = { ...person('administrator'), scopes: new Set(SCOPES) }

export interface World extends AsyncDisposable {
  readonly database: Database
  /** A write of a person, or without one of the administrator. */
  put(table: string, rows: readonly Row[], by?: string): Promise<void>
  list(table: string, as?: string): Promise<Row[]>
  remove(id: string): Promise<void>
  /** Works off the jobs, as a server does; unfinished ones stay. */
  runJobs(): JobRunner
}

/** A database with three users and a table. */
export async function setupWorld(): Promise<World> {
  const base = await setupStore()
  const database = await base.store.create('main')
  await database.write((tx) => {
    declareTables(tx, parseStores({ notes: '@id, title' }), NOW)
    for (const id of [ALICE, BOB, CAROL]) {
      admitUser(tx, { id, email: null, name: null }, { action: 'prod' }, NOW)
    }
  })
  return {
    database,
    async put(table, objects, by) {
      const [actor, view] =
        by === undefined ? [administrator, 'all' as const] : [person(by), 'my' as const]
      await upsertObjects(database, {
        actor,
        view,
        table,
        objects,
        isArray: true,
        now: NOW,
        rulesByTable: ROW_RULES,
      })
    },
    async list(table, as) {
      const [actor, view] =
        as === undefined ? [administrator, 'all' as const] : [person(as), 'my' as const]
      const texts: string[] = []
      let part = await listObjects(database, actor, view, table, { filters: [] })
      texts.push(...part.texts)
      while (part.more !== undefined) texts.push(...(part = await part.more()).texts)
      return JSON.parse(`[${texts.join(',')}]`) as Row[]
    },
    remove: (id) => database.write((tx) => removeUser(tx, id, NOW)),
    runJobs: () =>
      createJobRunner(database, { ...MAINTENANCE, ...REMOVAL_STEPS }, (_job, error) => {
        throw error
      }),
    [Symbol.asyncDispose]: () => base[Symbol.asyncDispose](),
  }
}

export const note = (realmId: string, title: string): Row => ({ realmId, title })
export const titles = (rows: readonly Row[]) => rows.map(({ title }) => String(title)).toSorted()
export const member = (realmId: string, userId: string, rights: Row = {}): Row => ({
  id: `mmb-${realmId}-${userId}`,
  realmId,
  userId,
  ...rights,
})

export async function permissionsIn(
  world: World,
  realmId: string,
): Promise<Record<string, unknown>> {
  const rows = (await world.list('members')).filter((row) => row['realmId'] === realmId)
  return Object.fromEntries(rows.map((row) => [String(row['userId']), row['permissions']]))
}

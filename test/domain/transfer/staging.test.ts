import { Database as SqliteDatabase } from 'bun:sqlite'
import { join } from 'node:path'
import { expect, test } from 'bun:test'
import { SERVER } from '../../../src/domain/access/actor'
import { listObjects } from '../../../src/domain/object/list'
import { removeObject } from '../../../src/domain/object/remove'
import { declareTables } from '../../../src/domain/object/tables'
import { upsertObjects } from '../../../src/domain/object/upsert'
import { ROW_RULES } from '../../../src/domain/rows/row-rules'
import { verifyDatabase } from '../../../src/domain/rows/verification'
import type { Database } from '../../../src/domain/store/store'
import { cancelImport } from '../../../src/domain/transfer/import-job'
import { stagedValues } from '../../../src/domain/transfer/staging'
import type { Target } from '../../../src/domain/transfer/text-file'
import { parseStores } from '../../../src/domain/value/schema'
import { createSqliteStore } from '../../../src/sqlite/store'
import { refusalOf, setupStore } from '../../auth/setup'
import { NOW } from '../../contract/fixture'
import { until } from '../../timing'
import { contextOf, importText, runJobs, scratchOf, stepsOf } from './setup'

/** More index entries than one unit adds. */
const TAGS = 45_000
const REALMS = { actor: SERVER, view: 'all', table: 'realms', rulesByTable: ROW_RULES } as const
const TARGET = { table: 'items', realm: 'rlm-public' }

const tagged = (prefix: string, more = {}) => ({
  ...more,
  title: prefix,
  tags: Array.from({ length: TAGS }, (_, n) => `${prefix}${n}`),
})

/** A database with a job that imports these objects, of which nothing is done. */
async function setup(
  objects: readonly object[],
  before: readonly object[] = [],
  target: Target = TARGET,
) {
  const base = await setupStore()
  const database = await base.store.create('main')
  const start = async (file: readonly object[]) => {
    const end = importText(database, base.clock, JSON.stringify(file), { target })
    end.catch(() => undefined)
    await until(async () => (await jobsOf(database)).some(({ kind }) => kind === 'import'))
    return { end }
  }
  await database.write((tx) => declareTables(tx, parseStores({ items: '@id, *tags' }), NOW))
  if (before.length > 0) await start(before)
  await finish(database)
  if (target.realm !== TARGET.realm) {
    const realm = { realmId: target.realm, name: 'Team', owner: 'alice' }
    await upsertObjects(database, { ...REALMS, objects: [realm], isArray: true, now: NOW })
  }
  return { ...base, database, ...(await start(objects)) }
}

const jobsOf = (database: Database) => database.read((tx) => tx.jobs.list())

/** One step of the import. True if there are more. */
async function step(database: Database): Promise<boolean> {
  const job = (await jobsOf(database)).find(({ kind }) => kind === 'import')
  return job !== undefined && (await stepsOf(database).import?.(database, job)) === 'more'
}

async function finish(database: Database): Promise<void> {
  await using jobs = runJobs(database)
  await jobs.idle()
}

/** The titles of the objects, of those only that a tag or a title finds if one is given. */
async function titles(database: Database, path?: string, text = ''): Promise<string[]> {
  const filters = path === undefined ? [] : [{ path, texts: [text] }]
  const { texts } = await listObjects(database, SERVER, 'all', 'items', { filters })
  return (JSON.parse(`[${texts.join()}]`) as { title: string }[]).map(({ title }) => title)
}

async function faultsOf(database: Database) {
  return (await verifyDatabase(database, { accepts: false })).faults
}

/** How many entries the indexes of a database have, whose store is closed. */
function countEntries(folder: string): number | undefined {
  using db = new SqliteDatabase(join(folder, 'databases', 'main', 'database.sqlite'))
  using count = db.prepare<{ total: number }, []>('SELECT count(*) AS total FROM index_entries')
  return count.get()?.total
}

test('an object with very many index entries is imported in several units, and is shown whole', async () => {
  const small = (title: string) => ({ id: title, title, tags: ['small'] })
  await using base = await setup([small('first'), tagged('large'), small('last')])
  const { database, end } = base
  let units = 0
  while ((await titles(database)).length < 2) {
    expect(await titles(database, 'tags', 'large0')).toEqual([])
    if (units === 3) expect(await faultsOf(database)).toEqual([])
    await step(database)
    units += 1
  }
  expect(units).toBeGreaterThan(4)
  for (const tag of ['large0', `large${TAGS - 1}`]) {
    expect(await titles(database, 'tags', tag)).toEqual(['large'])
  }
  await finish(database)
  expect(await end).toMatchObject({ objects: 3 })
  expect((await titles(database)).toSorted()).toEqual(['first', 'large', 'last'])
  expect(await titles(database, 'tags', 'small')).toEqual(['first', 'last'])
  expect(await faultsOf(database)).toEqual([])
  expect(await jobsOf(database)).toEqual([])
}, 180_000)

test.each([
  ['a small one', { id: 'a', title: 'old', tags: ['old0'] }],
  ['one as large', tagged('old', { id: 'a' })],
])(
  'it replaces %s with its last unit',
  async (_name, old) => {
    await using base = await setup([tagged('new', { id: 'a' })], [old])
    const { database, end } = base
    while ((await titles(database, 'tags', 'new0')).length === 0) {
      expect(await titles(database, 'tags', 'old0')).toEqual(['old'])
      expect(await titles(database)).toEqual(['old'])
      await step(database)
    }
    expect(await titles(database)).toEqual(['new'])
    expect(await titles(database, 'tags', 'old0')).toEqual([])
    await finish(database)
    await end
    expect(await titles(database, 'tags', `new${TAGS - 1}`)).toEqual(['new'])
    expect(await faultsOf(database)).toEqual([])
    expect(await jobsOf(database)).toEqual([])
  },
  180_000,
)

test('it goes on after a restart, with an index that was declared meanwhile', async () => {
  await using base = await setup([tagged('large')])
  for (let units = 0; units < 3; units += 1) expect(await step(base.database)).toBe(true)
  await base.store[Symbol.asyncDispose]()
  await using store = createSqliteStore(base.folder, { clock: base.clock, durability: 'relaxed' })
  const database = await store.open('main')
  await database.write((tx) => declareTables(tx, parseStores({ items: '@id, *tags, title' }), NOW))
  await finish(database)
  expect(await titles(database, 'tags', 'large1')).toEqual(['large'])
  expect(await titles(database, 'title', 'large')).toEqual(['large'])
  expect(await faultsOf(database)).toEqual([])
  expect(await jobsOf(database)).toEqual([])
}, 180_000)

test('nothing of it stays when its import is cancelled', async () => {
  await using base = await setup([tagged('large')])
  const { database, store, end } = base
  for (let units = 0; units < 3; units += 1) expect(await step(database)).toBe(true)
  const job = (await jobsOf(database)).find(({ kind }) => kind === 'import')
  expect(stagedValues.has(database)).toBe(true)
  await cancelImport(contextOf(database), job?.id ?? '')
  expect(stagedValues.has(database)).toBe(false)
  expect((await refusalOf(() => end)).message).toContain('it was cancelled')
  await finish(database)
  expect(await titles(database)).toEqual([])
  expect(await faultsOf(database)).toEqual([])
  expect(await jobsOf(database)).toEqual([])
  await store[Symbol.asyncDispose]()
  expect(countEntries(base.folder)).toBe(0)
}, 180_000)

test('nor when its job fails, also while it waits to be removed', async () => {
  await using base = await setup([tagged('large')])
  const { database, store, end } = base
  for (let units = 0; units < 3; units += 1) expect(await step(database)).toBe(true)
  await store[Symbol.asyncDispose]()
  expect((await refusalOf(() => end)).code).toBe('BUSY')
  await using next = createSqliteStore(base.folder, { clock: base.clock, durability: 'relaxed' })
  const reopened = await next.open('main')
  await scratchOf(reopened).remove(String((await jobsOf(reopened))[0]?.state['spool']))
  await using jobs = runJobs(reopened, () => undefined)
  await jobs.idle()
  expect(await jobsOf(reopened)).toMatchObject([{ kind: 'import', failure: expect.any(String) }])
  expect(await faultsOf(reopened)).toEqual([])
  await jobs[Symbol.asyncDispose]()
  await next[Symbol.asyncDispose]()
  expect(countEntries(base.folder)).toBe(0)
}, 180_000)

test('a caller who waits for a job that fails is told, and removes it', async () => {
  await using base = await setup([tagged('large')])
  const { database, end } = base
  for (let units = 0; units < 3; units += 1) expect(await step(database)).toBe(true)
  const job = (await jobsOf(database)).find(({ kind }) => kind === 'import')
  await database.write((tx) => tx.jobs.put({ ...job!, failure: 'It failed' }))
  expect((await refusalOf(() => end)).message).toContain('It failed')
  await finish(database)
  expect(await titles(database)).toEqual([])
  expect(await faultsOf(database)).toEqual([])
  expect(await jobsOf(database)).toEqual([])
}, 180_000)

test('its realm is made again when it was deleted meanwhile, as for a small object', async () => {
  const realm = 'rlmteam'
  await using base = await setup([tagged('large')], [], { table: 'items', realm })
  const { database, end } = base
  for (let units = 0; units < 3; units += 1) expect(await step(database)).toBe(true)
  await removeObject(database, { ...REALMS, key: realm, now: NOW })
  await finish(database)
  expect(await end).toMatchObject({ objects: 1 })
  expect(await titles(database)).toEqual(['large'])
  expect(await faultsOf(database)).toEqual([])
}, 180_000)

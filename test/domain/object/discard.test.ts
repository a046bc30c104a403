import { expect, test } from 'bun:test'
import { SERVER } from '../../../src/domain/access/actor'
import { listObjects } from '../../../src/domain/object/list'
import { createMaintenance } from '../../../src/domain/object/maintenance'
import { removeObject } from '../../../src/domain/object/remove'
import { declareTables } from '../../../src/domain/object/tables'
import { upsertObjects } from '../../../src/domain/object/upsert'
import { ROW_RULES } from '../../../src/domain/rows/row-rules'
import { verifyDatabase } from '../../../src/domain/rows/verification'
import type { Database } from '../../../src/domain/store/store'
import { parseStores } from '../../../src/domain/value/schema'
import { setupStore } from '../../auth/setup'
import { NOW } from '../../contract/fixture'

/** More index entries than one unit removes. */
const TAGS = 60_000

const tagged = (prefix: string, count: number) => ({
  id: 'a',
  realmId: 'rlm-public',
  tags: Array.from({ length: count }, (_, n) => `${prefix}${n}`),
})

const writing = { actor: SERVER, view: 'all', table: 'items', now: NOW } as const

/** A database with an object whose tags are in an index, unless it is declared later. */
async function setup(stores: string) {
  const base = await setupStore()
  const database = await base.store.create('main')
  const declare = (indexes: string) =>
    database.write((tx) => declareTables(tx, parseStores({ items: indexes }), NOW))
  const put = (object: object) =>
    upsertObjects(database, {
      ...writing,
      objects: [object],
      isArray: false,
      rulesByTable: ROW_RULES,
    })
  await declare(stores)
  await work(database)
  await put(tagged('old', TAGS))
  return {
    database,
    declare,
    put,
    remove: () => removeObject(database, { ...writing, key: 'a', rulesByTable: ROW_RULES }),
    /** The number of objects with this tag, and in all. */
    counts: async (tag: string) => {
      const lengthOf = async (filters: readonly { path: string; texts: string[] }[]) =>
        (await listObjects(database, SERVER, 'all', 'items', { filters })).texts.length
      return [await lengthOf([{ path: 'tags', texts: [tag] }]), await lengthOf([])]
    },
    faults: async () => (await verifyDatabase(database, { accepts: false })).faults,
    [Symbol.asyncDispose]: () => base[Symbol.asyncDispose](),
  }
}

/** Works off all jobs; the number of units that it takes. */
async function work(database: Database, each = async () => {}): Promise<number> {
  const steps = createMaintenance()
  for (let units = 0; ; units += 1) {
    const [job] = await database.read((tx) => tx.jobs.list())
    if (job === undefined) return units
    await steps[job.kind]?.(database, job)
    await each()
  }
}

test('an object with very many index entries is replaced at once, and its entries go in steps', async () => {
  await using place = await setup('@id, *tags')
  const { database, put, counts, faults } = place
  await put({ ...tagged('new', 3), title: 'Small' })
  const units = await work(database, async () => {
    expect(await counts('new1')).toEqual([1, 1])
    expect(await counts(`old${TAGS - 1}`)).toEqual([0, 1])
    expect(await faults()).toEqual([])
  })
  expect(units).toBeGreaterThan(1)
  expect(await counts('new2')).toEqual([1, 1])
  await put(tagged('old', 2))
  expect(await counts('old1')).toEqual([1, 1])
  expect(await counts('old2')).toEqual([0, 1])
  expect(await work(database)).toBe(0)
  expect(await faults()).toEqual([])
}, 60_000)

test('what the replacement does not change stays where it is', async () => {
  await using place = await setup('@id, *tags')
  const { database, put, counts } = place
  await put({ ...tagged('old', TAGS), title: 'Renamed' })
  expect(await work(database)).toBe(0)
  expect(await counts(`old${TAGS - 1}`)).toEqual([1, 1])
}, 60_000)

test('an object with very many index entries is deleted at once, and its entries go in steps', async () => {
  await using place = await setup('@id, *tags')
  const { database, put, remove, counts, faults } = place
  await remove()
  expect(await counts('old1')).toEqual([0, 0])
  expect(
    await database.read((tx) => tx.objects.findTombstone(tx.tables.find('items')!, 'a')),
  ).toBeDefined()
  await put(tagged('new', 1))
  expect(await work(database)).toBeGreaterThan(1)
  expect(await counts('new0')).toEqual([1, 1])
  expect(await faults()).toEqual([])
}, 60_000)

test('entries that have gone in part go to the end when the indexes change', async () => {
  await using place = await setup('@id, *tags')
  const { database, declare, remove, faults } = place
  await remove()
  const [job] = await database.read((tx) => tx.jobs.list())
  await createMaintenance().erase?.(database, job!)
  await declare('@id, title, *tags')
  expect(await work(database)).toBeGreaterThan(1)
  expect(await faults()).toEqual([])
  expect(await database.read((tx) => tx.realms.findByRef(2))).toBeUndefined()
}, 60_000)

test('an index on very many values of an object is built in steps', async () => {
  await using place = await setup('@id')
  const { database, declare, counts, faults } = place
  await declare('@id, *tags')
  expect(await work(database)).toBeGreaterThan(1)
  expect(await counts('old0')).toEqual([1, 1])
  expect(await counts(`old${TAGS - 1}`)).toEqual([1, 1])
  expect(await faults()).toEqual([])
}, 60_000)

import { expect, test } from 'bun:test'
import { SERVER } from '../../../src/domain/access/actor'
import { listObjects } from '../../../src/domain/object/list'
import { MAINTENANCE } from '../../../src/domain/object/maintenance'
import { removeObject } from '../../../src/domain/object/remove'
import { declareTables } from '../../../src/domain/object/tables'
import { upsertObjects } from '../../../src/domain/object/upsert'
import { ROW_RULES } from '../../../src/domain/rows/row-rules'
import { verifyDatabase } from '../../../src/domain/rows/verification'
import type { Database } from '../../../src/domain/store/store'
import { exportDatabase } from '../../../src/domain/transfer/export'
import { parseStores } from '../../../src/domain/value/schema'
import { setupStore } from '../../auth/setup'
import { NOW } from '../../contract/fixture'
import { countTurns } from '../../timing'

/** More index entries than an object may have. */
const TAGS = 60_000
const LIMITS = {
  maxObjects: 10,
  maxRows: 10,
  maxEntries: 10_000,
  maxRequestEntries: 20_000,
  maxProperties: 100,
  maxDepth: 10,
}

const tagged = (prefix: string, count: number, id = 'a') => ({
  id,
  realmId: 'rlm-public',
  tags: Array.from({ length: count }, (_, n) => `${prefix}${n}`),
})

const writing = { actor: SERVER, view: 'all', table: 'items', now: NOW } as const

/** A database with two objects that got their index entries when an index was declared. */
async function setup() {
  const base = await setupStore()
  const database = await base.store.create('main')
  const declare = async (indexes: string) => {
    await database.write((tx) => declareTables(tx, parseStores({ items: indexes }), NOW))
    await work(database)
  }
  const put = (...objects: readonly object[]) =>
    upsertObjects(database, {
      ...writing,
      objects,
      isArray: true,
      rulesByTable: ROW_RULES,
      limits: LIMITS,
    })
  await declare('@id')
  await put(tagged('old', TAGS), tagged('other', TAGS, 'b'))
  await declare('@id, *tags')
  return {
    database,
    declare,
    put,
    remove: () => removeObject(database, { ...writing, key: 'a', rulesByTable: ROW_RULES }),
    /** The number of objects with this tag, and in all. */
    counts: async (tag: string) => {
      const lengthOf = async (filters: readonly { path: string; texts: string[] }[]) => {
        const list = await listObjects(database, SERVER, 'all', 'items', { filters })
        let length = 0
        for (let next: typeof list | undefined = list; next !== undefined;) {
          length += (JSON.parse(`[${next.texts.join()}]`) as unknown[]).length
          next = await next.more?.()
        }
        return length
      }
      return [await lengthOf([{ path: 'tags', texts: [tag] }]), await lengthOf([])]
    },
    faults: async () => (await verifyDatabase(database, { accepts: false })).faults,
    [Symbol.asyncDispose]: () => base[Symbol.asyncDispose](),
  }
}

/** Works off all jobs; the number of units that it takes. */
async function work(database: Database): Promise<number> {
  for (let units = 0; ; units += 1) {
    const [job] = await database.read((tx) => tx.jobs.list())
    if (job === undefined) return units
    await MAINTENANCE[job.kind]?.(database, job)
  }
}

test('objects with more index entries than they may have are found, exported and replaced', async () => {
  await using place = await setup()
  const { database, put, counts, faults } = place
  expect(await counts('old0')).toEqual([1, 2])
  expect(await counts(`other${TAGS - 1}`)).toEqual([1, 2])
  let exported = ''
  for await (const { text } of exportDatabase(database, 'ndjson', { table: null, realm: null })) {
    exported += text
  }
  expect(exported).toContain(`"old${TAGS - 1}"`)
  await put(tagged('new', 3))
  expect(await counts('new2')).toEqual([1, 2])
  expect(await counts(`old${TAGS - 1}`)).toEqual([0, 2])
  expect(await faults()).toEqual([])
})

test('an object is refused that replaces them with as many entries, by its place and its index', async () => {
  await using place = await setup()
  const refused = await place.put(tagged('new', 1), tagged('other', TAGS, 'b')).catch(String)
  expect(refused).toContain('the object at [1] has 60000, most of them for "tags"')
  expect(await place.counts('new0')).toEqual([0, 2])
})

test('one of them is replaced in a request, however many entries it has', async () => {
  await using place = await setup()
  const both = await place.put(tagged('new', 1), tagged('new', 1, 'b')).catch(String)
  expect(both).toContain('A request may replace 20000 index entries of stored objects')
  expect(await place.counts('old0')).toEqual([1, 2])
  await place.put(tagged('new', 1, 'b'))
  expect(await place.counts('new0')).toEqual([1, 2])
})

test('one of them is deleted while others have their turns', async () => {
  await using place = await setup()
  using counter = countTurns()
  await place.remove()
  expect(counter.turns).toBeGreaterThan(1)
  expect(await place.counts('old1')).toEqual([0, 1])
  expect(await work(place.database)).toBe(0)
  expect(await place.faults()).toEqual([])
})

test('an index is built on each of them in a unit of its own', async () => {
  await using place = await setup()
  const { database } = place
  await place.declare('@id')
  await database.write((tx) => declareTables(tx, parseStores({ items: '@id, *tags' }), NOW))
  expect(await work(database)).toBe(2)
  expect(await place.faults()).toEqual([])
})

test('their realm is erased in several units', async () => {
  await using place = await setup()
  const { database, faults } = place
  const realm = { realmId: 'rlmteam', name: 'Team', owner: 'alice' }
  const realms = { ...writing, table: 'realms', rulesByTable: ROW_RULES }
  await upsertObjects(database, { ...realms, objects: [realm], isArray: false })
  const objects = ['c', 'd'].map((id) => ({ ...tagged(id, TAGS, id), realmId: 'rlmteam' }))
  await upsertObjects(database, { ...writing, rulesByTable: ROW_RULES, objects, isArray: true })
  await removeObject(database, { ...realms, key: 'rlmteam' })
  expect(await place.counts('c0')).toEqual([0, 2])
  expect(await work(database)).toBeGreaterThan(2)
  expect(await faults()).toEqual([])
})

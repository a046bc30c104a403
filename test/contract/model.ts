import { expect, test } from 'bun:test'
import * as fc from 'fast-check'
import type { RealmRef } from '../../src/domain/store/realms'
import type { ObjectPut } from '../../src/domain/store/objects'
import type { Database, WriteTx } from '../../src/domain/store/store'
import {
  declareIn,
  ensureRealm,
  entry,
  failPart,
  NOW,
  type OpenStore,
  rowsOf,
  scanAll,
  setupDatabase,
} from './fixture'
import type { Table } from '../../src/domain/store/tables'

/** Random units on a few keys, held against a plain map. */
export function describeModel(openStore: OpenStore): void {
  test('objects are what a map would hold after any sequence of units', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(unit, { maxLength: 25 }), async (units) => {
        await using fixture = await setupDatabase(openStore)
        const { database } = fixture
        const world = await setupWorld(database)
        const before = new Map<string, Modelled>()
        const model = units.reduce(applyUnit, before)
        const outcomes = await Promise.allSettled(
          units.map((one) => database.write((tx) => runUnit(tx, world, one))),
        )
        expect(outcomes.map(({ status }) => status)).toEqual(
          units.map(({ fails }) => (fails ? 'rejected' : 'fulfilled')),
        )
        await expectSame(database, world, model)
        await expectSame(await (await fixture.crash()).open('main'), world, model)
        await expectSame(await (await fixture.reopen()).open('main'), world, model)
      }),
      { numRuns: 25, seed: 20300101 },
    )
  }, 60_000)
}

/** An object of the model: in which realm it is, what its value is, under which tags it is indexed. */
interface Modelled {
  readonly realm: number
  readonly text: string
  readonly tags: readonly number[]
}

interface Step {
  readonly key: string
  /** The new object; undefined removes it. */
  readonly object: Modelled | undefined
}

interface Part {
  readonly steps: readonly Step[]
  readonly fails: boolean
}

interface Unit {
  readonly parts: readonly Part[]
  readonly fails: boolean
}

const REALMS = 3
const TAGS = 4

const object = fc.record({
  realm: fc.nat({ max: REALMS - 1 }),
  text: fc.string({ maxLength: 5 }),
  tags: fc.uniqueArray(fc.nat({ max: TAGS - 1 })),
})
const step = fc.record({
  key: fc.constantFrom('a', 'b', 'c', 'd', 'e'),
  object: fc.option(object, { nil: undefined, freq: 3 }),
})
const seldom = fc.nat({ max: 3 }).map((n) => n === 0)
const part = fc.record({ steps: fc.array(step, { maxLength: 4 }), fails: seldom })
const unit = fc.record({ parts: fc.array(part, { maxLength: 3 }), fails: seldom })

type Model = ReadonlyMap<string, Modelled>

function applyUnit(model: Model, { parts, fails }: Unit): Map<string, Modelled> {
  const after = new Map(model)
  if (fails) return after
  for (const { steps, fails: isUndone } of parts) {
    if (isUndone) continue
    for (const { key, object } of steps) {
      if (object === undefined) after.delete(key)
      else after.set(key, object)
    }
  }
  return after
}

interface World {
  readonly table: Table
  readonly index: number
  readonly realms: readonly RealmRef[]
}

async function setupWorld(database: Database): Promise<World> {
  const table = await declareIn(database, 'things', '@id, *tags')
  const realms: RealmRef[] = []
  for (let n = 0; n < REALMS; n += 1) realms.push(await ensureRealm(database, `realm ${n}`))
  return { table, index: table.indexes[0]?.number ?? 0, realms }
}

function runUnit(tx: WriteTx, world: World, { parts, fails }: Unit): void {
  for (const one of parts) {
    const work = () => {
      for (const { key, object } of one.steps) runStep(tx, world, key, object)
    }
    if (one.fails) failPart(tx, work)
    else tx.attempt(work)
  }
  if (fails) throw new Error('expected')
}

function runStep(tx: WriteTx, world: World, key: string, wanted: Modelled | undefined): void {
  const { table, index, realms } = world
  const entriesOf = ({ tags }: Pick<Modelled, 'tags'>) => tags.map((tag) => entry(index, tag))
  const previous = tx.objects.find(table, key)
  const before = previous && (JSON.parse(previous.value) as Modelled)
  if (wanted === undefined) {
    if (previous === undefined || before === undefined) return
    tx.objects.remove(table, [{ previous, entries: entriesOf(before), blobs: [] }], NOW)
    return
  }
  const value = JSON.stringify(wanted)
  const realm = realms[wanted.realm] ?? 0
  const put: ObjectPut = { key, realm, owner: null, value, entries: entriesOf(wanted), blobs: [] }
  const replaced =
    previous === undefined || before === undefined
      ? {}
      : { previous, previousTraces: { entries: entriesOf(before), blobs: [] } }
  tx.objects.put(table, [{ ...put, ...replaced }], NOW)
}

async function expectSame(database: Database, world: World, model: Model): Promise<void> {
  const { table, index, realms } = world
  const rows = await scanAll(database, table)
  const positionsByKey = new Map<string, number>()
  await database.read((tx) => {
    expect(tx.objects.count(table, 1_000_000)).toBe(model.size)
    for (const [key, wanted] of model) {
      const found = tx.objects.find(table, key)
      expect(found?.value).toBe(JSON.stringify(wanted))
      expect(found?.realm).toBe(realms[wanted.realm] ?? 0)
      expect(found?.revision).toBeLessThanOrEqual(tx.revision())
      positionsByKey.set(key, found?.seq ?? 0)
    }
  })
  const ascending = (keys: Iterable<string>) =>
    Array.from(keys, (key) => positionsByKey.get(key) ?? 0).toSorted((one, other) => one - other)
  expect(rows.map(({ seq }) => seq)).toEqual(ascending(model.keys()))
  const keysWhere = (claim: (object: Modelled) => boolean) =>
    [...model].filter(([, object]) => claim(object)).map(([key]) => key)
  await database.read((tx) => {
    for (let tag = 0; tag < TAGS; tag += 1) {
      const lookup = { index, keys: [Uint8Array.of(tag)] }
      const found = rowsOf(tx, table, { lookup }).map(({ seq }) => seq)
      expect(found).toEqual(ascending(keysWhere(({ tags }) => tags.includes(tag))))
    }
    for (const [number, realm] of realms.entries()) {
      const found = rowsOf(tx, table, { realms: new Set([realm]) }).map(({ seq }) => seq)
      expect(found).toEqual(ascending(keysWhere((one) => one.realm === number)))
    }
  })
}

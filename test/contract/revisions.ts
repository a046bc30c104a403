import { describe, expect, test } from 'bun:test'
import type { Database } from '../../src/domain/store/store'
import { nextTurn } from '../../src/domain/value/turn'
import {
  declareIn,
  ensureRealm,
  find,
  fresh,
  get,
  insert,
  NOW,
  type OpenStore,
  remove,
  scanAll,
  createDatabase,
  setupDatabase,
  update,
} from './fixture'
import type { Table } from '../../src/domain/store/tables'

/** Revisions, positions and ids: counters that only grow. */
export function describeRevisions(openStore: OpenStore): void {
  describe('revisions', () => {
    test('are one for a unit, and another for the next, in a shared commit too', async () => {
      await using database = await createDatabase(openStore)
      const table = await declareIn(database, 'things')
      const units = [0, 1, 2, 3, 4].map((n) => insert(database, table, `a${n}`, `b${n}`))
      await Promise.all(units)
      const revisions = new Map<string, number>()
      await database.read((tx) => {
        for (const n of [0, 1, 2, 3, 4]) {
          const { revision } = get(tx, table, `a${n}`)
          expect(get(tx, table, `b${n}`).revision).toBe(revision)
          revisions.set(`a${n}`, revision)
        }
        expect(tx.revision()).toBe(Math.max(...revisions.values()))
      })
      const ascending = [...revisions.values()]
      expect(ascending.toSorted((one, other) => one - other)).toEqual(ascending)
      expect(new Set(ascending).size).toBe(5)
    })

    test('do not appear once a read has reported a later one', async () => {
      await using database = await createDatabase(openStore)
      const table = await declareIn(database, 'things')
      await insert(database, table, 'one', 'other')
      let isWriting = true
      const writers = Promise.all(['one', 'other'].map((key) => touchOften(database, table, key)))
      void writers.finally(() => {
        isWriting = false
      })
      const seen: { revision: number; changes: number[] }[] = []
      while (isWriting) {
        seen.push(
          await database.read((tx) => ({
            revision: tx.revision(),
            changes: [get(tx, table, 'one').revision, get(tx, table, 'other').revision],
          })),
        )
        await nextTurn()
      }
      await writers
      expect(new Set(seen.map(({ revision }) => revision)).size).toBeGreaterThan(10)
      for (const [at, { revision, changes }] of seen.entries()) {
        const before = seen[at - 1]
        for (const [key, change] of changes.entries()) {
          expect(change).toBeLessThanOrEqual(revision)
          if (before === undefined || change === before.changes[key]) continue
          expect(change).toBeGreaterThan(before.revision)
        }
      }
    })

    test('are not taken by a unit or a part that failed', async () => {
      await using database = await createDatabase(openStore)
      const table = await declareIn(database, 'things')
      await insert(database, table, 'a')
      const before = await database.read((tx) => tx.revision())
      const failing = database.write((tx) => {
        tx.objects.put(table, [fresh('b')], NOW)
        throw new Error('expected')
      })
      expect(failing).rejects.toThrow('expected')
      await failing.catch(() => undefined)
      expect(await database.read((tx) => tx.revision())).toBe(before)
      await database.write((tx) => {
        const part = () =>
          tx.attempt(() => {
            tx.objects.put(table, [fresh('b')], NOW)
            throw new Error('expected')
          })
        expect(part).toThrow()
        tx.objects.put(table, [fresh('c')], NOW)
        expect(get(tx, table, 'c').revision).toBe(tx.revision())
      })
      await database.read((tx) => {
        expect(tx.revision()).toBeGreaterThan(before)
        expect(get(tx, table, 'c').revision).toBe(tx.revision())
      })
    })

    test('grow with every change that sync delivers', async () => {
      await using database = await createDatabase(openStore)
      const table = await declareIn(database, 'things')
      const realm = await ensureRealm(database, 'rlm-a')
      await insert(database, table, 'a', 'b')
      const changes: Parameters<Database['write']>[0][] = [
        (tx) => update(tx, table, 'a', { value: '{}' }),
        (tx) => update(tx, table, 'a', { realm }),
        (tx) => remove(tx, table, 'b'),
        (tx) => tx.realms.ensure('rlm-b'),
        (tx) => tx.realms.markErasing(realm),
      ]
      for (const change of changes) {
        const before = await database.read((tx) => tx.revision())
        await database.write(change)
        expect(await database.read((tx) => tx.revision())).toBe(before + 1)
      }
    })

    test('go on where they were after a restart and after a crash', async () => {
      await using fixture = await setupDatabase(openStore)
      const { database } = fixture
      const table = await declareIn(database, 'things')
      await insert(database, table, 'a')
      const { revision } = await stateOf(database)
      const crashed = await (await fixture.crash()).open('main')
      expect(await stateOf(crashed)).toEqual({ revision })
      const reopened = await (await fixture.reopen()).open('main')
      expect(await stateOf(reopened)).toEqual({ revision })
      await insert(reopened, table, 'b')
      expect((await stateOf(reopened)).revision).toBe(revision + 1)
    })
  })

  describe('positions', () => {
    test('grow in the order of creation, and stay over changes', async () => {
      await using database = await createDatabase(openStore)
      const table = await declareIn(database, 'things')
      const other = await declareIn(database, 'others')
      await insert(database, table, 'c')
      await insert(database, other, 'x')
      await insert(database, table, 'a', 'b')
      const before = await scanAll(database, table)
      expect(before.map(({ value }) => value)).toEqual(['c', 'a', 'b'].map(valueOf))
      await database.write((tx) => update(tx, table, 'c', { value: '"changed"' }))
      const after = await scanAll(database, table)
      expect(after.map(({ seq }) => seq)).toEqual(before.map(({ seq }) => seq))
    })

    test('are not given again when the newest object is gone', async () => {
      await using fixture = await setupDatabase(openStore)
      const { database } = fixture
      const table = await declareIn(database, 'things')
      await insert(database, table, 'a', 'b')
      const { seq } = (await find(database, table, 'b')) ?? { seq: Number.NaN }
      await database.write((tx) => remove(tx, table, 'b'))
      await insert(database, table, 'b')
      expect((await find(database, table, 'b'))?.seq).toBeGreaterThan(seq)
      await database.write((tx) => remove(tx, table, 'a', 'b'))
      const crashed = await (await fixture.crash()).open('main')
      const reopened = await (await fixture.reopen()).open('main')
      for (const again of [crashed, reopened]) {
        await insert(again, table, 'b')
        expect((await find(again, table, 'b'))?.seq).toBeGreaterThan(seq + 1)
      }
    })
  })

  describe('ids', () => {
    test('grow over units, restarts and crashes though the clock stands still', async () => {
      await using fixture = await setupDatabase(openStore)
      const ids: string[] = []
      const make = async (database: Database) => {
        ids.push(...(await database.write((tx) => [1, 2, 3].map(() => tx.newId('tsk', 'rlm-abc')))))
      }
      await make(fixture.database)
      await make(fixture.database)
      await make(await (await fixture.crash()).open('main'))
      const afterCrash = ids.splice(6)
      await make(await (await fixture.reopen()).open('main'))
      for (const series of [ids, [...ids.slice(0, 6), ...afterCrash]]) {
        expect(series.toSorted()).toEqual(series)
        expect(new Set(series.map((id) => id.slice(0, 11))).size).toBe(series.length)
      }
      for (const id of ids) expect(id).toMatch(/^tsk.{24}abc$/)
    })
  })
}

async function touchOften(database: Database, table: Table, key: string): Promise<void> {
  for (let n = 0; n < 150; n += 1) {
    await database.write((tx) => update(tx, table, key, { value: String(n) }))
  }
}

function stateOf(database: Database) {
  return database.read((tx) => ({ revision: tx.revision() }))
}

function valueOf(key: string): string {
  return JSON.stringify({ id: key })
}

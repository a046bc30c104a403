import { describe, expect, test } from 'bun:test'
import type { RealmRef } from '../../src/domain/store/realms'
import type { Traces, PageQuery } from '../../src/domain/store/objects'
import type { Database } from '../../src/domain/store/store'
import {
  declareIn,
  ensureRealm,
  entry,
  eraseAll,
  find,
  failPart,
  fresh,
  inEveryLife,
  insert,
  keyOf,
  keysOf,
  located,
  NO_TRACES,
  NOW,
  type OpenStore,
  refusalOf,
  remove,
  rowsOf,
  createDatabase,
  setupDatabase,
  update,
} from './fixture'
import { requireTable } from '../../src/domain/object/tables'
import type { Table } from '../../src/domain/store/tables'

/** A realm that is marked `erasing` is gone at once; its objects are deleted later, step by step. */
export function describeErasure(openStore: OpenStore): void {
  describe('a realm that is being erased', () => {
    test('is not there for any method, from the commit that marked it', async () => {
      await using fixture = await setupDatabase(openStore)
      const { database } = fixture
      const { table, realm, index } = await setupDying(database)
      await insert(database, table, 'other')
      expect(await viewOf(database, table, realm, index)).toEqual({
        found: true,
        many: ['d0', 'other'],
        scanned: [...DYING, 'other'],
        gathered: DYING,
        looked: DYING,
        count: DYING.length + 1,
      })
      await database.write((tx) => tx.realms.markErasing(realm))
      const gone = {
        found: false,
        many: ['other'],
        scanned: ['other'],
        gathered: [],
        looked: [],
        count: 1,
      }
      await inEveryLife(fixture, async (again) => {
        expect(await viewOf(again, table, realm, index)).toEqual(gone)
        expect(await again.read((tx) => tx.realms.isUsed('rlm-dying'))).toBe(true)
      })
    })

    test('is not there for the unit that marked it, and is again when that fails', async () => {
      await using database = await createDatabase(openStore)
      const { table, realm } = await setupDying(database)
      const failing = database.write((tx) => {
        tx.realms.markErasing(realm)
        expect(tx.objects.find(table, 'd0')).toBeUndefined()
        expect(tx.objects.count(table, 1_000_000)).toBe(0)
        throw new Error('expected')
      })
      const next = database.write((tx) => tx.objects.find(table, 'd0'))
      await failing.catch(() => undefined)
      expect(await next).toBeDefined()
      expect(await keysOf(database, table)).toEqual(DYING)
    })

    test('gives its keys away to new objects', async () => {
      await using database = await createDatabase(openStore)
      const { table, realm, index } = await setupDying(database)
      await database.write((tx) => {
        tx.realms.markErasing(realm)
        tx.objects.put(table, [fresh('d0'), fresh('d1')], NOW)
      })
      await insert(database, table, 'd2')
      expect(await keysOf(database, table)).toEqual(['d0', 'd1', 'd2'])
      expect(await eraseAll(database, realm, 4, tracesFor(index))).toBe(DYING.length)
      expect(await keysOf(database, table)).toEqual(['d0', 'd1', 'd2'])
      expect(await find(database, table, 'd5')).toBeUndefined()
    })

    test('gives its keys away among many new objects, which keep their order and their entries', async () => {
      await using database = await createDatabase(openStore)
      const { table, realm, index } = await setupDying(database)
      const keys = Array.from({ length: 40 }, (_, n) => (n === 20 ? 'd1' : `n${n}`))
      const puts = keys.map((key, n) => fresh(key, { entries: [entry(index, 200, n)] }))
      await database.write((tx) => {
        tx.realms.markErasing(realm)
        tx.objects.put(table, puts, NOW)
      })
      const more = [...Array.from({ length: 20 }, (_, n) => fresh(`m${n}`)), fresh('n3')]
      const taken = database.write((tx) => tx.objects.put(table, more, NOW))
      expect(await refusalOf(taken)).toBe('CONFLICT')
      await eraseAll(database, realm, 4, tracesFor(index))
      expect(await keysOf(database, table)).toEqual(keys)
      const places = await database.read((tx) => {
        const found = [...keys.keys()].map((n) => {
          const lookup = { index, keys: [Uint8Array.of(200, n)] }
          return rowsOf(tx, table, { lookup }).map(({ seq }) => seq)
        })
        return { rows: rowsOf(tx, table).map(({ seq }) => [seq]), found }
      })
      expect(places.found).toEqual(places.rows)
    })

    test('does not count, and the others count up to a limit', async () => {
      await using database = await createDatabase(openStore)
      const { table, realm } = await setupDying(database)
      const others = await Promise.all(['first', 'last'].map((id) => ensureRealm(database, id)))
      const puts = others.flatMap((ref) =>
        [1, 2, 3].map((n) => fresh(`${ref} ${n}`, { realm: ref })),
      )
      await database.write((tx) => tx.objects.put(table, puts, NOW))
      const counts = () =>
        database.read((tx) => [0, 1, 4, 100].map((most) => tx.objects.count(table, most)))
      expect(await counts()).toEqual([0, 1, 4, DYING.length + 6])
      await database.write((tx) => tx.realms.markErasing(realm))
      expect(await counts()).toEqual([0, 1, 4, 6])
      await database.write((tx) => tx.realms.markErasing(others[1]!))
      expect(await counts()).toEqual([0, 1, 3, 3])
    })

    test('is erased in steps, over all tables, with entries and tombstones', async () => {
      await using database = await createDatabase(openStore)
      const { table, realm, index } = await setupDying(database)
      const other = await declareIn(database, 'others')
      await database.write((tx) => {
        const members = requireTable(tx, 'members')
        tx.objects.put(other, [fresh('x', { realm }), fresh('y', { realm }), fresh('z')], NOW)
        tx.objects.put(members, [fresh('m', { realm })], NOW)
      })
      await database.write((tx) => remove(tx, other, 'y'))
      await database.write((tx) => tx.realms.markErasing(realm))
      // With "x", "m" and the tombstone of "y".
      expect(await eraseAll(database, realm, 3, tracesFor(index))).toBe(DYING.length + 3)
      expect(await database.read((tx) => tx.realms.isUsed('rlm-dying'))).toBe(false)
      expect(await located(database, table, index, Uint8Array.of(1))).toEqual([])
      expect(await keysOf(database, other)).toEqual(['z'])
    })

    test('goes on being erased after a restart', async () => {
      await using fixture = await setupDatabase(openStore)
      const { database } = fixture
      const { table, realm, index } = await setupDying(database)
      await database.write((tx) => tx.realms.markErasing(realm))
      await database.write((tx) => tx.objects.erase(realm, 2, tracesFor(index)))
      const reopened = await (await fixture.reopen()).open('main')
      expect(await keysOf(reopened, table)).toEqual([])
      expect(await eraseAll(reopened, realm, 2, tracesFor(index))).toBe(DYING.length - 2)
    })

    test('is erased only when it was marked', async () => {
      await using database = await createDatabase(openStore)
      const { table, realm, index } = await setupDying(database)
      expect(await eraseAll(database, realm, 10, tracesFor(index))).toBe(0)
      expect(await keysOf(database, table)).toEqual(DYING)
      expect(await database.read((tx) => tx.realms.findByRef(realm))).toBeDefined()
    })
  })

  describe('tombstones', () => {
    test('are one for each object that left, and dropped when it comes back', async () => {
      await using database = await createDatabase(openStore)
      const table = await declareIn(database, 'things')
      const left = await ensureRealm(database, 'rlm-l')
      const right = await ensureRealm(database, 'rlm-r')
      const move = (key: string, realm: RealmRef) =>
        database.write((tx) => update(tx, table, key, { realm }))
      const puts = ['stays', 'goes', 'returns', 'dies'].map((key) => fresh(key, { realm: left }))
      await database.write((tx) => tx.objects.put(table, puts, NOW))
      await move('goes', right)
      await move('returns', right)
      await move('returns', left)
      await database.write((tx) => remove(tx, table, 'dies'))
      await database.write((tx) => tx.objects.put(table, [fresh('dies', { realm: left })], NOW))
      await move('stays', left)
      // Left: three objects and the tombstone of "goes". Right: "goes" and the tombstone of "returns".
      for (const [realm, count] of [
        [left, 4],
        [right, 2],
      ] as const) {
        await database.write((tx) => tx.realms.markErasing(realm))
        expect(await eraseAll(database, realm)).toBe(count)
      }
    })

    test('are dropped after a restart, too', async () => {
      await using fixture = await setupDatabase(openStore)
      const { database } = fixture
      const table = await declareIn(database, 'things')
      const realm = await ensureRealm(database, 'rlm-a')
      await database.write((tx) => tx.objects.put(table, [fresh('a', { realm })], NOW))
      await database.write((tx) => remove(tx, table, 'a'))
      const again = await (await fixture.reopen()).open('main')
      await again.write((tx) => tx.objects.put(table, [fresh('a', { realm })], NOW))
      await again.write((tx) => tx.realms.markErasing(realm))
      expect(await eraseAll(again, realm)).toBe(1)
    })

    test('of a unit or a part that failed are not there', async () => {
      await using database = await createDatabase(openStore)
      const table = await declareIn(database, 'things')
      const realm = await ensureRealm(database, 'rlm-a')
      await database.write((tx) => tx.objects.put(table, [fresh('a', { realm })], NOW))
      await database.write((tx) => failPart(tx, () => remove(tx, table, 'a')))
      await database.write((tx) => tx.realms.markErasing(realm))
      expect(await eraseAll(database, realm)).toBe(1)
    })
  })
}

const DYING = Array.from({ length: 10 }, (_, n) => `d${n}`)

/** A realm of ten objects, each under the key 1 of an index. */
async function setupDying(database: Database) {
  const table = await declareIn(database, 'things', '@id, title')
  const index = table.indexes[0]?.number ?? 0
  const realm = await ensureRealm(database, 'rlm-dying')
  const puts = DYING.map((key) => fresh(key, { realm, entries: [entry(index, 1)] }))
  await database.write((tx) => tx.objects.put(table, puts, NOW))
  return { table, realm, index }
}

function tracesFor(index: number) {
  return ({ name }: Table): Traces =>
    name === 'things' ? { ...NO_TRACES, entries: [entry(index, 1)] } : NO_TRACES
}

/** The results of each method for the objects of `setupDying`, and for one more called `other`. */
async function viewOf(database: Database, table: Table, realm: RealmRef, index: number) {
  return database.read((tx) => {
    const { objects } = tx
    const lookup = { index, keys: [Uint8Array.of(1)] }
    const realms = new Set([realm])
    const keys = (query?: Omit<PageQuery, 'size'>) => rowsOf(tx, table, query).map(keyOf)
    return {
      found: objects.find(table, 'd0') !== undefined,
      many: [...objects.findMany(table, ['d0', 'other']).keys()],
      scanned: keys(),
      gathered: keys({ realms }),
      looked: keys({ lookup }),
      count: objects.count(table, 1_000_000),
    }
  })
}

import { describe, expect, test } from 'bun:test'
import type { IndexEntry } from '../../src/domain/store/objects'
import type { Database } from '../../src/domain/store/store'
import { shortestTime } from '../timing'
import {
  declareIn,
  ensureRealm,
  entry,
  find,
  fresh,
  get,
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
  scanAll,
  createDatabase,
  setupDatabase,
  update,
} from './fixture'
import { PUBLIC_REALM_REF } from '../../src/domain/store/realms'
import type { Table } from '../../src/domain/store/tables'

/** Single objects, and the index entries they bring. */
export function describeObjects(openStore: OpenStore): void {
  describe('objects', () => {
    test('are found as they were put', async () => {
      await using fixture = await setupDatabase(openStore)
      const { database } = fixture
      const table = await declareIn(database, 'things')
      const realm = await ensureRealm(database, 'rlm-a')
      const value = '{"id":"a","text":"\\u0000 \\ud83d \\" 😀 用户","n":1e400,"__proto__":{}}'
      const put = { key: 'a', realm, owner: 'alice', value, ...NO_TRACES }
      await database.write((tx) => tx.objects.put(table, [put], NOW))
      const { key, owner } = put
      const numbers = { seq: expect.any(Number), revision: expect.any(Number) }
      await inEveryLife(fixture, async (again) => {
        expect(await find(again, table, 'a')).toMatchObject({
          ...numbers,
          key,
          realm,
          owner,
          value,
        })
      })
    })

    test('are inserted where their key is free, and left as they are where it is taken', async () => {
      await using database = await createDatabase(openStore)
      const table = await declareIn(database, 'things', 'id, country')
      const index = table.indexes[0]?.number ?? 0
      const entries = [entry(index, 1)]
      await database.write((tx) => {
        expect(tx.objects.insert(table, [fresh('a', { entries })], NOW)).toBe(1)
        const before = tx.revision()
        const other = fresh('a', { value: '{"id":"a","other":1}', entries: [entry(index, 2)] })
        expect(tx.objects.insert(table, [other], NOW)).toBe(0)
        expect(tx.revision()).toBe(before)
      })
      const found = await find(database, table, 'a')
      expect(await database.write((tx) => tx.objects.insert(table, [fresh('a')], NOW))).toBe(0)
      expect(await find(database, table, 'a')).toEqual(found)
      expect(found?.value).toBe('{"id":"a"}')
      expect(await located(database, table, index, entry(index, 1).key)).toHaveLength(1)
      expect(await located(database, table, index, entry(index, 2).key)).toEqual([])
    })

    test('are inserted up to the first whose key is taken, however many there are', async () => {
      await using database = await createDatabase(openStore)
      const table = await declareIn(database, 'things', 'id, country')
      const index = table.indexes[0]?.number ?? 0
      const named = (n: number) => fresh(`k${n}`, { entries: [entry(index, n)] })
      const range = (from: number, to: number) =>
        Array.from({ length: to - from }, (_, n) => named(from + n))
      const inserted = (puts: ReturnType<typeof range>) =>
        database.write((tx) => tx.objects.insert(table, puts, NOW))
      expect(await inserted(range(0, 50))).toBe(50)
      // A key among many is taken, or comes twice.
      expect(await inserted([...range(50, 80), named(3), ...range(80, 90)])).toBe(30)
      expect(await inserted([...range(80, 95), named(81), ...range(95, 120)])).toBe(15)
      expect(await inserted([named(7), ...range(200, 220)])).toBe(0)
      const rows = await scanAll(database, table)
      expect(rows.map(({ value }) => value)).toEqual(range(0, 95).map(({ value }) => value))
      expect(rows.every(({ seq }, at) => at === 0 || seq === rows[at - 1]!.seq + 1)).toBe(true)
      for (const n of [0, 15, 16, 49, 79, 81, 94, 95, 200]) {
        const found = await located(database, table, index, entry(index, n).key)
        expect([n, found.length]).toEqual([n, n < 95 ? 1 : 0])
      }
    })

    test('are found by exactly their key', async () => {
      await using database = await createDatabase(openStore)
      const table = await declareIn(database, 'things')
      const keys = ['a', 'A', 'a ', 'ä', 'a\u0308', '1', '01', '[1,"a"]', '%', "'", '😀', '\ufffd']
      await insert(database, table, ...keys)
      for (const key of keys) expect(keyOf((await find(database, table, key))!)).toBe(key)
      for (const key of ['', 'b', 'aa', '1.0', '[1, "a"]']) {
        expect(await find(database, table, key)).toBeUndefined()
      }
      const many = await database.read((tx) => tx.objects.findMany(table, ['A', 'no', '1', 'A']))
      expect([...many.keys()].toSorted()).toEqual(['1', 'A'])
      expect(many.get('A')?.key).toBe('A')
    })

    test('of one table are not those of another', async () => {
      await using database = await createDatabase(openStore)
      const one = await declareIn(database, 'one')
      const other = await declareIn(database, 'other')
      await insert(database, one, 'a')
      await insert(database, other, 'a', 'b')
      await database.write((tx) => remove(tx, other, 'a'))
      expect(await keysOf(database, one)).toEqual(['a'])
      expect(await keysOf(database, other)).toEqual(['b'])
    })

    test('change everything but their key and position', async () => {
      await using database = await createDatabase(openStore)
      const table = await declareIn(database, 'things')
      const realm = await ensureRealm(database, 'rlm-a')
      await insert(database, table, 'a')
      const before = (await find(database, table, 'a'))!
      const changes = { realm, owner: 'bob', value: '"new"' }
      await database.write((tx) => update(tx, table, 'a', changes))
      const after = (await find(database, table, 'a'))!
      const { seq, key } = before
      expect(after).toMatchObject({ seq, key, ...changes })
      expect(after.revision).toBeGreaterThan(before.revision)
      await database.write((tx) => update(tx, table, 'a', { owner: null }))
      expect((await find(database, table, 'a'))?.owner).toBeNull()
    })

    test('are gone when they are removed, and their key is free', async () => {
      await using database = await createDatabase(openStore)
      const table = await declareIn(database, 'things')
      await insert(database, table, 'a', 'b')
      await database.write((tx) => remove(tx, table, 'a'))
      expect(await find(database, table, 'a')).toBeUndefined()
      expect(await database.read((tx) => tx.objects.count(table, 1_000_000))).toBe(1)
      await insert(database, table, 'a')
      expect(await keysOf(database, table)).toEqual(['b', 'a'])
    })

    test('that are new and have a taken key are refused with the unit', async () => {
      await using database = await createDatabase(openStore)
      const table = await declareIn(database, 'things')
      await insert(database, table, 'a')
      expect(await refusalOf(insert(database, table, 'b', 'a'))).toBe('CONFLICT')
      expect(await keysOf(database, table)).toEqual(['a'])
      await database.write((tx) => {
        expect(() => tx.attempt(() => tx.objects.put(table, [fresh('a')], NOW))).toThrow('a')
        tx.objects.put(table, [fresh('c')], NOW)
      })
      expect(await keysOf(database, table)).toEqual(['a', 'c'])
    })

    test('may be large', async () => {
      await using database = await createDatabase(openStore)
      const table = await declareIn(database, 'things')
      const value = JSON.stringify({ text: 'ü'.repeat(8 * 1024 * 1024) })
      await database.write((tx) => tx.objects.put(table, [fresh('a', { value })], NOW))
      expect((await find(database, table, 'a'))?.value === value).toBe(true)
    })
  })

  describe('index entries', () => {
    test('come with an object, change with it and go with it', async () => {
      await using database = await createDatabase(openStore)
      const table = await declareIn(database, 'things', '@id, *tags')
      const index = table.indexes[0]?.number ?? 0
      const at = (...keys: number[]) => keys.map((key) => entry(index, key))
      const put = fresh('a', { entries: at(1, 2, 3) })
      await database.write((tx) => tx.objects.put(table, [put], NOW))
      expect(await keysIn(database, table, index, 5)).toEqual([1, 2, 3])
      await database.write((tx) =>
        update(tx, table, 'a', {
          entries: at(2, 4),
          previousTraces: { entries: at(1, 2, 3), blobs: [] },
        }),
      )
      expect(await keysIn(database, table, index, 5)).toEqual([2, 4])
      await database.write((tx) => {
        const previous = get(tx, table, 'a')
        tx.objects.remove(table, [{ previous, entries: at(2, 4), blobs: [] }], NOW)
      })
      expect(await keysIn(database, table, index, 5)).toEqual([])
    })

    test('of an object that a unit could not put are not there', async () => {
      await using database = await createDatabase(openStore)
      const table = await declareIn(database, 'things', '@id, title')
      const index = table.indexes[0]?.number ?? 0
      const put = (key: string, n: number) => fresh(key, { entries: [entry(index, n)] })
      await database.write((tx) => {
        const part = () =>
          tx.attempt(() => {
            tx.objects.put(table, [put('a', 1)], NOW)
            throw new Error('expected')
          })
        expect(part).toThrow()
        tx.objects.put(table, [put('b', 2)], NOW)
      })
      const failing = database.write((tx) => {
        tx.objects.put(table, [put('c', 3)], NOW)
        throw new Error('expected')
      })
      await failing.catch(() => undefined)
      expect(await keysIn(database, table, index, 5)).toEqual([2])
    })

    test('of thousands of elements change as fast as they are made', async () => {
      await using database = await createDatabase(openStore)
      const table = await declareIn(database, 'things', '@id, *tags')
      const index = table.indexes[0]?.number ?? 0
      const from = (start: number): IndexEntry[] =>
        Array.from({ length: 10_000 }, (_, n) => entry(index, (start + n) >> 8, (start + n) & 255))
      const ratios: number[] = []
      // A pause of the machine is not in each round.
      for (let rounds = 0; rounds < 5 && !ratios.some((ratio) => ratio < 20); rounds += 1) {
        const key = rounds === 0 ? 'a' : `a${rounds}`
        const made = await shortestTime(1, () =>
          database.write((tx) => tx.objects.put(table, [fresh(key, { entries: from(0) })], NOW)),
        )
        const changed = await shortestTime(1, () =>
          database.write((tx) =>
            update(tx, table, key, {
              entries: from(100),
              previousTraces: { entries: from(0), blobs: [] },
            }),
          ),
        )
        ratios.push(changed / made)
      }
      // Comparing each element with every other one takes hundreds of times as long.
      expect(Math.min(...ratios)).toBeLessThan(20)
      const keys = [Uint8Array.of(0, 99), Uint8Array.of(10_099 >> 8, 10_099 & 255)]
      const found = await Promise.all(keys.map((key) => located(database, table, index, key)))
      expect(found.map((positions) => positions.length)).toEqual([0, 1])
    })
  })

  describe('a realm', () => {
    test('is used while it has objects', async () => {
      await using database = await createDatabase(openStore)
      const table = await declareIn(database, 'things')
      const realm = await ensureRealm(database, 'alice')
      const isUsed = () => database.read((tx) => tx.realms.isUsed('alice'))
      expect(await isUsed()).toBe(false)
      await database.write((tx) => tx.objects.put(table, [fresh('a', { realm })], NOW))
      expect(await isUsed()).toBe(true)
    })

    test.each([
      ['an object was removed', (table: Table) => removing(table)],
      ['an object moved out', (table: Table) => moving(table)],
    ])('is used after %s: it has a tombstone', async (_, change) => {
      await using fixture = await setupDatabase(openStore)
      const { database } = fixture
      const table = await declareIn(database, 'things')
      const realm = await ensureRealm(database, 'alice')
      await database.write((tx) => tx.objects.put(table, [fresh('a', { realm })], NOW))
      await database.write(change(table))
      expect(await database.read((tx) => tx.realms.isUsed('alice'))).toBe(true)
      const reopened = await (await fixture.reopen()).open('main')
      expect(await reopened.read((tx) => tx.realms.isUsed('alice'))).toBe(true)
    })
  })
}

function removing(table: Table): Parameters<Database['write']>[0] {
  return (tx) => remove(tx, table, 'a')
}

function moving(table: Table): Parameters<Database['write']>[0] {
  return (tx) => update(tx, table, 'a', { realm: PUBLIC_REALM_REF })
}

/** The one-byte keys below `end` under which an index has an entry. */
async function keysIn(
  database: Database,
  table: Table,
  index: number,
  end: number,
): Promise<number[]> {
  const found: number[] = []
  for (let key = 0; key < end; key += 1) {
    const positions = await located(database, table, index, Uint8Array.of(key))
    if (positions.length > 0) found.push(key)
  }
  return found
}

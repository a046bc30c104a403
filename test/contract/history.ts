import { describe, expect, test } from 'bun:test'
import type { Database } from '../../src/domain/store/store'
import type { Table } from '../../src/domain/store/tables'
import {
  declareIn,
  ensureRealm,
  fresh,
  get,
  inEveryLife,
  insert,
  NO_TRACES,
  NOW,
  type OpenStore,
  remove,
  createDatabase,
  setupDatabase,
  update,
  WHOLE,
} from './fixture'
import { criteriaOperation } from './sync'

/** What sync needs to know of the past: of objects, of deletions and of revisions. */
export function describeHistory(openStore: OpenStore): void {
  describe('the history of an object', () => {
    test('begins with it, and begins again where it moves to', async () => {
      await using fixture = await setupDatabase(openStore)
      const { database } = fixture
      const table = await declareIn(database, 'things')
      const realm = await ensureRealm(database, 'rlm-a')
      const stamps = '{"r":[1,2]}'
      await database.write((tx) => tx.objects.put(table, [fresh('a', { stamps })], NOW))
      const made = await timed(database, table, 'a')
      expect(made).toMatchObject({ entered: made?.revision, updated: NOW, stamps })
      await database.write((tx) => update(tx, table, 'a', { value: '{"id":"a","b":1}' }))
      const changed = await timed(database, table, 'a')
      expect(changed).toMatchObject({ entered: made?.revision, stamps: null })
      expect(changed?.revision).toBeGreaterThan(made?.revision ?? 0)
      await database.write((tx) => update(tx, table, 'a', { realm, stamps }))
      await inEveryLife(fixture, async (again) => {
        const moved = await timed(again, table, 'a')
        expect(moved).toMatchObject({ entered: moved?.revision, stamps })
        const { changes } = await again.read((tx) =>
          tx.objects.changes(new Set([realm]), 0, 1_000, WHOLE, new Set(['things'])),
        )
        expect(changes.map(({ object }) => object)).toEqual([moved!])
      })
    })

    test('is there for writers when they look an object up', async () => {
      await using database = await createDatabase(openStore)
      const table = await declareIn(database, 'things')
      await database.write((tx) => {
        const revision = tx.unitRevision()
        tx.objects.put(table, [fresh('a')], NOW)
        expect(tx.unitRevision()).toBe(revision)
        const found = tx.objects.find(table, 'a')
        expect(found).toMatchObject({ entered: revision, revision, updated: NOW, stamps: null })
        expect(tx.objects.findMany(table, ['a', 'b'])).toEqual(new Map([['a', found!]]))
      })
    })
  })

  describe('tombstones', () => {
    test('tell who removed an object, and since when it had been there', async () => {
      await using fixture = await setupDatabase(openStore)
      const { database } = fixture
      const table = await declareIn(database, 'things')
      const realm = await ensureRealm(database, 'rlm-a')
      await insert(database, table, 'a', 'b', 'c')
      const entered = (await timed(database, table, 'a'))?.entered
      await database.write((tx) => remove(tx, table, 'a'), { client: 7 })
      await database.write((tx) => remove(tx, table, 'b'))
      await database.write((tx) => update(tx, table, 'c', { realm }), { client: 8 })
      await inEveryLife(fixture, async (again) => {
        const find = (key: string) => again.read((tx) => tx.objects.findTombstone(table, key))
        expect(await find('a')).toMatchObject({ realm: 1, client: 7, entered: entered! })
        expect(await find('b')).toMatchObject({ realm: 1, client: null, entered: entered! })
        expect(await find('c')).toMatchObject({ realm: 1, client: 8, entered: entered! })
        expect(await find('d')).toBeUndefined()
      })
    })

    test('give the newest one of several realms, or of chosen ones, and none of a realm that is erased', async () => {
      await using database = await createDatabase(openStore)
      const table = await declareIn(database, 'things')
      const realm = await ensureRealm(database, 'rlm-a')
      await insert(database, table, 'a')
      await database.write((tx) => update(tx, table, 'a', { realm }))
      await database.write((tx) => remove(tx, table, 'a'))
      const find = () => database.read((tx) => tx.objects.findTombstone(table, 'a'))
      expect((await find())?.realm).toBe(realm)
      const elsewhere = await database.read((tx) =>
        tx.objects.findTombstone(table, 'a', (one) => one !== realm),
      )
      expect(elsewhere?.realm).toBe(1)
      await database.write((tx) => tx.realms.markErasing(realm))
      expect((await find())?.realm).toBe(1)
    })
  })

  describe('changes of some tables', () => {
    test('leave the others out, however many they are', async () => {
      await using database = await createDatabase(openStore)
      const things = await declareIn(database, 'things')
      const others = await declareIn(database, 'others')
      for (const key of ['a', 'b', 'c', 'd']) {
        await insert(database, others, key)
        await database.write((tx) => remove(tx, others, key))
        await insert(database, things, key)
      }
      await database.write((tx) => remove(tx, things, 'b'))
      const found: string[] = []
      for (let after: Parameters<typeof read>[0] | undefined = 0; after !== undefined;) {
        const chunk = await read(after)
        found.push(
          ...chunk.changes.map(({ table, key, object }) => `${table} ${key} ${object !== null}`),
        )
        after = chunk.next
      }
      expect(found.toSorted()).toEqual([
        'things a true',
        'things b false',
        'things c true',
        'things d true',
      ])

      function read(after: number | { revision: number; place: string }) {
        return database.read((tx) =>
          tx.objects.changes(
            new Set([1]),
            after,
            1_000,
            { ...WHOLE, rows: 1 },
            new Set(['things']),
          ),
        )
      }
    })
  })

  describe('runs of revisions', () => {
    test('begin with the first change after the database was opened', async () => {
      await using fixture = await setupDatabase(openStore)
      const { database } = fixture
      const runsOf = (opened: Database) => opened.read((tx) => tx.runs.list())
      expect(await runsOf(database)).toEqual([{ id: expect.any(String), first: 0 }])
      const before = await database.read((tx) => tx.revision())
      const table = await declareIn(database, 'things')
      await insert(database, table, 'a')
      const runs = await runsOf(database)
      expect(runs).toHaveLength(2)
      expect(runs[1]?.first).toBe(before)
      expect(new Set(runs.map(({ id }) => id)).size).toBe(2)
      const revision = await database.read((tx) => tx.revision())
      const again = await (await fixture.reopen()).open('main')
      expect(await runsOf(again)).toEqual(runs)
      await insert(again, table, 'b')
      const later = await runsOf(again)
      expect(later.slice(0, 2)).toEqual([...runs])
      expect(later[2]?.first).toBe(revision)
    })

    test('know what was forgotten', async () => {
      await using fixture = await setupDatabase(openStore)
      const { database } = fixture
      const table = await declareIn(database, 'things')
      await insert(database, table, 'a', 'b')
      await database.write((tx) => remove(tx, table, 'a'))
      const forgotten = await database.write((tx) => {
        tx.criteriaOps.put(table.number, criteriaOperation(1), NOW - 1, 10)
        return tx.unitRevision()
      })
      await database.write((tx) => {
        tx.objects.remove(table, [{ previous: get(tx, table, 'b'), ...NO_TRACES }], NOW + 9)
      })
      const prune = (before: number) => database.write((tx) => tx.prune('history', before, 10))
      expect(await prune(NOW - 1)).toBe(0)
      expect(await database.read((tx) => tx.runs.oldest())).toBe(0)
      expect(await prune(NOW + 1)).toBe(2)
      await inEveryLife(fixture, (again) =>
        again.read((tx) => {
          expect(tx.runs.oldest()).toBe(forgotten)
          expect(tx.objects.findTombstone(table, 'a')).toBeUndefined()
          expect(tx.objects.findTombstone(table, 'b')).toBeDefined()
          expect(tx.criteriaOps.list(table.number, { subject: 'alice' }, 0, 10)).toEqual([])
          // The first one ended before everything that is left.
          expect(tx.runs.list()).toHaveLength(1)
        }),
      )
    })

    test('and realms know in which revision they began', async () => {
      await using fixture = await setupDatabase(openStore)
      const { database } = fixture
      const { ref, revision } = await database.write((tx) => {
        const realm = tx.realms.ensure('rlm-a')
        return { ref: realm.ref, revision: tx.unitRevision() }
      })
      await inEveryLife(fixture, (again) =>
        again.read((tx) => {
          expect(tx.realms.bornAt(ref)).toBe(revision)
          expect(tx.realms.bornAt(1)).toBe(0)
          expect(tx.realms.bornAt(999)).toBe(0)
        }),
      )
    })
  })
}

function timed(database: Database, table: Table, key: string) {
  return database.read((tx) => tx.objects.findMany(table, [key]).get(key))
}

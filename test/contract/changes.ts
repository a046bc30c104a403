import { describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import type {
  Change,
  ChangeChunk,
  ChangePosition,
  ChunkSize,
  ContentChunk,
  Contents,
} from '../../src/domain/store/objects'
import { PUBLIC_REALM_REF, type RealmRef } from '../../src/domain/store/realms'
import type { Database, ReadTx } from '../../src/domain/store/store'
import type { Table } from '../../src/domain/store/tables'
import {
  declareIn,
  ensureRealm,
  fresh,
  insert,
  NOW,
  type OpenStore,
  remove,
  rowsOf,
  createDatabase,
  update,
  WHOLE,
} from './fixture'

/** What changed since a revision, over all tables. */
export function describeChanges(openStore: OpenStore): void {
  describe('changes', () => {
    test('are each object and each gone one once, in the order of their revisions', async () => {
      await using database = await createDatabase(openStore)
      const [things, others] = [
        await declareIn(database, 'things'),
        await declareIn(database, 'others'),
      ]
      const start = await database.read((tx) => tx.revision())
      await insert(database, things, 'a', 'b')
      await insert(database, others, 'x')
      await database.write((tx) => update(tx, things, 'a', { value: '"changed"' }))
      await database.write((tx) => remove(tx, others, 'x'))
      const found = await database.read((tx) =>
        tx.objects.changes(new Set([PUBLIC_REALM_REF]), start, Infinity, WHOLE),
      )
      const timed = await database.read((tx) => tx.objects.findMany(things, ['a', 'b']))
      const [a = null, b = null] = [timed.get('a'), timed.get('b')]
      const common = { realm: PUBLIC_REALM_REF }
      expect(found).toEqual({
        changes: [
          { ...common, table: 'things', key: 'b', revision: start + 1, object: b },
          { ...common, table: 'things', key: 'a', revision: start + 3, object: a },
          { ...common, table: 'others', key: 'x', revision: start + 4, object: null },
        ],
        next: undefined,
      })
    })

    test('are known by realm, without those of some revisions', async () => {
      await using database = await createDatabase(openStore)
      const table = await declareIn(database, 'things')
      const ref = await ensureRealm(database, 'rlmA')
      const start = await database.read((tx) => tx.revision())
      const realms = new Set([PUBLIC_REALM_REF, ref])
      const moved = (upTo: number, ...except: number[]) =>
        database.read((tx) => tx.objects.realmsMoved(realms, start, upTo, new Set(except)))
      await insert(database, table, 'a')
      await database.write((tx) => tx.objects.put(table, [fresh('b', { realm: ref })], NOW))
      expect(await moved(start)).toEqual(new Set())
      expect(await moved(start + 1)).toEqual(new Set([PUBLIC_REALM_REF]))
      expect(await moved(start + 2)).toEqual(realms)
      expect(await moved(start + 2, start + 1)).toEqual(new Set([ref]))
      expect(await moved(start + 2, start + 1, start + 2)).toEqual(new Set())
      // No caller knows yet of later changes.
      expect(await moved(start + 3)).toBeUndefined()
    })

    test('are those after a revision up to another one, in these realms', async () => {
      await using database = await createDatabase(openStore)
      const table = await declareIn(database, 'things')
      const realm = await ensureRealm(database, 'rlm-a')
      const start = await database.read((tx) => tx.revision())
      for (const key of ['a', 'b', 'c', 'd']) await insert(database, table, key)
      await database.write((tx) => tx.objects.put(table, [fresh('e', { realm })], NOW))
      const keys = async (realms: RealmRef[], after: number, upTo: number) => {
        const found = await database.read((tx) =>
          tx.objects.changes(new Set(realms), after, upTo, WHOLE),
        )
        return found.changes.map(({ key }) => key)
      }
      expect(await keys([PUBLIC_REALM_REF], start + 1, start + 3)).toEqual(['b', 'c'])
      expect(await keys([realm], 0, start + 5)).toEqual(['e'])
      expect(await keys([realm, PUBLIC_REALM_REF], start + 3, Infinity)).toEqual(['d', 'e'])
      expect(await keys([], 0, Infinity)).toEqual([])
      expect(await keys([99], 0, Infinity)).toEqual([])
      expect(await keys([realm], start + 5, Infinity)).toEqual([])
    })

    test('of an object that moved are that it left, then that it arrived', async () => {
      await using database = await createDatabase(openStore)
      const table = await declareIn(database, 'things')
      const realm = await ensureRealm(database, 'rlm-a')
      await insert(database, table, 'a')
      const start = await database.read((tx) => tx.revision())
      await database.write((tx) => update(tx, table, 'a', { realm }))
      const seenIn = (...realms: RealmRef[]) =>
        database.read((tx) => {
          const { changes } = tx.objects.changes(new Set(realms), start, Infinity, WHOLE)
          return changes.map((change) => ({ realm: change.realm, isThere: change.object !== null }))
        })
      expect(await seenIn(PUBLIC_REALM_REF)).toEqual([{ realm: PUBLIC_REALM_REF, isThere: false }])
      expect(await seenIn(realm)).toEqual([{ realm, isThere: true }])
      expect(await seenIn(realm, PUBLIC_REALM_REF)).toEqual([
        { realm: PUBLIC_REALM_REF, isThere: false },
        { realm, isThere: true },
      ])
      await database.write((tx) => update(tx, table, 'a', { realm: PUBLIC_REALM_REF }))
      expect(await seenIn(realm, PUBLIC_REALM_REF)).toEqual([
        { realm, isThere: false },
        { realm: PUBLIC_REALM_REF, isThere: true },
      ])
    })

    test('of a realm that is being erased are none', async () => {
      await using database = await createDatabase(openStore)
      const table = await declareIn(database, 'things')
      const realm = await ensureRealm(database, 'rlm-a')
      await database.write((tx) => {
        tx.objects.put(table, [fresh('a', { realm }), fresh('b', { realm })], NOW)
      })
      await database.write((tx) => remove(tx, table, 'b'))
      await database.write((tx) => tx.realms.markErasing(realm))
      const found = await database.read((tx) =>
        tx.objects.changes(new Set([realm]), 0, Infinity, WHOLE),
      )
      expect(found).toEqual({ changes: [], next: undefined })
    })

    test('of some tables alone are those of the tables that are named', async () => {
      await using database = await createDatabase(openStore)
      const things = await declareIn(database, 'things')
      const others = await declareIn(database, 'others')
      await database.write((tx) => {
        tx.objects.put(things, [fresh('a'), fresh('b')], NOW)
        tx.objects.put(others, [fresh('c'), fresh('d')], NOW)
      })
      await database.write((tx) => remove(tx, things, 'b'))
      await database.write((tx) => remove(tx, others, 'd'))
      const realms = new Set([PUBLIC_REALM_REF])
      const { changes, next } = await database.read((tx) =>
        tx.objects.changes(realms, 0, Infinity, WHOLE, new Set(['others'])),
      )
      expect(changes.map(({ table, key }) => `${table} ${key}`)).toEqual(['others c', 'others d'])
      expect(next).toBeUndefined()
    })

    test('of the unit itself are seen in it', async () => {
      await using database = await createDatabase(openStore)
      const table = await declareIn(database, 'things')
      const start = await database.read((tx) => tx.revision())
      await database.write((tx) => {
        tx.objects.put(table, [fresh('a')], NOW)
        const realms = new Set([PUBLIC_REALM_REF])
        const { changes } = tx.objects.changes(realms, start, Infinity, WHOLE)
        expect(changes.map(({ key }) => key)).toEqual(['a'])
      })
    })

    test.each<[string, ChunkSize]>([
      ['one row', { rows: 1, bytes: WHOLE.bytes }],
      ['seven rows', { rows: 7, bytes: WHOLE.bytes }],
      ['a few bytes', { rows: WHOLE.rows, bytes: 100 }],
    ])('come in chunks of %s, none twice and none left out', async (_, size) => {
      await using database = await createDatabase(openStore)
      const { realms, tables } = await setupWorld(database)
      await database.write((tx) => {
        for (const table of tables) {
          const puts = realms.flatMap((realm) =>
            Array.from({ length: 6 }, (_each, n) => fresh(`${realm} ${n}`, { realm })),
          )
          tx.objects.put(table, puts, NOW)
        }
      })
      await database.write((tx) => {
        for (const table of tables) {
          for (const realm of realms) {
            remove(tx, table, `${realm} 1`, `${realm} 4`)
            update(tx, table, `${realm} 2`, { realm: realms[0]! })
          }
        }
      })
      const all = await database.read((tx) =>
        tx.objects.changes(new Set(realms), 0, Infinity, WHOLE),
      )
      expect(all.changes.length).toBeGreaterThan(30)
      const found: Change[] = []
      let after: number | ChangePosition | undefined = 0
      while (after !== undefined) {
        const from: number | ChangePosition = after
        const { changes, next }: ChangeChunk = await database.read((tx) =>
          tx.objects.changes(new Set(realms), from, Infinity, size),
        )
        expect(changes.length).toBeWithin(1, size.rows + 1)
        found.push(...changes)
        // A position is plain JSON.
        after = next && (JSON.parse(JSON.stringify(next)) as ChangePosition)
      }
      expect(found).toEqual([...all.changes])
      const gone = all.changes.filter(({ object }) => object === null).length
      let count = 0
      for (const table of tables) {
        for (const realm of realms) {
          const contents = await contentsOf(database, table, realm, size)
          const same = all.changes.filter((one) => one.table === table.name && one.realm === realm)
          expect(contents).toEqual(
            same.flatMap(({ key, object }) => (object === null ? [] : [[key, object.value]])),
          )
          count += contents.length
        }
      }
      expect(count).toBe(all.changes.length - gone)
    })

    test('without their history begin and end like those with it', async () => {
      await using database = await createDatabase(openStore)
      const table = await declareIn(database, 'things')
      const realm = await ensureRealm(database, 'rlm-a')
      const start = await database.read((tx) => tx.revision())
      const values = ['a', 'b"', 'c'].map((key) => [key, JSON.stringify({ key })] as const)
      for (const [key, value] of values) {
        await database.write((tx) => tx.objects.put(table, [fresh(key, { realm, value })], NOW))
      }
      const keys = (after: number, upTo: number, size = WHOLE) =>
        database.read((tx) => {
          const { keys, next } = tx.objects.contents(table, realm, after, upTo, size)
          return { keys: JSON.parse(`[${keys}]`) as string[], isEnd: next === undefined }
        })
      expect(await keys(start, start + 2)).toEqual({ keys: ['a', 'b"'], isEnd: true })
      expect(await keys(start + 1, Infinity)).toEqual({ keys: ['b"', 'c'], isEnd: true })
      const two = { ...WHOLE, rows: 2 }
      expect(await keys(start, Infinity, two)).toEqual({ keys: ['a', 'b"'], isEnd: false })
      await database.write((tx) => {
        remove(tx, table, 'a')
        const chunk = tx.objects.contents(table, realm, 0, Infinity, WHOLE)
        expect(contentsIn(chunk)).toEqual(values.slice(1))
      })
      await database.write((tx) => tx.realms.markErasing(realm))
      expect(await keys(0, Infinity)).toEqual({ keys: [], isEnd: true })
    })
  })

  test('contents are the same when they are read again, and in step with what changes', async () => {
    await using database = await createDatabase(openStore)
    const table = await declareIn(database, 'things')
    const realm = await ensureRealm(database, 'rlm-a')
    const keys = ['a', 'b"', 'c\\d', 'é😀', 'e\u2028', 'f']
    const valueOf = (key: string, n: number) => JSON.stringify({ key, n })
    await database.write((tx) =>
      tx.objects.put(
        table,
        keys.map((key) => fresh(key, { realm, value: valueOf(key, 1) })),
        NOW,
      ),
    )
    for (const rows of [2, 3, 4, 2, 3, 4]) {
      const found = await contentsOf(database, table, realm, { ...WHOLE, rows })
      expect(found).toEqual(keys.map((key) => [key, valueOf(key, 1)]))
    }
    await database.write((tx) => update(tx, table, 'a', { value: valueOf('a', 2) }))
    const changed = await contentsOf(database, table, realm, { ...WHOLE, rows: 2 })
    expect(changed).toEqual([
      ...keys.slice(1).map((key) => [key, valueOf(key, 1)] as const),
      ['a', valueOf('a', 2)],
    ])
  })

  test('contents of several realms come together while they are few', async () => {
    await using database = await createDatabase(openStore)
    const table = await declareIn(database, 'things')
    const realms: RealmRef[] = []
    for (const id of ['rlm-a', 'rlm-b', 'rlm-c']) realms.push(await ensureRealm(database, id))
    const values = realms.map((realm) => [`k${realm}`, JSON.stringify({ realm })] as const)
    for (const [at, realm] of realms.entries()) {
      const [key, value] = values[at]!
      await database.write((tx) => tx.objects.put(table, [fresh(key, { realm, value })], NOW))
    }
    const end = await database.read((tx) => tx.revision())
    const together = async (rows: number, upTo = end) => {
      const found = await database.read((tx) =>
        tx.objects.contentsTogether(table, realms, upTo, { ...WHOLE, rows }),
      )
      return found && contentsIn(found)
    }
    expect(await together(3)).toEqual(values)
    expect(await together(2)).toBeUndefined()
    expect(await together(2, end - 1)).toEqual(values.slice(0, 2))
    await database.write((tx) => tx.realms.markErasing(realms[1]!))
    expect(await together(2)).toEqual([values[0]!, values[2]!])
  })

  test('a client that applies changes in order has what the realms hold, whatever happens meanwhile', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 60 }), async (steps) => {
        await using database = await createDatabase(openStore)
        const { realms, tables } = await setupWorld(database)
        const seen = new Set(realms.slice(0, 2))
        const client = new Map<string, string>()
        let revision = 0
        const sync = async (rows: number) => {
          const upTo = await database.read((tx) => tx.revision())
          let after: number | ChangePosition | undefined = revision
          while (after !== undefined) {
            const from: number | ChangePosition = after
            const chunk: ChangeChunk = await database.read((tx) =>
              tx.objects.changes(seen, from, upTo, { rows, bytes: 1_000 }),
            )
            for (const { table, key, object } of chunk.changes) {
              if (object === null) client.delete(`${table} ${key}`)
              else client.set(`${table} ${key}`, object.value)
            }
            after = chunk.next
          }
          revision = upTo
        }
        for (const { table: at, key, realm, rows } of steps) {
          await database.write((tx) => {
            const table = tables[at]!
            const previous = tx.objects.find(table, key)
            const value = JSON.stringify({ key, realm, rows })
            if (realm !== undefined && previous !== undefined) {
              update(tx, table, key, { realm: realms[realm]!, value })
            } else if (realm !== undefined) {
              tx.objects.put(table, [fresh(key, { realm: realms[realm]!, value })], NOW)
            } else if (previous !== undefined) remove(tx, table, key)
          })
          if (rows > 0) await sync(rows)
        }
        await sync(3)
        expect(sorted(client)).toEqual(await database.read((tx) => visible(tx, tables, seen)))
      }),
      { numRuns: 25, seed: 20300102 },
    )
  }, 60_000)
}

const step = fc.record({
  table: fc.nat({ max: 1 }),
  key: fc.constantFrom('a', 'b', 'c', 'd'),
  /** Where the object is from now on; undefined removes it. */
  realm: fc.option(fc.nat({ max: 2 }), { nil: undefined, freq: 4 }),
  /** The client syncs after the step, in chunks of so many; 0: it does not. */
  rows: fc.nat({ max: 3 }),
})

async function setupWorld(database: Database) {
  return {
    tables: [await declareIn(database, 'things'), await declareIn(database, 'others')],
    realms: [
      PUBLIC_REALM_REF,
      await ensureRealm(database, 'rlm-a'),
      await ensureRealm(database, 'rlm-b'),
    ],
  }
}

/** All that `contents` gives, chunk by chunk. */
async function contentsOf(database: Database, table: Table, realm: RealmRef, size: ChunkSize) {
  const found: (readonly [string, string])[] = []
  let after: number | ChangePosition | undefined = 0
  while (after !== undefined) {
    const from: number | ChangePosition = after
    const chunk: ContentChunk = await database.read((tx) =>
      tx.objects.contents(table, realm, from, Infinity, size),
    )
    const contents = contentsIn(chunk)
    expect(contents.length).toBeLessThanOrEqual(size.rows)
    found.push(...contents)
    after = chunk.next
  }
  return found
}

/** Pairs of keys and stored texts. */
function contentsIn({ keys, values }: Contents) {
  const texts = (JSON.parse(`[${values}]`) as unknown[]).map((value) => JSON.stringify(value))
  return (JSON.parse(`[${keys}]`) as string[]).map((key, at) => [key, texts[at] ?? ''] as const)
}

function visible(tx: ReadTx, tables: readonly Table[], realms: ReadonlySet<RealmRef>) {
  const objects = new Map<string, string>()
  for (const table of tables) {
    for (const { value } of rowsOf(tx, table, { realms })) {
      const { key } = JSON.parse(value) as { key: string }
      objects.set(`${table.name} ${key}`, value)
    }
  }
  return sorted(objects)
}

function sorted(objects: ReadonlyMap<string, string>): (readonly [string, string])[] {
  return [...objects].toSorted(([one], [other]) => (one < other ? -1 : 1))
}

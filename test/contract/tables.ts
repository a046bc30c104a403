import { describe, expect, test } from 'bun:test'
import type { Database, WriteTx } from '../../src/domain/store/store'
import { nextTurn } from '../../src/domain/value/turn'
import {
  declare,
  declareIn,
  entry,
  fresh,
  inEveryLife,
  insert,
  keysOf,
  NOW,
  type OpenStore,
  rowsOf,
  scanAll,
  createDatabase,
  setupDatabase,
} from './fixture'
import type { Table } from '../../src/domain/store/tables'

/** Tables and their indexes. */
export function describeTables(openStore: OpenStore): void {
  describe('tables', () => {
    test('begin with the three that are built in', async () => {
      await using fixture = await setupDatabase(openStore)
      const tables = await fixture.database.read((tx) => tx.tables.list())
      expect(tables.map(({ name, number, builtIn }) => ({ name, number, builtIn }))).toEqual([
        { name: 'realms', number: 1, builtIn: true },
        { name: 'members', number: 2, builtIn: true },
        { name: 'roles', number: 3, builtIn: true },
      ])
    })

    test('are stored as they are declared, in the order they were declared', async () => {
      await using fixture = await setupDatabase(openStore)
      const { database } = fixture
      const zebras = await declareIn(database, 'zebras', '@id, name, *tags, [name+age]')
      expect(zebras).toMatchObject({
        name: 'zebras',
        primaryKey: ['id'],
        compound: false,
        generated: true,
        idPrefix: 'tst',
        stores: '@id, name, *tags, [name+age]',
        hidden: false,
        builtIn: false,
      })
      expect(zebras.indexes.map(({ name, multi, state }) => ({ name, multi, state }))).toEqual([
        { name: 'name', multi: false, state: 'building' },
        { name: 'tags', multi: true, state: 'building' },
        { name: '[name+age]', multi: false, state: 'building' },
      ])
      const ants = await declareIn(database, 'ants', '[a+b]')
      const pending = await database.write((tx) =>
        tx.tables.put({ ...ants, name: 'later', primaryKey: null }),
      )
      expect(pending.primaryKey).toBeNull()
      await inEveryLife(fixture, async (again) => {
        const names = await again.read((tx) => {
          expect(tx.tables.find('zebras')).toEqual(zebras)
          expect(tx.tables.find('ants')).toEqual(ants)
          return tx.tables
            .list()
            .slice(3)
            .map(({ name }) => name)
        })
        expect(names).toEqual(['zebras', 'ants', 'later'])
      })
    })

    test('keep number, place and rows when they are declared again', async () => {
      await using database = await createDatabase(openStore)
      const before = await declareIn(database, 'first', '@id, title')
      await declareIn(database, 'second')
      await insert(database, before, 'a')
      const after = await declareIn(database, 'first', '@id, title, done')
      expect(after.number).toBe(before.number)
      expect(after.indexes[0]).toEqual(before.indexes[0])
      expect(after.indexes.map(({ name }) => name)).toEqual(['title', 'done'])
      expect(await keysOf(database, after)).toEqual(['a'])
      const names = (await database.read((tx) => tx.tables.list())).map(({ name }) => name)
      expect(names.slice(3)).toEqual(['first', 'second'])
    })

    test('that are hidden are listed, and come back with their rows', async () => {
      await using database = await createDatabase(openStore)
      const table = await declareIn(database, 'things', '@id, title')
      await insert(database, table, 'a')
      await database.write((tx) => tx.tables.put({ ...table, hidden: true }))
      const hidden = await database.read((tx) => tx.tables.find('things'))
      expect(hidden).toEqual({ ...table, hidden: true })
      expect(await keysOf(database, table)).toEqual(['a'])
      const back = await declareIn(database, 'things', '@id, title')
      expect(back).toEqual(table)
    })

    test('have names that never reach the storage as anything but names', async () => {
      await using database = await createDatabase(openStore)
      const names = ['select', '"; DROP TABLE tables; --', 'users', '用户', '__proto__', 'a.b']
      for (const name of names) await insert(database, await declareIn(database, name), 'a')
      for (const name of names) {
        const table = await database.read((tx) => tx.tables.find(name))
        if (table === undefined) throw new Error(`there is no ${name}`)
        expect(await keysOf(database, table)).toEqual(['a'])
      }
    })

    test('may be as many as 500, declared in one unit', async () => {
      await using database = await createDatabase(openStore)
      await database.write((tx) => declareMany(tx))
      const tables = await database.read((tx) => tx.tables.list())
      expect(tables).toHaveLength(500)
      await Promise.all(tables.map((table) => insert(database, table, 'a')))
      for (const table of tables) expect(await keysOf(database, table)).toEqual(['a'])
    })

    test('cost the same each, however many there are', async () => {
      const growths: number[] = []
      // Else the fourth hundred takes seven times as long. A pause of the machine is not in each round.
      for (let rounds = 0; rounds < 5 && !growths.some((growth) => growth < 4); rounds += 1) {
        await using fixture = await setupDatabase(openStore)
        const [start = 0, first = 0, , third = 0, fourth = 0] =
          await fixture.database.write(declareMany)
        growths.push((fourth - third) / (first - start))
      }
      expect(Math.min(...growths)).toBeLessThan(4)
    })

    test('are sealed and unsealed', async () => {
      await using fixture = await setupDatabase(openStore)
      const { database } = fixture
      const isSealed = () => database.read((tx) => tx.tables.isSealed())
      expect(await isSealed()).toBe(false)
      await database.writeSteps(async (step) => {
        await step((tx) => {
          tx.tables.seal(true)
          expect(tx.tables.isSealed()).toBe(true)
        })
        expect(await isSealed()).toBe(false)
      })
      expect(await isSealed()).toBe(true)
      const reopened = await (await fixture.reopen()).open('main')
      expect(await reopened.read((tx) => tx.tables.isSealed())).toBe(true)
      await reopened.write((tx) => tx.tables.seal(false))
      expect(await reopened.read((tx) => tx.tables.isSealed())).toBe(false)
    })

    test('are seen by reads in one commit with their objects', async () => {
      await using database = await createDatabase(openStore)
      const writing = (async () => {
        for (let n = 0; n < 30; n += 1) {
          await database.write((tx) => {
            tx.objects.put(declare(tx, `t${n}`), [fresh('a')], NOW)
          })
        }
      })()
      let last = 0
      while (last < 30) {
        await database.read((tx) => {
          const tables = tx.tables.list().slice(3)
          for (const table of tables) expect(tx.objects.count(table, 1_000_000)).toBe(1)
          last = tables.length
        })
        await nextTurn()
      }
      await writing
    })
  })

  describe('indexes', () => {
    test('are building until they are marked as ready', async () => {
      await using fixture = await setupDatabase(openStore)
      const { database } = fixture
      const table = await declareIn(database, 'things', '@id, title')
      const [index] = table.indexes
      if (index === undefined) throw new Error('there is no index')
      await database.writeSteps(async (step) => {
        await step((tx) => {
          tx.tables.setIndexState(index.number, 'ready')
          expect(stateOf(tx.tables.find('things'))).toBe('ready')
        })
        expect(stateOf(await database.read((other) => other.tables.find('things')))).toBe(
          'building',
        )
      })
      expect(stateOf(await database.read((tx) => tx.tables.find('things')))).toBe('ready')
      const reopened = await (await fixture.reopen()).open('main')
      expect(stateOf(await reopened.read((tx) => tx.tables.find('things')))).toBe('ready')
    })

    test('that are declared otherwise are other indexes, with numbers never used before', async () => {
      await using database = await createDatabase(openStore)
      const seen = new Set<number>()
      for (const stores of ['@id, a, b', '@id, b', '@id, *a, b', '@id', '@id, a']) {
        const { indexes } = await declareIn(database, 'things', stores)
        const kept = indexes.filter(({ number }) => seen.has(number))
        expect(kept.every(({ name }) => name === 'b')).toBe(true)
        for (const { number } of indexes) seen.add(number)
      }
      expect(seen.size).toBe(4)
    })

    test('that are no longer declared lose their entries step by step', async () => {
      await using database = await createDatabase(openStore)
      const table = await declareIn(database, 'things', '@id, title')
      const number = table.indexes[0]?.number ?? 0
      const puts = Array.from({ length: 25 }, (_, n) =>
        fresh(`k${n}`, { entries: [entry(number, n)] }),
      )
      await database.write((tx) => tx.objects.put(table, puts, NOW))
      await declareIn(database, 'things', '@id')
      const steps: number[] = []
      do {
        steps.push(await database.write((tx) => tx.objects.dropEntries(10)))
      } while (steps.at(-1) !== 0)
      expect(steps.slice(0, 3)).toEqual([10, 10, 5])
      expect(await entriesOf(database, table, number)).toEqual([])
      expect(await keysOf(database, table)).toHaveLength(25)
    })

    test('declared after the rows are filled by adding entries, twice as well as once', async () => {
      await using database = await createDatabase(openStore)
      const plain = await declareIn(database, 'things')
      await insert(database, plain, 'a', 'b', 'c')
      const table = await declareIn(database, 'things', '@id, title')
      const number = table.indexes[0]?.number ?? 0
      const rows = (await scanAll(database, table)).map(({ seq }) => ({
        seq,
        entries: [entry(number, 7)],
      }))
      await database.write((tx) => tx.objects.addEntries(rows))
      await database.write((tx) => tx.objects.addEntries(rows))
      expect(await entriesOf(database, table, number)).toEqual(rows.map(({ seq }) => seq))
    })
  })
}

function stateOf(table: Table | undefined) {
  return table?.indexes[0]?.state
}

/** Positions of all entries of an index. */
async function entriesOf(database: Database, table: Table, index: number): Promise<number[]> {
  const range = { lower: new Uint8Array(0), upper: Uint8Array.of(255, 255) }
  return database.read((tx) =>
    rowsOf(tx, table, { lookup: { index, keys: [], range } }).map(({ seq }) => seq),
  )
}

/** Declares 497 tables with indexes, and returns the times before the first of each hundred, ms. */
function declareMany(tx: WriteTx): number[] {
  const times: number[] = []
  for (let n = 0; n < 497; n += 1) {
    if (n % 100 === 0) times.push(performance.now())
    const table = declare(tx, `t${n}`, '@id, a, *b, [a+b]')
    for (const { number } of table.indexes) tx.tables.setIndexState(number, 'ready')
    expect(tx.tables.find(`t${n}`)).toMatchObject({ indexes: [{}, {}, {}] })
    expect(tx.tables.list()).toHaveLength(n + 4)
  }
  return times
}

import { describe, expect, test } from 'bun:test'
import type { IndexLookup } from '../../src/domain/store/objects'
import type { ReadTx, Step, WriteTx } from '../../src/domain/store/store'
import type { Table } from '../../src/domain/store/tables'
import {
  declare,
  declareIn,
  entry,
  failPart,
  fresh,
  keyOf,
  keysOf,
  NOW,
  type OpenStore,
  refusalOf,
  rowsOf,
  createDatabase,
  update,
} from './fixture'

/** `attempt`: a part that may fail alone within a unit. */
export function describeParts(openStore: OpenStore): void {
  describe('parts of a unit', () => {
    test('are kept with the unit when they succeed', async () => {
      await using database = await createDatabase(openStore)
      const table = await declareIn(database, 'things')
      const result = await database.write((tx) =>
        tx.attempt(() => {
          tx.objects.put(table, [fresh('a')], NOW)
          return 'kept'
        }),
      )
      expect(result).toBe('kept')
      expect(await keysOf(database, table)).toEqual(['a'])
    })

    test('fail alone, with everything they did', async () => {
      await using database = await createDatabase(openStore)
      const table = await declareIn(database, 'things')
      await database.write((tx) => {
        tx.objects.put(table, [fresh('before')], NOW)
        failPart(tx, () => {
          tx.objects.put(table, [fresh('amid')], NOW)
          update(tx, table, 'before', { value: '"changed"' })
          declare(tx, 'others')
          tx.realms.ensure('rlm-new')
          tx.tables.seal(true)
        })
        expect(tx.tables.find('others')).toBeUndefined()
        expect(tx.tables.isSealed()).toBe(false)
        expect(tx.realms.find('rlm-new')).toBeUndefined()
        tx.objects.put(table, [fresh('after')], NOW)
      })
      expect(await keysOf(database, table)).toEqual(['before', 'after'])
      expect(await database.read((tx) => tx.tables.find('others'))).toBeUndefined()
    })

    test('may have parts', async () => {
      await using database = await createDatabase(openStore)
      const table = await declareIn(database, 'things')
      const put = (tx: WriteTx, key: string) => tx.objects.put(table, [fresh(key)], NOW)
      await database.write((tx) => {
        tx.attempt(() => {
          put(tx, 'outer')
          failPart(tx, () => put(tx, 'inner'))
          tx.attempt(() => put(tx, 'second'))
        })
        failPart(tx, () => tx.attempt(() => put(tx, 'kept in a failed part')))
      })
      expect(await keysOf(database, table)).toEqual(['outer', 'second'])
    })

    test('that fail take their index entries along, and leave those of others', async () => {
      await using database = await createDatabase(openStore)
      const table = await declareIn(database, 'tagged', '@id, *tags')
      const { number } = table.indexes[0]!
      const tagged = (key: string) =>
        fresh(key, { entries: Array.from({ length: 300 }, (_, n) => entry(number, n >> 8, n, 1)) })
      const lookup = { index: number, keys: [Uint8Array.of(0, 7, 1)] }
      const keys = await database.write((tx) => {
        tx.objects.put(table, [tagged('a')], NOW)
        failPart(tx, () => tx.objects.put(table, [tagged('b')], NOW))
        tx.objects.put(table, [tagged('c')], NOW)
        return found(tx, table, lookup)
      })
      expect(keys).toEqual(['a', 'c'])
      expect(await database.read((tx) => found(tx, table, lookup))).toEqual(['a', 'c'])
    })
  })
}

/** `writeSteps`: a unit in several steps. */
export function describeSteps(openStore: OpenStore): void {
  describe('a unit in steps', () => {
    test('sees what its earlier steps wrote, which no read sees before its end', async () => {
      await using database = await createDatabase(openStore)
      const table = await declareIn(database, 'things')
      const result = await database.writeSteps(async (step) => {
        await step((tx) => tx.objects.put(table, [fresh('a')], NOW))
        expect(await step((tx) => tx.objects.find(table, 'a'))).toBeDefined()
        expect(await keysOf(database, table)).toEqual([])
        await step((tx) => tx.objects.put(table, [fresh('b')], NOW))
        return 'kept'
      })
      expect(result).toBe('kept')
      expect(await keysOf(database, table)).toEqual(['a', 'b'])
    })

    test('has one revision, and others run before it or after it', async () => {
      await using database = await createDatabase(openStore)
      const table = await declareIn(database, 'things')
      const others: Promise<unknown>[] = []
      await database.writeSteps(async (step) => {
        for (const key of ['a', 'b', 'c']) {
          await step((tx) => tx.objects.put(table, [fresh(key)], NOW))
          others.push(database.write((tx) => tx.objects.put(table, [fresh(`other ${key}`)], NOW)))
        }
      })
      await Promise.all(others)
      expect(await keysOf(database, table)).toEqual([
        'a',
        'b',
        'c',
        'other a',
        'other b',
        'other c',
      ])
      const revisions = await database.read((tx) =>
        ['a', 'b', 'c'].map((key) => tx.objects.find(table, key)?.revision),
      )
      expect(new Set(revisions).size).toBe(1)
    })

    test('keeps nothing when a step fails, even if its error is caught', async () => {
      await using database = await createDatabase(openStore)
      const table = await declareIn(database, 'things')
      const unit = database.writeSteps(async (step) => {
        await step((tx) => tx.objects.put(table, [fresh('a')], NOW))
        const failing = step((tx) => {
          tx.objects.put(table, [fresh('b')], NOW)
          throw new Error('refused')
        })
        await failing.catch(() => undefined)
      })
      expect(unit).rejects.toThrow('refused')
      await unit.catch(() => undefined)
      expect(await keysOf(database, table)).toEqual([])
    })

    test('goes on when steps fail together in an attempt, of which nothing stays', async () => {
      await using database = await createDatabase(openStore)
      const table = await declareIn(database, 'things')
      const put = (key: string) => (tx: WriteTx) => tx.objects.put(table, [fresh(key)], NOW)
      await database.writeSteps(async (step) => {
        await step(put('a'))
        const attempt = step.attempt(async () => {
          await step(put('b'))
          await step.attempt(() => step(put('c')))
          await step(put('a'))
        })
        expect(await refusalOf(attempt)).toBe('CONFLICT')
        await step.attempt(() => step(put('d')))
      })
      expect(await keysOf(database, table)).toEqual(['a', 'd'])
    })

    test.each(['succeeds', 'fails'])('is refused a step after it %s', async (end) => {
      await using database = await createDatabase(openStore)
      const table = await declareIn(database, 'things')
      let late: Step | undefined
      const unit = database.writeSteps(async (step) => {
        late = step
        await step((tx) => tx.objects.put(table, [fresh('a')], NOW))
        if (end === 'fails') throw new Error('expected')
      })
      await unit.catch(() => undefined)
      const outliving = late!((tx) => tx.objects.put(table, [fresh('late')], NOW))
      expect(outliving).rejects.toThrow('outlive')
      await outliving.catch(() => undefined)
      expect(await keysOf(database, table)).toEqual(end === 'fails' ? [] : ['a'])
    })
  })
}

function found(tx: ReadTx, table: Table, lookup: IndexLookup): string[] {
  return rowsOf(tx, table, { lookup }).map(keyOf)
}

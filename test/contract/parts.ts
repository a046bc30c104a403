import { describe, expect, test } from 'bun:test'
import type { WriteTx } from '../../src/domain/store/store'
import {
  declare,
  declareIn,
  fresh,
  keysOf,
  NOW,
  type OpenStore,
  setupDatabase,
  update,
} from './fixture'

/** `attempt`: a part that may fail alone within a unit. */
export function describeParts(openStore: OpenStore): void {
  describe('parts of a unit', () => {
    test('are kept with the unit when they succeed', async () => {
      await using fixture = await setupDatabase(openStore)
      const { database } = fixture
      const table = await declareIn(database, 'things')
      const result = await database.write((tx) =>
        tx.attempt(async () => {
          await tx.objects.put(table, [fresh('a')], NOW)
          return 'kept'
        }),
      )
      expect(result).toBe('kept')
      expect(await keysOf(database, table)).toEqual(['a'])
    })

    test('fail alone, with everything they did', async () => {
      await using fixture = await setupDatabase(openStore)
      const { database } = fixture
      const table = await declareIn(database, 'things')
      const failure = new Error('not this part')
      await database.write(async (tx) => {
        await tx.objects.put(table, [fresh('before')], NOW)
        const part = tx.attempt(async () => {
          await tx.objects.put(table, [fresh('amid')], NOW)
          await update(tx, table, 'before', { value: '"changed"' })
          await declare(tx, 'others')
          await tx.realms.ensure('rlm-new')
          await tx.tables.seal(true)
          throw failure
        })
        expect(await part.catch((error: unknown) => error)).toBe(failure)
        expect(await tx.tables.find('others')).toBeUndefined()
        expect(await tx.tables.isSealed()).toBe(false)
        expect(await tx.realms.find('rlm-new')).toBeUndefined()
        await tx.objects.put(table, [fresh('after')], NOW)
      })
      expect(await keysOf(database, table)).toEqual(['before', 'after'])
      expect(await database.read((tx) => tx.tables.find('others'))).toBeUndefined()
    })

    test('may have parts', async () => {
      await using fixture = await setupDatabase(openStore)
      const { database } = fixture
      const table = await declareIn(database, 'things')
      const put = (tx: WriteTx, key: string) => tx.objects.put(table, [fresh(key)], NOW)
      await database.write(async (tx) => {
        await tx.attempt(async () => {
          await put(tx, 'outer')
          await refused(
            tx.attempt(async () => {
              await put(tx, 'inner')
              throw new Error('inner')
            }),
          )
          await tx.attempt(() => put(tx, 'second'))
        })
        await refused(
          tx.attempt(async () => {
            await tx.attempt(() => put(tx, 'kept in a failed part'))
            throw new Error('outer')
          }),
        )
      })
      expect(await keysOf(database, table)).toEqual(['outer', 'second'])
    })

    test('are refused side by side', async () => {
      await using fixture = await setupDatabase(openStore)
      const { database } = fixture
      const table = await declareIn(database, 'things')
      const unit = database.write(async (tx) => {
        const part = (key: string) =>
          tx.attempt(async () => {
            await tx.objects.put(table, [fresh(key)], NOW)
            await tx.users.find('somebody')
          })
        await Promise.all([part('a'), part('b')])
      })
      expect(unit).rejects.toThrow()
      await refused(unit)
      expect(await keysOf(database, table)).toEqual([])
    })
  })
}

async function refused(work: Promise<unknown>): Promise<void> {
  expect(
    await work.then(
      () => 'done',
      () => 'refused',
    ),
  ).toBe('refused')
}

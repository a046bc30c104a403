import { expect, test } from 'bun:test'
import type { Database } from '../../../src/domain/store/store'
import { clearRealm, clearTable } from '../../../src/domain/transfer/clear'
import { declareIn, ensureRealm, fresh, keysOf, NOW, remove, update } from '../../contract/fixture'
import { setupStore } from '../../auth/setup'

/** A table with 250 objects in a realm and one outside of it; `between` is called before each unit. */
async function setup(between: (database: Database) => Promise<void> = async () => undefined) {
  const base = await setupStore()
  const database = await base.store.create('main')
  const table = await declareIn(database, 'things')
  const realm = await ensureRealm(database, 'rlm-team')
  const puts = Array.from({ length: 250 }, (_, n) => fresh(`k${n}`, { realm }))
  await database.write((tx) => tx.objects.put(table, [...puts, fresh('outside')], NOW))
  const sizes: number[] = []
  const clearing: Database = {
    ...database,
    write: async (work, options) => {
      await between(database)
      const before = (await keysOf(database, table)).length
      const result = await database.write(work, options)
      sizes.push(before - (await keysOf(database, table)).length)
      return result
    },
  }
  return { ...base, database, table, clearing, sizes }
}

test('a table is cleared in units of a hundred objects', async () => {
  await using base = await setup()
  expect(await clearTable(base.clearing, 'things', NOW)).toBe(251)
  expect(await keysOf(base.database, base.table)).toEqual([])
  expect(base.sizes).toEqual([100, 100, 51])
})

test('a realm is cleared without what others move out of it or delete meanwhile', async () => {
  let units = 0
  await using base = await setup(async (database) => {
    if ((units += 1) > 1) return
    await database.write((tx) => {
      const table = tx.tables.find('things')!
      update(tx, table, 'k0', { realm: 1 })
      remove(tx, table, 'k1')
    })
  })
  expect(await clearRealm(base.clearing, 'rlm-team', NOW)).toBe(248)
  expect(await keysOf(base.database, base.table)).toEqual(['k0', 'outside'])
})

test('a deletion that is interrupted leaves the rest', async () => {
  const interrupt = new AbortController()
  const { signal } = interrupt
  await using base = await setup(async () => interrupt.abort())
  const clearing = clearTable(base.clearing, 'things', NOW, signal)
  expect(await clearing.catch((error: unknown) => error)).toBe(signal.reason)
  const inRealm = clearRealm(base.clearing, 'rlm-team', NOW, signal)
  expect(await inRealm.catch((error: unknown) => error)).toBe(signal.reason)
  expect(base.sizes).toEqual([100])
})

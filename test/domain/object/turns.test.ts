import { expect, test } from 'bun:test'
import { upsertObjects } from '../../../src/domain/object/upsert'
import { ROW_RULES } from '../../../src/domain/rows/row-rules'
import type { Database } from '../../../src/domain/store/store'
import { setupStore } from '../../auth/setup'
import { declareIn, NOW } from '../../contract/fixture'
import { administrator } from '../blob/setup'

test('a unit lets others in between its objects: new ones, replaced ones and rows', async () => {
  await using base = await setupStore()
  const stored = await base.store.create('main')
  await declareIn(stored, 'todo', 'id')
  let looks = 0
  const database: Database = {
    ...stored,
    write: (work, options) =>
      stored.write((tx) => {
        const breathe = tx.breathe.bind(tx)
        tx.breathe = () => {
          looks += 1
          return breathe()
        }
        return work(tx)
      }, options),
  }
  const looksWhile = async (table: string, objects: readonly object[]) => {
    looks = 0
    await upsertObjects(database, {
      actor: administrator,
      view: 'all',
      table,
      objects,
      isArray: true,
      now: NOW,
      rulesByTable: ROW_RULES,
    })
    return looks
  }
  const many = (title: string) =>
    Array.from({ length: 800 }, (_, n) => ({ id: `k${n}`, realmId: 'rlm-public', title }))
  // Sixteen are written at once, and nothing follows the last ones.
  expect(await looksWhile('todo', many('new'))).toBeGreaterThanOrEqual(800 / 16 - 1)
  expect(await looksWhile('todo', many('replaced'))).toBeGreaterThanOrEqual(800 / 16)
  const realms = Array.from({ length: 100 }, (_, n) => ({ realmId: `rlm${n}` }))
  expect(await looksWhile('realms', realms)).toBeGreaterThanOrEqual(100)
})

import { expect, test } from 'bun:test'
import type { Actor } from '../../../src/domain/access/actor'
import { removeObject } from '../../../src/domain/object/remove'
import { upsertObjects } from '../../../src/domain/object/upsert'
import { ROW_RULES } from '../../../src/domain/rows/row-rules'
import type { Database, WriteOptions } from '../../../src/domain/store/store'
import { administrator } from '../blob/setup'
import { setupStore } from '../../auth/setup'
import { declareIn, NOW } from '../../contract/fixture'

test('requests that name objects tell the engine their keys in advance', async () => {
  await using base = await setupStore()
  const stored = await base.store.create('main')
  await declareIn(stored, 'todo', '@id')
  const hints: WriteOptions['keys'][] = []
  const database: Database = {
    ...stored,
    write(work, options) {
      hints.push(options?.keys)
      return stored.write(work, options)
    },
    writeSteps(work, options) {
      hints.push(options?.keys)
      return stored.writeSteps(work, options)
    },
  }
  const actor: Actor = administrator
  const request = {
    actor,
    view: 'public' as const,
    table: 'todo',
    now: NOW,
    rulesByTable: ROW_RULES,
  }
  const objects = [{ id: 'a' }, { title: 'without a key' }, { id: 'b' }]
  await upsertObjects(database, { ...request, objects, isArray: true })
  await removeObject(database, { ...request, key: 'a' })
  expect(hints).toEqual([[{ table: 'todo', keys: ['a', 'b'] }], [{ table: 'todo', keys: ['a'] }]])
})

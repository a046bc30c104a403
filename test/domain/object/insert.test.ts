import { expect, test } from 'bun:test'
import { upsertObjects } from '../../../src/domain/object/upsert'
import { ROW_RULES } from '../../../src/domain/rows/row-rules'
import type { Database } from '../../../src/domain/store/store'
import { setupStore } from '../../auth/setup'
import { declareIn, NOW } from '../../contract/fixture'
import { administrator } from '../blob/setup'

test('a single new object is written without a look for one that it would replace', async () => {
  await using base = await setupStore()
  const stored = await base.store.create('main')
  await declareIn(stored, 'todo', 'id')
  let looks = 0
  const database: Database = {
    ...stored,
    write: (work, options) =>
      stored.write((tx) => {
        const { objects } = tx
        const findMany = objects.findMany.bind(objects)
        objects.findMany = (table, keys) => {
          looks += 1
          return findMany(table, keys)
        }
        return work(tx)
      }, options),
  }
  const put = async (object: object) => {
    const [text] = await upsertObjects(database, {
      actor: administrator,
      view: 'all',
      table: 'todo',
      objects: [object],
      isArray: false,
      now: NOW,
      rulesByTable: ROW_RULES,
    })
    return [text, looks]
  }
  const first = '{"id":"a","realmId":"rlm-public","owner":null}'
  const second = '{"id":"a","realmId":"rlm-public","title":"again","owner":null}'
  expect(await put({ id: 'a', realmId: 'rlm-public' })).toEqual([first, 0])
  expect(await put({ id: 'a', realmId: 'rlm-public', title: 'again' })).toEqual([second, 1])
})

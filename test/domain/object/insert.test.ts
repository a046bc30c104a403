import { expect, test } from 'bun:test'
import { upsertObjects } from '../../../src/domain/object/upsert'
import { ROW_RULES } from '../../../src/domain/rows/row-rules'
import type { Database } from '../../../src/domain/store/store'
import { setupStore } from '../../auth/setup'
import { declareIn, NOW } from '../../contract/fixture'
import { administrator } from '../blob/setup'

test('new objects are written without a look for ones that they would replace', async () => {
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
  const putAll = (objects: readonly object[]) =>
    upsertObjects(database, {
      actor: administrator,
      view: 'all',
      table: 'todo',
      objects,
      isArray: objects.length > 1,
      now: NOW,
      rulesByTable: ROW_RULES,
    })
  const put = async (object: object) => {
    const [text] = await putAll([object])
    return [text, looks]
  }
  const first = '{"id":"a","realmId":"rlm-public","owner":null}'
  const second = '{"id":"a","realmId":"rlm-public","title":"again","owner":null}'
  expect(await put({ id: 'a', realmId: 'rlm-public' })).toEqual([first, 0])
  expect(await put({ id: 'a', realmId: 'rlm-public', title: 'again' })).toEqual([second, 1])
  const many = (from: number, title: string) =>
    Array.from({ length: 1_000 }, (_, n) => ({
      id: `k${from + n}`,
      realmId: 'rlm-public',
      owner: null,
      title,
    }))
  const texts = (objects: readonly object[]) => objects.map((object) => JSON.stringify(object))
  looks = 0
  expect(await putAll(many(0, 'new'))).toEqual(texts(many(0, 'new')))
  expect(looks).toBe(0)
  // The second half is there: one look fails, and the others are for hundreds of objects at once.
  const mixed = [...many(5_000, 'new'), ...many(0, 'replaced')]
  expect(await putAll(mixed)).toEqual(texts(mixed))
  expect(looks).toBe(2)
  // The same key twice: the second one replaces the first.
  const [first0, second0] = [many(9_000, 'first')[0]!, many(9_000, 'second')[0]!]
  expect(await putAll([first0, second0])).toEqual(texts([first0, second0]))
  const table = (await stored.read((tx) => tx.tables.find('todo')))!
  const kept = await stored.read((tx) => tx.objects.find(table, 'k9000'))
  expect(kept?.value).toBe(JSON.stringify(second0))
})

import { expect, test } from 'bun:test'
import { namesSince, readStamps } from '../../../src/domain/object/stamps'
import { upsertObjects } from '../../../src/domain/object/upsert'
import { ROW_RULES } from '../../../src/domain/rows/row-rules'
import { setupStore } from '../../auth/setup'
import { declareIn, NOW } from '../../contract/fixture'
import { alice } from '../blob/setup'

test('an object that is put again remembers which properties changed, removed ones too', async () => {
  await using base = await setupStore()
  const database = await base.store.create('main')
  const table = await declareIn(database, 'todo', '@id, title')
  const put = (object: object, now: number) =>
    upsertObjects(database, {
      actor: alice,
      view: 'my',
      table: 'todo',
      objects: [object],
      isArray: false,
      now,
      rulesByTable: ROW_RULES,
    })
  const stored = async () => {
    const found = await database.read((tx) => tx.objects.findMany(table, ['a']))
    return found.get('a')!
  }
  await put({ id: 'a', title: 'Milk', done: false, old: 1 }, NOW)
  const first = await stored()
  expect(first.stamps).toBeNull()
  await put({ id: 'a', title: 'Milk', done: true }, NOW + 5)
  const second = await stored()
  const stamps = readStamps(second.stamps, second.updated, second.revision)
  expect(namesSince(stamps, first.revision)).toEqual(new Set(['done', 'old']))
  expect(stamps.rest).toEqual([NOW, first.revision])
  await put({ id: 'a', title: 'Bread', done: true }, NOW + 9)
  const third = await stored()
  const later = readStamps(third.stamps, third.updated, third.revision)
  expect(namesSince(later, second.revision)).toEqual(new Set(['title']))
  expect(namesSince(later, first.revision)).toEqual(new Set(['title', 'done', 'old']))
  expect(third.entered).toBe(first.revision)
})

import { expect, test } from 'bun:test'
import { upsertObjects } from '../../../src/domain/object/upsert'
import { ROW_RULES } from '../../../src/domain/rows/row-rules'
import type { Commit } from '../../../src/domain/store/store'
import { setupStore } from '../../auth/setup'
import { declareIn, NOW } from '../../contract/fixture'
import { alice } from '../blob/setup'

test('an object that is put as it is stored takes no revision and is not announced', async () => {
  await using base = await setupStore()
  const database = await base.store.create('main')
  await declareIn(database, 'todo', '@id, title')
  const put = (table: string, objects: readonly object[]) =>
    upsertObjects(database, {
      actor: alice,
      view: 'my',
      table,
      objects,
      isArray: true,
      now: NOW,
      rulesByTable: ROW_RULES,
    })
  const todo = [{ id: 'a', title: 'Milk' }]
  const rows = {
    realms: [{ realmId: 'rlm-team' }],
    members: [{ id: 'mmb-bob', realmId: 'rlm-team', email: 'bob@example.com' }],
    roles: [{ realmId: 'rlm-team', name: 'doer', permissions: {} }],
  }
  const putEverything = async () => {
    const texts = [...(await put('todo', todo))]
    for (const [table, objects] of Object.entries(rows)) {
      texts.push(...(await put(table, objects)))
    }
    return texts
  }
  const first = await putEverything()
  const before = await database.read((tx) => tx.revision())
  const commits: Commit[] = []
  database.onCommit((commit) => commits.push(commit))
  expect(await putEverything()).toEqual(first)
  expect(await database.read((tx) => tx.revision())).toBe(before)
  expect(commits).toEqual([])
  await put('todo', [...todo, { id: 'b' }])
  expect(await database.read((tx) => tx.revision())).toBe(before + 1)
  const moved = { ...todo[0], realmId: 'rlm-team' }
  await put('todo', [moved])
  expect(await database.read((tx) => tx.revision())).toBe(before + 2)
})

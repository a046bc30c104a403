import { expect, test } from 'bun:test'
import { MAINTENANCE } from '../../../src/domain/object/maintenance'
import { parseStores } from '../../../src/domain/value/schema'
import type { Database } from '../../../src/domain/store/store'
import { setupStore } from '../../auth/setup'
import { indexJobs, pushSchema, reportSchema } from '../../../src/domain/object/tables'

const push = (database: Database, schema: object, now = 1) =>
  database.write((tx) => pushSchema(tx, parseStores(schema), now))

test('tells what a push created, changed and hid, and nothing that stayed', async () => {
  await using base = await setupStore()
  const database = await base.store.create('main')
  const first = { todo: '@id', notes: 'id', gone: null }
  const change = { created: ['todo', 'notes'], changed: [], hidden: [] }
  expect(await push(database, first)).toEqual(change)
  expect(await push(database, { todo: '@id', notes: 'id, &title', more: '@id' })).toEqual({
    created: ['more'],
    changed: ['notes'],
    hidden: [],
  })
  const hiding = { created: [], changed: [], hidden: ['todo'] }
  expect(await push(database, { todo: null, members: '@id' })).toEqual(hiding)
  expect(await push(database, { todo: null })).toEqual({ ...hiding, hidden: [] })
  expect(await push(database, { todo: '@id' })).toEqual({
    ...hiding,
    changed: ['todo'],
    hidden: [],
  })
  expect(await push(database, { members: '@id, email' })).toMatchObject({ changed: ['members'] })
})

test('reports stores texts, hidden tables and the progress of indexes', async () => {
  await using base = await setupStore()
  const database = await base.store.create('main')
  await push(database, { todo: 'id', old: 'id, a' })
  await push(database, { old: null })
  await database.write((tx) => {
    const table = tx.tables.find('todo')
    const realm = tx.realms.ensure('rlm-public')
    if (table === undefined) throw new Error('There is no table')
    const puts = Array.from({ length: 1_200 }, (_, n) => ({
      key: `k${n}`,
      realm: realm.ref,
      owner: null,
      value: JSON.stringify({ id: `k${n}`, title: `T${n}` }),
      entries: [],
      blobs: [],
    }))
    tx.objects.put(table, puts, 1)
    tx.tables.seal(true)
  })
  await push(database, { todo: 'id, title, *tags' }, 2)
  const report = () => database.read((tx) => reportSchema(tx))
  const title = { table: 'todo', index: 'title', done: 0, total: 1_200 }
  expect(await report()).toEqual({
    schema: { todo: 'id, title, *tags', old: null },
    hidden: { old: 'id, a' },
    sealed: true,
    building: [title, { ...title, index: 'tags' }],
  })
  const jobs = await database.read((tx) => indexJobs(tx, tx.tables.list()))
  expect(jobs).toHaveLength(2)
  const job = jobs.find(({ state }) => state['index'] === 2)
  if (job === undefined) throw new Error('There is no job')
  await MAINTENANCE.index?.(database, job)
  expect((await report()).building).toContainEqual({ ...title, done: 500 })
  const named = await database.read((tx) => reportSchema(tx, ['members', 'old']))
  expect(named).toMatchObject({ schema: { members: '@id', old: null }, building: [] })
})

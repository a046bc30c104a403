import { Database as SqliteDatabase } from 'bun:sqlite'
import { expect, test } from 'bun:test'
import type { UserFields } from '../../src/domain/store/users'
import { objectTable } from '../../src/sqlite/tables'
import {
  declareIn,
  ensureRealm,
  eraseAll,
  failPart,
  fresh,
  insert,
  NOW,
  refusalOf,
  remove,
  update,
} from '../contract/fixture'
import { temporaryFolder } from '../setup'
import { openIn, type OpenedDatabase } from './setup'

function user(id: string): UserFields {
  const never = { lastLogin: null, validUntil: null, evalUntil: null, deactivated: null }
  return { id, type: 'prod', created: NOW, updated: NOW, data: null, ...never }
}

/** The counters of a database, which must be the numbers of its rows. */
function counted({ database, file }: OpenedDatabase, table: number) {
  const { objects, users } = database.figures()
  using db = new SqliteDatabase(file, { readonly: true })
  const total = (name: string) => db.query(`SELECT count(*) AS total FROM ${name}`).get()
  expect([total(objectTable(table)), total('users')]).toEqual([
    { total: objects },
    { total: users },
  ])
  return { objects, users }
}

test('a database knows how many objects and users it has, whatever was undone, and after it was opened again', async () => {
  using folder = temporaryFolder()
  await using opened = openIn(folder.path)
  const { database } = opened
  const table = await declareIn(database, 'things')
  await insert(database, table, ...Array.from({ length: 40 }, (_, at) => `key-${at}`))
  expect(counted(opened, table.number)).toEqual({ objects: 40, users: 0 })
  await database.write((tx) => {
    update(tx, table, 'key-0', {})
    remove(tx, table, 'key-1', 'key-2')
    tx.users.put(user('one@example.com'))
    tx.users.put(user('one@example.com'))
    tx.users.put(user('two@example.com'))
  })
  expect(counted(opened, table.number)).toEqual({ objects: 38, users: 2 })

  expect(await refusalOf(insert(database, table, 'new', 'key-3'))).toBe('CONFLICT')
  await database.write((tx) => {
    failPart(tx, () => {
      remove(tx, table, 'key-3')
      tx.users.remove('one@example.com')
    })
    tx.users.remove('two@example.com')
    tx.users.remove('nobody@example.com')
  })
  expect(counted(opened, table.number)).toEqual({ objects: 38, users: 1 })

  const realm = await ensureRealm(database, 'rlm-gone')
  await database.write((tx) => {
    tx.objects.put(table, [fresh('a', { realm }), fresh('b', { realm })], NOW)
    tx.realms.markErasing(realm)
  })
  await eraseAll(database, realm)
  expect(counted(opened, table.number)).toEqual({ objects: 38, users: 1 })

  await database[Symbol.asyncDispose]()
  await using again = openIn(folder.path)
  expect(counted(again, table.number)).toEqual({ objects: 38, users: 1 })
})

test('realms, members and roles are no objects of an application', async () => {
  using folder = temporaryFolder()
  await using opened = openIn(folder.path)
  const { database } = opened
  const tables = await database.read((tx) => tx.tables.list())
  const realms = tables.find(({ name }) => name === 'realms')
  if (realms === undefined) throw new Error('there is no table of realms')
  await insert(database, realms, 'rlm-one')
  expect(database.figures().objects).toBe(0)
})

import { describe, expect, test } from 'bun:test'
import { accessOf } from '../../../src/domain/access/access'
import type { Actor } from '../../../src/domain/access/actor'
import type { Database } from '../../../src/domain/store/store'
import { listEveryUser } from '../../../src/domain/user/list'
import { dataOf, expectNothingLeft, lines, objectsOf, setupDatabase } from './setup'

const FILE = {
  schema: { todo: '@id, title, *tags', pairs: '[a+b]', settings: 'name' },
  sealed: true,
  roles: { reader: { displayName: 'Reader', permissions: { update: { todo: ['done'] } } } },
  demoUsers: { 'ann@demo.local': {}, 'bob@demo.local': { displayName: 'Bob' } },
  data: {
    'rlm-list': {
      todo: { tdo1: { title: 'Milk', due: { $t: 'Date', v: '2030-01-01T00:00:00.000Z' } } },
      members: { mmb1: { userId: 'bob@demo.local', roles: ['reader'] } },
      realms: { 'rlm-list': { name: 'List', owner: 'ann@demo.local' } },
    },
    'Ann@demo.local': { settings: { '#theme:ann@demo.local': { value: 'dark' } } },
    'rlm-public': { pairs: { '["x",1]': { note: 'compound' } } },
  },
}

/** Of an import of `FILE`. */
const RESULT = { objects: 6, deleted: 0, demoUsers: 2, blobs: 0, tables: 3, followed: null }

describe('an import file', () => {
  test('may have its sections in any order', async () => {
    const exports = new Set<string>()
    for (const order of orders(Object.keys(FILE) as (keyof typeof FILE)[])) {
      await using base = await setupDatabase()
      const file = Object.fromEntries(order.map((section) => [section, FILE[section]]))
      const result = await base.import(JSON.stringify(file, undefined, 2))
      expect(result).toEqual(RESULT)
      exports.add((await base.export()).split('\n').toSorted().join('\n'))
    }
    expect(exports.size).toBe(1)
  })

  test('gives its objects key, realm and owner from where they stand', async () => {
    await using base = await setupDatabase()
    await base.import(JSON.stringify(FILE))
    expect(await base.export()).toBe(
      lines(
        {
          type: 'schema',
          tables: FILE.schema,
          idPrefixes: { todo: 'td' },
          sealed: true,
        },
        { type: 'demoUsers', users: FILE.demoUsers },
        {
          realm: 'rlm-list',
          table: 'realms',
          id: 'rlm-list',
          data: { name: 'List', owner: 'ann@demo.local', realmId: 'rlm-list' },
        },
        {
          realm: 'rlm-public',
          table: 'roles',
          id: '["rlm-public","reader"]',
          data: { ...FILE.roles.reader, realmId: 'rlm-public', name: 'reader', owner: null },
        },
        {
          realm: 'rlm-list',
          table: 'members',
          id: 'mmb1',
          data: {
            ...FILE.data['rlm-list'].members.mmb1,
            id: 'mmb1',
            realmId: 'rlm-list',
            owner: null,
          },
        },
        {
          realm: 'rlm-list',
          table: 'members',
          id: 'mmb-list',
          data: {
            id: 'mmb-list',
            realmId: 'rlm-list',
            userId: 'ann@demo.local',
            accepted: { $t: 'Date', v: '2030-01-01T12:00:00.000Z' },
            owner: 'ann@demo.local',
          },
        },
        {
          realm: 'rlm-list',
          table: 'todo',
          id: 'tdo1',
          data: {
            ...FILE.data['rlm-list'].todo.tdo1,
            id: 'tdo1',
            realmId: 'rlm-list',
            owner: null,
          },
        },
        {
          realm: 'rlm-public',
          table: 'pairs',
          id: '["x",1]',
          data: { note: 'compound', a: 'x', b: 1, realmId: 'rlm-public', owner: null },
        },
        {
          realm: 'ann@demo.local',
          table: 'settings',
          id: '#theme:ann@demo.local',
          data: {
            value: 'dark',
            name: '#theme:ann@demo.local',
            realmId: 'ann@demo.local',
            owner: 'ann@demo.local',
          },
        },
      ),
    )
  })

  test('makes members of the people it names, and demo users', async () => {
    await using base = await setupDatabase()
    await base.import(JSON.stringify(FILE))
    const { database } = base
    expect(await permissions(database, 'bob@demo.local', 'rlm-list')).toEqual([
      {},
      FILE.roles.reader.permissions,
    ])
    expect(await permissions(database, 'ann@demo.local', 'rlm-list')).toEqual([{ manage: '*' }, {}])
    const users = await database.read((tx) => listEveryUser(tx))
    const now = base.clock.now()
    expect(users).toMatchObject([
      { id: 'ann@demo.local', type: 'demo', created: now, lastLogin: null, data: null },
      { id: 'bob@demo.local', type: 'demo', data: { displayName: 'Bob' } },
    ])
  })

  test('adds to the existing objects, and null deletes', async () => {
    await using base = await setupDatabase()
    await base.import(JSON.stringify(FILE))
    const settings = { '#theme:bob@demo.local': { value: 'light' } }
    await base.import(JSON.stringify({ data: { 'bob@demo.local': { settings } } }))
    const result = await base.import(
      JSON.stringify({
        schema: { settings: null },
        sealed: false,
        roles: { reader: null, writer: { permissions: { add: '*' } } },
        demoUsers: { 'ann@demo.local': null, 'eve@demo.local': {} },
        data: {
          'rlm-list': { todo: { tdo1: { title: 'Oat milk' }, tdo2: { title: 'Tea' } } },
          'rlm-public': { pairs: { '["x", 1]': null, '["absent",1]': null }, todo: { tdo1: null } },
        },
      }),
    )
    expect(result).toEqual({
      objects: 3,
      deleted: 4,
      demoUsers: 2,
      blobs: 0,
      tables: 1,
      followed: null,
    })
    const text = await base.export()
    expect(text).toContain('"sealed":false')
    expect(text).toContain('"users":{"bob@demo.local":{"displayName":"Bob"},"eve@demo.local":{}}')
    expect(objectsOf(text)).toEqual([
      'realms rlm-list',
      'roles ["rlm-public","writer"]',
      'members mmb1',
      // Named in another realm above, and so not deleted.
      'todo tdo1',
      'todo tdo2',
    ])
    expect(text).toContain('"data":{"title":"Oat milk","id":"tdo1"')
    await base.import('{"schema":{"settings":"name"}}')
    // Deleting a user deletes the objects that only they could see.
    expect(objectsOf(await base.export()).filter((name) => name.startsWith('settings'))).toEqual([
      'settings #theme:bob@demo.local',
    ])
  })

  test('may delete a realm and make another with its id', async () => {
    await using base = await setupDatabase()
    await base.import(JSON.stringify(FILE))
    await base.import(
      lines(
        { realm: 'rlm-list', table: 'realms', id: 'rlm-list', data: null },
        { realm: 'rlm-list', table: 'realms', id: 'rlm-list', data: { name: 'New' } },
        { realm: 'rlm-list', table: 'todo', id: 'tdo9', data: {} },
      ),
    )
    await base.jobs.idle()
    const found = objectsOf(await base.export()).filter((name) => !name.includes('rlm-public'))
    expect(found).toEqual([
      'realms rlm-list',
      'todo tdo9',
      'pairs ["x",1]',
      'settings #theme:ann@demo.local',
    ])
    expect(await permissions(base.database, 'bob@demo.local', 'rlm-list')).toEqual([])
  })
})

describe('NDJSON', () => {
  test('may be as other tools and earlier versions write it', async () => {
    await using base = await setupDatabase()
    const text = lines(
      { type: 'schema', tables: { todo: '@id' } },
      { type: 'roles', roles: { boss: { permissions: { manage: '*' } } } },
      { $type: 'object', realm: 'rlm-a', table: 'todo', id: 'tdo1', data: { n: 1 } },
      { $type: 'member', realm: 'rlm-a', id: 'mmb1', data: { email: 'Eve@example.com ' } },
      { type: 'demoUsers', users: { 'ann@demo.local': {} } },
      { realm: 'rlm-a', table: 'realms', id: 'rlm-a', data: {} },
    )
    await base.import(`\ufeff\r\n${text.replaceAll('\n', '\r\n\n')}`)
    expect(objectsOf(await base.export())).toEqual([
      'realms rlm-a',
      'roles ["rlm-public","boss"]',
      'members mmb1',
      'todo tdo1',
    ])
  })

  test('may have a header, and its schema under the name of the documentation', async () => {
    await using base = await setupDatabase()
    await base.import(
      lines(
        { type: 'header', version: 1, exported: '2030-01-01T00:00:00.000Z' },
        { type: 'schema', schema: { todo: '@id, title' }, sealed: true },
        { realm: 'rlm-public', table: 'todo', id: 'tdo1', data: { title: 'Milk' } },
      ),
    )
    const { tables, isSealed } = await base.database.read((tx) => ({
      tables: tx.tables.list().filter(({ builtIn }) => !builtIn),
      isSealed: tx.tables.isSealed(),
    }))
    expect(tables).toMatchObject([{ name: 'todo', stores: '@id, title' }])
    expect(isSealed).toBe(true)
    expect(objectsOf(await base.export())).toEqual(['todo tdo1'])
  })

  test('declares the tables that nothing declares, with the property that holds every key', async () => {
    await using base = await setupDatabase()
    const line = (table: string, id: string, data: object) => ({
      realm: 'rlm-public',
      table,
      id,
      data,
    })
    const result = await base.import(
      lines(
        line('plain', 'a', { n: 1 }),
        line('named', 'a', { code: 'a', other: 'a' }),
        line('named', 'b', { code: 'b', other: 'a' }),
        line('both', 'a', { code: 'a', id: 'a' }),
      ),
    )
    expect(result).toMatchObject({ objects: 4, tables: 3 })
    const stores = await base.database.read((tx) => {
      const tables = tx.tables.list().filter(({ builtIn }) => !builtIn)
      return Object.fromEntries(tables.map((table) => [table.name, table.stores]))
    })
    expect(stores).toEqual({ plain: 'id', named: 'code', both: 'id' })
    expect(await base.export()).toContain('"data":{"n":1,"id":"a"')
    // Nothing is declared for a sealed database.
    await base.import('{"sealed": true, "data": {}}')
    const sealed = base.import(lines(line('fresh', 'a', {})))
    expect(await sealed.catch((error: unknown) => error)).toMatchObject({ code: 'UNKNOWN_TABLE' })
  })

  test('may declare a table after its objects', async () => {
    await using base = await setupDatabase()
    await base.import(
      lines(
        { realm: 'rlm-public', table: 'todo', id: 'x', data: {} },
        { type: 'schema', tables: { todo: 'code' }, idPrefixes: {} },
      ),
    )
    expect(await base.export()).toContain('"data":{"code":"x","realmId":"rlm-public"')
  })

  test('gives tables the id prefixes they had elsewhere, unless they are taken', async () => {
    await using base = await setupDatabase()
    const tables = { todo: '@id', notes: '@id', other: '@id' }
    await base.import(lines({ type: 'schema', tables, idPrefixes: { todo: 'nts', other: 'rlm' } }))
    const prefixes = (await base.database.read((tx) => tx.tables.list())).map((table) => [
      table.name,
      table.idPrefix,
    ])
    expect(Object.fromEntries(prefixes)).toMatchObject({ realms: 'rlm', todo: 'nts' })
    expect(new Set(prefixes.map(([, prefix]) => prefix)).size).toBe(6)
  })
})

describe('a plain file', () => {
  const target = { table: 'todo', realm: 'rlm-public' }
  const objects = [{ id: 'tdo1' }, { title: 'B' }, { title: 'C', realmId: 'rlm-public' }]

  test.each([
    ['an array', JSON.stringify(objects)],
    ['an array on many lines', JSON.stringify(objects, undefined, 2)],
    ['NDJSON', lines(...objects)],
  ])('may be %s', async (_, text) => {
    await using base = await setupDatabase()
    await base.import('{"schema":{"todo":"@id"}}')
    expect(await base.import(text, { target })).toMatchObject({ objects: 3 })
    const rows = dataOf(await base.export())
    expect(rows).toMatchObject([{ id: 'tdo1' }, { title: 'B' }, { title: 'C' }])
    expect(rows.map(({ realmId }) => realmId)).toEqual(Array(3).fill('rlm-public'))
    expect(rows.slice(1).map(({ id }) => id)).toEqual([
      expect.stringMatching(/^td.{24}lic$/),
      expect.stringMatching(/^td.{24}lic$/),
    ])
  })

  test('may leave it to its objects to name their realm', async () => {
    await using base = await setupDatabase()
    await base.import('{"schema":{"todo":"@id"}}')
    const realms = [{ name: 'A' }, { realmId: 'rlm-b' }]
    await base.import(JSON.stringify(realms), { target: { table: 'realms', realm: null } })
    const rows = [
      { id: 'x', realmId: 'rlm-b' },
      { id: 'y', realmId: 'Eve@example.com' },
    ]
    await base.import(JSON.stringify(rows), { target: { table: 'todo', realm: null } })
    expect(dataOf(await base.export()).map(({ realmId }) => realmId)).toEqual([
      expect.stringMatching(/^rlm.{24}/),
      'rlm-b',
      'rlm-b',
      'eve@example.com',
    ])
  })
})

test('a dry run says what an import would do, and does nothing', async () => {
  await using base = await setupDatabase()
  const before = await base.export()
  const result = await base.import(JSON.stringify(FILE), { isDryRun: true })
  expect(result).toEqual(RESULT)
  expect(await base.export()).toBe(before)
  await expectNothingLeft(base)
})

test('an atomic import is one unit of work, another one many', async () => {
  const rows = Array.from({ length: 5_000 }, (_, n) => ({ id: `k${n}`, text: 'x'.repeat(100) }))
  const revisions: number[] = []
  for (const isAtomic of [true, false]) {
    await using base = await setupDatabase()
    await base.import('{"schema":{"todo":"id, text"}}')
    const revision = await base.database.read((tx) => tx.revision())
    const target = { table: 'todo', realm: 'rlm-public' }
    await base.import(lines(...rows), { isAtomic, target })
    expect(dataOf(await base.export())).toHaveLength(5_000)
    revisions.push((await base.database.read((tx) => tx.revision())) - revision)
  }
  expect(revisions[0]).toBe(1)
  expect(revisions[1]).toBeGreaterThan(3)
})

test('tells how far it is, up to the end', async () => {
  await using base = await setupDatabase()
  await base.import('{"schema":{"todo":"id"}}')
  for (const [isAtomic, isDryRun] of [
    [false, false],
    [true, false],
    [false, true],
  ] as const) {
    const seen: [number, number | null][] = []
    const text = lines(...Array.from({ length: 2_000 }, (_, n) => ({ id: `k${n}` })))
    await base.import(text, {
      target: { table: 'todo', realm: 'rlm-public' },
      isAtomic,
      isDryRun,
      size: text.length,
      progress: (done, total) => seen.push([done, total]),
    })
    const done = seen.map(([bytes]) => bytes)
    expect(done).toEqual(done.toSorted((one, other) => one - other))
    expect(seen.every(([bytes, total]) => total !== null && bytes <= total)).toBe(true)
    expect(seen.at(-1)?.[0]).toBe(seen.at(-1)?.[1] ?? -1)
  }
})

async function permissions(database: Database, subject: string, realmId: string) {
  const actor: Actor = { subject, email: subject, name: null, scopes: new Set(['ACCESS_DB']) }
  return await database.read((tx) => {
    const realm = tx.realms.find(realmId)
    return accessOf(tx, actor).realms.get(realm?.ref ?? -1) ?? []
  })
}

/** Every order that begins with another item. */
function orders<T>(items: readonly T[]): T[][] {
  return items.flatMap((_, n) => {
    const turned = [...items.slice(n), ...items.slice(0, n)]
    return [turned, turned.toReversed()]
  })
}

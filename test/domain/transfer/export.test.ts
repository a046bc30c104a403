import { describe, expect, test } from 'bun:test'
import { removeObject } from '../../../src/domain/object/remove'
import { requireTable } from '../../../src/domain/object/tables'
import { exportDatabase } from '../../../src/domain/transfer/export'
import { readRows } from '../../../src/domain/transfer/rows'
import { refusalOf } from '../../auth/setup'
import { type TestDatabase, dataOf, exportText, lines, objectsOf, setupDatabase } from './setup'
import { ROW_RULES } from '../../../src/domain/rows/row-rules'

const at = (realm: string, table: string, id: string, data = {}) => ({ realm, table, id, data })

async function setupLists(): Promise<TestDatabase> {
  const base = await setupDatabase()
  await base.import(
    lines(
      { type: 'schema', tables: { todo: '@id', notes: 'id', old: 'id' }, sealed: false },
      { type: 'demoUsers', users: { 'ann@demo.local': {} } },
      at('rlm-a', 'todo', 'a1'),
      at('rlm-a', 'notes', 'n1'),
      at('rlm-b', 'todo', 'b1'),
      at('rlm-public', 'old', 'o1'),
      at('rlm-a', 'members', 'm1', { userId: 'ann@demo.local' }),
      at('rlm-public', 'roles', '["rlm-public","boss"]', { permissions: { manage: '*' } }),
      at('rlm-a', 'roles', '["rlm-a","boss"]'),
      at('rlm-b', 'realms', 'rlm-b'),
      at('rlm-a', 'realms', 'rlm-a'),
    ),
  )
  await base.import('{"schema":{"old":null}}')
  return base
}

describe('an export', () => {
  test('has schema and demo users, then realms, roles, members and the other tables', async () => {
    await using base = await setupLists()
    const text = await base.export()
    const [schema = '', users = ''] = text.split('\n')
    expect(JSON.parse(schema)).toEqual({
      type: 'schema',
      tables: { todo: '@id', notes: 'id' },
      idPrefixes: { todo: 'td' },
      sealed: false,
    })
    expect(JSON.parse(users)).toEqual({ type: 'demoUsers', users: { 'ann@demo.local': {} } })
    expect(objectsOf(text)).toEqual([
      'realms rlm-b',
      'realms rlm-a',
      'roles ["rlm-public","boss"]',
      'roles ["rlm-a","boss"]',
      'members m1',
      'todo a1',
      'todo b1',
      'notes n1',
    ])
  })

  test.each([
    [{ realm: 'rlm-a' }, 'realms rlm-a,roles ["rlm-a","boss"],members m1,todo a1,notes n1'],
    [{ table: 'todo' }, 'todo a1,todo b1'],
    [{ realm: 'rlm-b', table: 'todo' }, 'todo b1'],
    [{ realm: 'rlm-c' }, ''],
  ])('may be of %j only', async (selection, objects) => {
    await using base = await setupLists()
    const text = await base.export('ndjson', selection)
    expect(text).toStartWith('{"type":"schema"')
    expect(text).not.toContain('demoUsers')
    expect(objectsOf(text).join()).toBe(objects)
    const { data } = JSON.parse(await base.export('json', selection)) as { data: object }
    const names = Object.values(data).flatMap((tables: Record<string, object>) =>
      Object.entries(tables).flatMap(([table, rows]) =>
        Object.keys(rows).map((id) => `${table} ${id}`),
      ),
    )
    expect(names.toSorted()).toEqual(objectsOf(text).toSorted())
  })

  test('may be of some objects of a table', async () => {
    await using base = await setupDatabase()
    const titles = ['Milk', 'Bread', 'Crème', 'Milk']
    await base.import(
      lines(
        { type: 'schema', tables: { todo: '@id, title', other: '@id' }, sealed: false },
        ...titles.map((title, n) =>
          at(n === 3 ? 'rlm-b' : 'rlm-a', 'todo', `k${n}`, { title, n, done: n > 1 }),
        ),
        at('rlm-b', 'realms', 'rlm-b'),
        at('rlm-a', 'realms', 'rlm-a'),
      ),
    )
    const all = { filter: '', search: '', prefix: '' }
    const cases: readonly (readonly [object, string])[] = [
      [{ filter: 'title=Milk' }, 'todo k0,todo k3'],
      [{ filter: 'done=true&title=Milk' }, 'todo k3'],
      [{ filter: 'realmId=rlm-a&n=1&n=3' }, 'todo k1'],
      [{ search: 'creme' }, 'todo k2'],
      [{ search: 'K1' }, 'todo k1'],
      [{ prefix: 'k3' }, 'todo k3'],
      [{ filter: 'title=Milk', search: 'milk', prefix: 'k0' }, 'todo k0'],
      [{ filter: 'title=None' }, ''],
    ]
    for (const [changes, expected] of cases) {
      const selection = { table: 'todo', choice: { ...all, ...changes } }
      const text = await base.export('ndjson', selection)
      expect([changes, objectsOf(text).join()]).toEqual([changes, expected])
      const { data } = JSON.parse(await base.export('json', selection)) as {
        data: Record<string, Record<string, object>>
      }
      const keys = Object.values(data).flatMap(({ todo = {} }) => Object.keys(todo))
      expect(keys.map((key) => `todo ${key}`).join()).toBe(expected)
    }
    const inRealm = { realm: 'rlm-b', table: 'todo', choice: { ...all, filter: 'title=Milk' } }
    expect(objectsOf(await base.export('ndjson', inRealm))).toEqual(['todo k3'])
    const realms = { table: 'realms', choice: { ...all, search: 'rlm-a' } }
    expect(objectsOf(await base.export('ndjson', realms))).toEqual(['realms rlm-a'])
  })

  test('of some objects has all of them though the index of their filter goes meanwhile', async () => {
    await using base = await setupDatabase()
    const rows = Array.from({ length: 3_000 }, (_, n) =>
      at('rlm-public', 'todo', `k${n}`, { n: 1 }),
    )
    await base.import(lines({ type: 'schema', tables: { todo: '@id, n' }, sealed: false }, ...rows))
    const { database } = base
    const todo = await database.read((tx) => requireTable(tx, 'todo'))
    const choice = { filter: 'n=1', search: '', prefix: '' }
    let count = 0
    for await (const page of readRows(database, todo, choice)) {
      if (count === 0) await base.import('{"schema":{"todo":"@id"}}')
      await base.jobs.idle()
      count += page.rows.length
    }
    expect(count).toBe(3_000)
  })

  test('of a table that is not there or hidden is refused', async () => {
    await using base = await setupLists()
    for (const table of ['nothing', 'old']) {
      expect((await refusalOf(() => base.export('ndjson', { table }))).code).toBe('UNKNOWN_TABLE')
      expect((await refusalOf(() => base.export('json', { table }))).code).toBe('UNKNOWN_TABLE')
    }
  })

  test('has nothing of a realm that is being erased', async () => {
    await using base = await setupLists()
    await base.jobs[Symbol.asyncDispose]()
    await removeObject(base.database, {
      actor: { subject: null, email: null, name: null, scopes: new Set(['GLOBAL_WRITE']) },
      view: 'all',
      table: 'realms',
      key: 'rlm-a',
      now: base.clock.now(),
      rulesByTable: ROW_RULES,
    })
    expect(await base.database.read((tx) => tx.jobs.list())).toHaveLength(1)
    expect(objectsOf(await base.export())).toEqual([
      'realms rlm-b',
      'roles ["rlm-public","boss"]',
      'todo b1',
    ])
    expect(await base.export('json')).not.toContain('rlm-a')
  })

  test('as JSON is an import file', async () => {
    await using base = await setupLists()
    expect(JSON.parse(await base.export('json'))).toEqual({
      $exportMeta: { idPrefixes: { todo: 'td' } },
      schema: { todo: '@id', notes: 'id' },
      sealed: false,
      demoUsers: { 'ann@demo.local': {} },
      roles: { boss: { permissions: { manage: '*' } } },
      data: {
        'rlm-a': {
          realms: { 'rlm-a': { realmId: 'rlm-a', owner: null } },
          roles: { '["rlm-a","boss"]': { realmId: 'rlm-a', name: 'boss', owner: null } },
          members: { m1: { userId: 'ann@demo.local', id: 'm1', realmId: 'rlm-a', owner: null } },
          todo: { a1: { id: 'a1', realmId: 'rlm-a', owner: null } },
          notes: { n1: { id: 'n1', realmId: 'rlm-a', owner: null } },
        },
        'rlm-b': {
          realms: { 'rlm-b': { realmId: 'rlm-b', owner: null } },
          todo: { b1: { id: 'b1', realmId: 'rlm-b', owner: null } },
        },
      },
    })
  })

  test('of an empty database can be imported', async () => {
    await using base = await setupDatabase()
    for (const format of ['ndjson', 'json'] as const) {
      const text = await base.export(format)
      expect(await base.import(text)).toEqual({
        objects: 0,
        deleted: 0,
        demoUsers: 0,
        blobs: 0,
        tables: 0,
        followed: null,
      })
      expect(await base.export(format)).toBe(text)
    }
  })

  test('goes in pieces, and has what is written meanwhile with the realm it is in', async () => {
    await using base = await setupDatabase()
    const many = Array.from({ length: 2_500 }, (_, n) => at('rlm-public', 'todo', `t${n}`))
    await base.import(lines({ type: 'schema', tables: { todo: 'id' } }, ...many))
    let text = ''
    let pieces = 0
    const selection = { realm: null, table: null }
    for await (const piece of exportDatabase(base.database, 'ndjson', selection)) {
      text += piece.text
      pieces += 1
      if (piece.values.length === 0 || text.includes('t2499')) continue
      await base.import(lines(at('rlm-new', 'todo', 'late'), at('rlm-new', 'realms', 'rlm-new')))
    }
    expect(pieces).toBeGreaterThan(4)
    expect(objectsOf(text)).toEqual([
      ...many.map(({ id }) => `todo ${id}`),
      'todo late',
      'realms rlm-new',
    ])
    await using copy = await setupDatabase()
    await copy.import(text)
    expect(dataOf(await exportText(copy.database))).toHaveLength(2_502)
  })
})

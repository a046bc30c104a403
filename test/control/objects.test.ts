import { describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import type { BrowsedObject } from '../../src/domain/object/browse'
import { codeOf, refusalOf } from '../auth/setup'
import { callerWith, type Operations, setupOperations } from './setup'

const STORES = { todoItems: '@id, done, title', pairs: '[a+b]' }
const PUBLIC = { realmId: 'rlm-public' }

async function setupItems(count: number) {
  const server = await setupOperations(STORES)
  for (let n = 0; n < count; n += 1) {
    const value = { id: `k${n}`, ...PUBLIC, done: n % 2 === 0, note: `Note ${n % 10}`, n }
    await server.run('object.put', { table: 'todoItems', value })
  }
  return server
}

/** Imports as many rows as a search reads in several steps; returns them by their keys. */
async function importRows(server: Operations): Promise<Readonly<Record<string, object>>> {
  const rows = Object.fromEntries(
    Array.from({ length: 3_500 }, (_, n) => [`k${n}`, { id: `k${n}`, n }]),
  )
  const file = JSON.stringify({ data: { 'rlm-public': { todoItems: rows } } })
  await server.run('import', {}, undefined, { upload: new Blob([file]).stream() })
  return rows
}

/** The keys of all pages. */
async function keysOf(server: Operations, input: object, limit = 7): Promise<string[]> {
  const keys: string[] = []
  let cursor: string | null = null
  do {
    const emitted: BrowsedObject[] = []
    const emit = async (item: unknown) => void emitted.push(item as BrowsedObject)
    const given = { table: 'todoItems', limit, cursor, ...input }
    const page: { objects: readonly BrowsedObject[]; cursor: string | null } = await server.run(
      'object.list',
      given,
      undefined,
      { emit },
    )
    expect(emitted.length + page.objects.length).toBeLessThanOrEqual(limit)
    for (const { key } of [...emitted, ...page.objects]) keys.push(key)
    ;({ cursor } = page)
  } while (cursor !== null)
  return keys
}

const all = (count: number) => Array.from({ length: count }, (_, n) => `k${n}`)

describe('table.list', () => {
  test('shows tables with their indexes, and counts their objects', async () => {
    await using server = await setupItems(3)
    const tables = await server.run('table.list')
    expect(tables.find(({ name }) => name === 'todoItems')).toMatchObject({
      objects: 3,
      hasMore: false,
      primaryKey: ['id'],
      builtIn: false,
      indexes: [
        { name: 'done', multi: false, state: 'ready' },
        { name: 'title', multi: false, state: 'ready' },
      ],
    })
    expect(tables.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['realms', 'members', 'roles']),
    )
  })
})

describe('object.list', () => {
  test('pages through all objects in each order', async () => {
    await using server = await setupItems(30)
    expect(await keysOf(server, {})).toEqual(all(30))
    expect(await keysOf(server, { newestFirst: true })).toEqual(all(30).toReversed())
    const sorted = all(30).toSorted()
    expect(await keysOf(server, { prefix: 'k' })).toEqual(sorted)
    expect(await keysOf(server, { prefix: 'k2' })).toEqual(
      sorted.filter((key) => key.startsWith('k2')),
    )
  })

  test('filters by an index, by other properties, by realm and by text', async () => {
    await using server = await setupItems(30)
    const where = (claim: (n: number) => boolean) => all(30).filter((_, n) => claim(n))
    for (const newestFirst of [false, true]) {
      const list = async (input: object) => {
        const keys = await keysOf(server, { newestFirst, ...input })
        return newestFirst ? keys.toReversed() : keys
      }
      expect(await list({ filter: 'done=true' })).toEqual(where((n) => n % 2 === 0))
      expect(await list({ filter: 'n=7' })).toEqual(['k7'])
      expect(await list({ filter: 'done=false&note=Note+3' })).toEqual(['k3', 'k13', 'k23'])
      expect(await list({ filter: 'realmId=rlm-public&n=8' })).toEqual(['k8'])
      expect(await list({ filter: 'realmId=rlm-other' })).toEqual([])
      expect(await list({ search: 'NOTE 4' })).toEqual(['k4', 'k14', 'k24'])
      expect(await list({ search: 'k29' })).toEqual(['k29'])
    }
    expect(await keysOf(server, { prefix: 'k1', search: 'note 5' })).toEqual(['k15'])
  })

  test('shows the realm, owner, revision and time of each object', async () => {
    await using server = await setupItems(1)
    const { objects } = await server.run('object.list', { table: 'todoItems' })
    expect(objects).toEqual([
      {
        key: 'k0',
        realmId: 'rlm-public',
        owner: null,
        revision: expect.any(Number),
        updated: server.folder.clock.now(),
        size: expect.any(Number),
        value: expect.objectContaining({ id: 'k0', note: 'Note 0' }),
        cut: [],
        isDamaged: false,
      },
    ])
  })

  test('shows large objects without their large properties, and very large ones without a value', async () => {
    await using server = await setupOperations(STORES)
    await server.run('db.offload', { rule: 'off' })
    const put = (id: string, text: string) =>
      server.run('object.put', { table: 'todoItems', value: { id, ...PUBLIC, n: 1, text } })
    await put('large', 'x'.repeat(20_000))
    await put('larger', 'x'.repeat(2_000_000))
    const { objects } = await server.run('object.list', { table: 'todoItems' })
    expect(objects[0]).toMatchObject({ key: 'large', cut: ['text'], value: { n: 1 } })
    expect(objects[0]?.value).not.toHaveProperty('text')
    expect(objects[1]).toMatchObject({ key: 'larger', value: null })
    const shown = await server.run('object.show', { table: 'todoItems', key: 'larger' })
    expect(shown.value['text']).toHaveLength(2_000_000)
  })

  test('emits the objects of a long search as they are found, with its progress', async () => {
    await using server = await setupOperations(STORES)
    const rows = await importRows(server)
    const emitted: string[] = []
    const seen: number[] = []
    const streams = {
      emit: async (item: unknown) => void emitted.push((item as BrowsedObject).key),
      progress: (done: number) => void seen.push(done),
    }
    const list = (input: object) =>
      server.run('object.list', { table: 'todoItems', ...input }, undefined, streams)
    const { objects, cursor } = await list({ search: '99', limit: 40 })
    expect(emitted.length).toBeGreaterThan(0)
    const found = [...emitted, ...objects.map(({ key }) => key)]
    const expected = Object.keys(rows).filter((key) => key.includes('99'))
    expect(found).toEqual(expected.slice(0, 40))
    expect(seen.length).toBeGreaterThan(1)
    expect(cursor === null).toBe(expected.length <= 40)
  })

  test('ends a search at its next step when its reader is gone', async () => {
    await using server = await setupOperations(STORES)
    await importRows(server)
    const leaving = new AbortController()
    const seen: number[] = []
    const list = (input: object) =>
      server.run('object.list', { table: 'todoItems', ...input }, undefined, {
        signal: leaving.signal,
        progress(done) {
          seen.push(done)
          leaving.abort()
        },
      })
    expect(await codeOf(() => list({ filter: 'none=1' }))).toBe('BUSY')
    expect(seen).toHaveLength(1)
    expect(await codeOf(() => list({ search: 'none' }))).toBe('BUSY')
    expect(seen).toHaveLength(1)
  })

  test('refuses unknown tables, limits and cursors', async () => {
    await using server = await setupItems(1)
    const code = (input: object) =>
      codeOf(() => server.run('object.list', { table: 'todoItems', ...input }))
    expect(await code({ table: 'other' })).toBe('UNKNOWN_TABLE')
    expect(await code({ limit: 0 })).toBe('INVALID_REQUEST')
    expect(await code({ limit: 201 })).toBe('INVALID_REQUEST')
    for (const cursor of ['', 'x', '{}', '[]', '["1"]', '[1,2]', '[1.5]']) {
      expect([cursor, await code({ cursor })]).toEqual([cursor, 'INVALID_REQUEST'])
    }
    expect(await code({ filter: '$limit=1' })).toBe('INVALID_REQUEST')
    expect(await code({ filter: '%E0%A4%A' })).toBe('INVALID_REQUEST')
    expect(await code({ filter: 'a=1&'.repeat(5_000) })).toBe('INVALID_REQUEST')
  })
})

describe('object.put', () => {
  test('shows the object as it was stored', async () => {
    await using server = await setupOperations(STORES)
    const value = { ...PUBLIC, when: { $t: 'Date', v: '2030-01-01T00:00:00.000Z' }, $$x: 1 }
    const made = await server.run('object.put', { table: 'todoItems', value })
    expect(made).toMatchObject({ value, realmId: 'rlm-public' })
    const { key, revision } = made
    expect(key).toStartWith('tdi')
    const changed = { ...made.value, title: 'New' }
    const again = await server.run('object.put', {
      table: 'todoItems',
      key,
      value: changed,
      ifRevision: revision,
    })
    expect(again.value).toEqual(changed)
    expect(again.revision).toBeGreaterThan(revision)
    expect(await server.audited()).toEqual([
      'schema.push done',
      'object.put done',
      'object.put done',
    ])
  })

  test('refuses a stale edit, and says so', async () => {
    await using server = await setupItems(1)
    const edit = (ifRevision: number | null, key = 'k0') => ({
      table: 'todoItems',
      key,
      value: { ...PUBLIC, title: 'Mine' },
      ifRevision,
    })
    const { revision } = await server.run('object.show', { table: 'todoItems', key: 'k0' })
    const audited = await server.audited()
    for (const input of [edit(revision - 1), edit(0), edit(revision, 'gone')]) {
      const refused = await refusalOf(() => server.run('object.put', input))
      expect(refused).toMatchObject({ code: 'CONFLICT', reason: 'revision' })
    }
    expect(await server.audited()).toEqual(audited)
    expect(await keysOf(server, {})).toEqual(['k0'])
    await server.run('object.put', edit(0, 'new'))
    await server.run('object.put', edit(revision))
  })

  test('passes the checks of /all', async () => {
    await using server = await setupOperations(STORES)
    const code = (value: unknown, table = 'todoItems') =>
      codeOf(() => server.run('object.put', { table, value }))
    expect(await code({ id: 'a' })).toBe('UNPROCESSABLE')
    expect(await code([])).toBe('UNPROCESSABLE')
    expect(await code({ id: '\u{0}', ...PUBLIC })).toBe('UNPROCESSABLE')
    expect(await code({ id: 'a', ...PUBLIC, $x: 1 })).toBe('UNPROCESSABLE')
    expect(await code({ id: 'a', realmId: 'rlm-none' })).toBe('UNKNOWN_REALM')
    expect(await code({ id: 'a', ...PUBLIC }, 'other')).toBe('UNKNOWN_TABLE')
    const reader = callerWith('ACCESS_DB', 'GLOBAL_READ')
    const put = () =>
      server.run('object.put', { table: 'todoItems', value: { id: 'a', ...PUBLIC } }, reader)
    expect(await refusalOf(put)).toMatchObject({
      code: 'NOT_AUTHORIZED',
      reason: 'scope GLOBAL_WRITE',
    })
    expect(await keysOf(server, {})).toEqual([])
  })

  test('keeps hostile keys and names as they are', async () => {
    await using server = await setupOperations(STORES)
    const unit = fc.constantFrom(
      '<script>',
      '"',
      '%',
      '_',
      '\u202e',
      '__proto__',
      ' ',
      'é',
      '\u{10ffff}',
      '/',
    )
    const hostile = fc.array(unit, { minLength: 1, maxLength: 4 }).map((parts) => parts.join(''))
    await fc.assert(
      fc.asyncProperty(hostile, hostile, async (key, name) => {
        const value = { id: key, ...PUBLIC, text: name, ...JSON.parse('{"__proto__":{"a":1}}') }
        const stored = await server.run('object.put', { table: 'todoItems', value })
        expect(stored.key).toBe(key)
        expect(Object.hasOwn(stored.value, '__proto__')).toBe(true)
        const shown = await server.run('object.show', { table: 'todoItems', key })
        expect(JSON.stringify(shown)).toBe(JSON.stringify(stored))
        const { objects } = await server.run('object.list', { table: 'todoItems', prefix: key })
        expect(objects[0]?.key).toBe(key)
        await server.run('object.delete', { table: 'todoItems', key, ifRevision: stored.revision })
      }),
      { numRuns: 30, seed: 20300101 },
    )
    expect(await keysOf(server, {})).toEqual([])
  })

  test('finds compound keys by their JSON', async () => {
    await using server = await setupOperations(STORES)
    await server.run('object.put', { table: 'pairs', value: { a: 'x', b: 1, ...PUBLIC } })
    const shown = await server.run('object.show', { table: 'pairs', key: '["x", 1]' })
    expect(shown.key).toBe('["x",1]')
    const wrong = () => server.run('object.show', { table: 'pairs', key: 'x' })
    expect(await codeOf(wrong)).toBe('INVALID_REQUEST')
  })
})

describe('object.delete', () => {
  test('removes an object, unless it was changed meanwhile', async () => {
    await using server = await setupItems(2)
    const remove = (key: string, ifRevision: number | null = null) =>
      server.run('object.delete', { table: 'todoItems', key, ifRevision })
    const { revision } = await server.run('object.show', { table: 'todoItems', key: 'k0' })
    expect(await codeOf(() => remove('k0', revision + 1))).toBe('CONFLICT')
    expect(await keysOf(server, {})).toEqual(['k0', 'k1'])
    await remove('k0', revision)
    await remove('k1')
    expect(await codeOf(() => remove('k1'))).toBe('UNKNOWN_OBJECT')
    expect((await server.audited()).slice(-2)).toEqual(['object.delete done', 'object.delete done'])
  })
})

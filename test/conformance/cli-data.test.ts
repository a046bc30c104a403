import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Answer as SyncAnswer } from '../domain/sync/setup'
import { type Caller, callerOf, objectsOf } from '../http/setup'
import { setupServer, type TestServer } from '../setup'
import { type DexieCloud, listCommands, setupDexieCloud } from './dexie-cloud'

/**
 * conformance.md 56–65: the commands of the published `dexie-cloud` 3.0.7 that move data, run by Node.js
 * against one server. The tests follow each other: a file is imported, exported and cleared.
 */

const BOB = 'bob@example.com'
const FOO = 'foo@demo.local'

let server: TestServer
let alice: DexieCloud
/** The address of the database. */
let db = ''

beforeAll(async () => {
  server = await setupServer()
  db = server.main
  alice = connected(server)
})

afterAll(async () => {
  alice[Symbol.dispose]()
  await server[Symbol.asyncDispose]()
})

/** The client in a folder with the key of the first client of a server. */
function connected({ main, client }: TestServer): DexieCloud {
  const cli = setupDexieCloud()
  cli.write('dexie-cloud.json', JSON.stringify({ dbUrl: main }))
  cli.write('dexie-cloud.key', JSON.stringify({ [main]: client }))
  return cli
}

async function caller(scopes = ['ACCESS_DB', 'GLOBAL_READ', 'GLOBAL_WRITE', 'MANAGE_DB']) {
  return callerOf(db, await server.token({ scopes }))
}

/** The imported demo user, who needs no code. */
async function foo(): Promise<Caller> {
  const demo = { grant_type: 'demo', demo_user: FOO, scopes: ['ACCESS_DB'] }
  const { status, body } = await callerOf(db).post('/token', demo)
  expect(status).toBe(200)
  return callerOf(db, (body as { accessToken: string }).accessToken)
}

/** The rows and the names of tables that a client receives, at first or after an answer that it has. */
async function sync(user: Caller, tables: readonly string[], last?: SyncAnswer) {
  const marked = { markedForSync: true, initiallySynced: last !== undefined }
  const body = JSON.stringify({
    v: 3,
    clientIdentity: 'UebGj3YD7M35H75CKtI6xQ==',
    schema: Object.fromEntries(tables.map((name) => [name, marked])),
    baseRevs: [],
    changes: [],
    y: [],
    dxcv: '4.4.14',
    ...(last === undefined ? {} : { lastPull: last }),
  })
  const headers = { 'content-type': 'application/tson' }
  const answer = (await user.send('POST', '/sync', { body, headers })).body as SyncAnswer
  const { serverRevision, realms, inviteRealms } = answer
  const rows = answer.changes.flatMap(({ table, muts }) =>
    muts.flatMap(({ type, keys }) => keys.map((key) => `${type} ${table} ${key}`)),
  )
  const names = Object.keys(answer.schema).filter((name) => answer.schema[name]?.initiallySynced)
  return { rows, names, last: { serverRevision, realms, inviteRealms } as SyncAnswer }
}

const FILE = {
  schema: { items: '@id, title', notes: 'id' },
  sealed: true,
  demoUsers: { [FOO]: {} },
  roles: { editor: { displayName: 'Editor', description: '', permissions: { manage: '*' } } },
  data: {
    'rlm-public': {
      items: { itm1: { title: 'One', when: { $t: 'Date', v: '2030-01-01T00:00:00.000Z' } } },
    },
    [FOO]: { notes: { n1: { $$x: 1 } } },
  },
}

describe('dexie-cloud import', () => {
  test('57, 58, 65: a JSON file with every section', async () => {
    alice.write('file.json', JSON.stringify(FILE))
    const { text } = await alice.run(['import', 'file.json'])
    expect(text).toContain('Import complete!')
    const root = await caller()
    expect(objectsOf(await root.get('/all/items'))).toEqual([
      { id: 'itm1', ...FILE.data['rlm-public'].items.itm1, realmId: 'rlm-public', owner: null },
    ])
    expect(objectsOf(await root.get('/all/notes'))).toMatchObject([
      { id: 'n1', $$x: 1, realmId: FOO },
    ])
    expect(objectsOf(await root.get('/all/roles'))).toMatchObject([{ name: 'editor' }])
    const { rows } = await sync(await foo(), ['items', 'notes', 'roles'])
    expect(rows).toEqual(
      expect.arrayContaining([
        'upsert items itm1',
        'upsert notes n1',
        expect.stringMatching(/^upsert roles /),
      ]),
    )
  })

  test('57: null deletes, and everything else stays', async () => {
    const root = await caller()
    const data = { 'rlm-public': { items: { itm1: null, itm2: { title: 'Two' } } } }
    const type = { 'content-type': 'application/x-tson' }
    const imported = await root.send('POST', '/import', {
      body: JSON.stringify({ data }),
      headers: type,
    })
    expect(imported.body).toMatchObject({ ok: true, objects: 1, deleted: 1 })
    expect(objectsOf(await root.get('/all/items')).map(({ id }) => id)).toEqual(['itm2'])
    expect(objectsOf(await root.get('/all/notes'))).toHaveLength(1)
  })

  test('59: a table that nothing declares is declared, unless the database is sealed', async () => {
    const root = await caller()
    const send = (body: object) =>
      root.send('POST', '/import', {
        body: JSON.stringify(body),
        headers: { 'content-type': 'application/x-tson' },
      })
    const data = { 'rlm-public': { fresh: { f1: { name: 'F', id: 'f1' } } } }
    expect((await sync(await foo(), ['items', 'learnt'])).names).not.toContain('learnt')
    expect(await send({ data })).toMatchObject({ status: 404, body: { code: 'UNKNOWN_TABLE' } })
    expect((await send({ sealed: false })).status).toBe(200)
    expect((await sync(await foo(), ['items', 'learnt'])).names).toContain('learnt')
    expect((await send({ data })).status).toBe(200)
    expect(objectsOf(await root.get('/all/fresh'))).toMatchObject([{ id: 'f1', name: 'F' }])
    expect(await root.get('/all/nothing')).toMatchObject({
      status: 404,
      body: { message: expect.stringContaining('satchel schema push') as string },
    })
  })

  test('refuses bodies that are no file, and tokens that may not declare tables', async () => {
    const root = await caller()
    const send = (body: string | Uint8Array, headers: Record<string, string> = {}) =>
      root.send('POST', '/import/stream', {
        body,
        headers: { 'content-type': 'application/x-ndjson', ...headers },
      })
    expect(await send('not a file')).toMatchObject({ status: 400 })
    expect(await send('not gzip', { 'content-encoding': 'gzip' })).toMatchObject({ status: 400 })
    expect(await send('{}', { 'content-encoding': 'br' })).toMatchObject({ status: 415 })
    // 100 MB in 100 KB: a part of a file is bounded, whatever it is packed in.
    const line = Buffer.alloc(100_000_000, 'a')
    line.write('{"table":"')
    const bomb = Bun.gzipSync(line)
    expect(await send(bomb, { 'content-encoding': 'gzip' })).toMatchObject({ status: 413 })
    expect(await send(bomb.subarray(0, 50_000), { 'content-encoding': 'gzip' })).toMatchObject({
      status: 400,
    })
    const few = await caller(['ACCESS_DB', 'GLOBAL_WRITE'])
    expect(await few.send('POST', '/import', { body: '{}' })).toMatchObject({ status: 403 })
  })
})

describe('dexie-cloud export', () => {
  test('60, 63: a zip goes into another database with its blobs', async () => {
    const root = await caller()
    const bytes = new Uint8Array(5_000).fill(7)
    const put = await root.send('PUT', '/blob/b1?ct=image%2Fpng', { body: bytes })
    const { ref } = put.body as { ref: string }
    await root.post('/all/items', {
      id: 'itm3',
      realmId: 'rlm-public',
      file: { _bt: 'Blob', ref, size: 5_000, ct: 'image/png' },
    })
    const exported = await alice.run(['export', 'all.zip'])
    expect(exported.text).toContain('to all.zip')

    await using second = await setupServer()
    const { main } = second
    using other = connected(second)
    const imported = await other.run(['import', join(alice.folder, 'all.zip')])
    expect(imported.text).toContain('Importing blobs.dcbl')
    expect(imported.text).toContain('Import complete!')
    const copy = callerOf(main, await second.token())
    for (const path of ['/all/items', '/all/notes', '/all/fresh', '/all/roles']) {
      expect((await copy.get(path)).text).toBe((await root.get(path)).text)
    }
    const blob = await fetch(`${main}/blob/${ref}`)
    expect(blob.headers.get('content-type')).toBe('image/png')
    expect(await blob.bytes()).toEqual(bytes)
  })

  test('60: the blobs and Yjs documents of Dexie Cloud are named, and the rest is imported', async () => {
    const root = await caller()
    const at = { headers: { 'content-type': 'application/octet-stream' } }
    const blobs = await root.send('POST', '/import/blobs', { ...at, body: 'DCBL, not a zip' })
    expect(blobs).toMatchObject({ status: 400 })
    expect(blobs.text).toContain('remove it from the zip')
    const documents = await root.send('POST', '/import/yjs', { ...at, body: 'DCYJ' })
    expect(documents).toMatchObject({ status: 404 })
    expect(documents.text).toContain('remove yjs.dcyj from the zip')
  })

  test('61: --schema, --roles and --demoUsers write files that can be imported', async () => {
    await alice.run(['export', 'schema.json', '--schema'])
    expect(alice.json('schema.json')).toEqual({
      schema: { items: '@id, title', notes: 'id', fresh: 'id' },
      sealed: false,
    })
    await alice.run(['export', 'roles.json', '--roles'])
    expect(alice.json('roles.json')).toEqual({ roles: FILE.roles })
    await alice.run(['export', 'users.json', '--demoUsers'])
    expect(alice.json('users.json')).toEqual({ demoUsers: { [FOO]: {} } })
    const root = await caller()
    for (const name of ['schema.json', 'roles.json', 'users.json']) {
      const headers = { 'content-type': 'application/x-tson' }
      expect(await root.send('POST', '/import', { body: alice.read(name), headers })).toMatchObject(
        { status: 200 },
      )
    }
  })

  test('62, 64: --legacy is one JSON file, and --realmId and --table choose', async () => {
    await alice.run(['export', 'old.json', '--legacy', '--realmId', FOO])
    const old = alice.json('old.json')
    expect(Object.keys(old['data'] as object)).toEqual([FOO])
    const root = await caller()
    const lines = async (query: string) => {
      const { headers, text } = await readText(root, `/export/stream${query}`)
      expect(headers.get('content-type')).toContain('application/x-ndjson')
      return text
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as Record<string, unknown>)
    }
    const types = (await lines('')).map(({ type, table }) => String(type ?? table))
    expect(types.slice(0, 3).toSorted()).toEqual(['demoUsers', 'roles', 'schema'])
    expect((await lines('?table=items')).filter(({ table }) => table !== undefined)).toHaveLength(2)
    expect((await lines('?realmId=rlm-none')).filter(({ table }) => table !== undefined)).toEqual(
      [],
    )
    expect(await root.get('/export/stream?table=none')).toMatchObject({ status: 404 })
    expect((await root.get('/export')).body).toMatchObject({
      sealed: false,
      demoUsers: { [FOO]: {} },
    })
    expect((await root.get('/export/yjs')).status).toBe(404)
    const few = await caller(['ACCESS_DB'])
    expect((await few.get('/export')).status).toBe(403)
  })
})

async function readText({ token }: Caller, path: string) {
  const response = await fetch(db + path, { headers: { authorization: `Bearer ${token}` } })
  return { headers: response.headers, text: await response.text() }
}

describe('dexie-cloud clear-table', () => {
  test('56: deletes the objects of a table, on devices too', async () => {
    const [user, tables] = [await foo(), ['items', 'notes']]
    const { last } = await sync(user, tables)
    const cleared = await alice.run(['clear-table', 'items', '--yes'])
    expect(cleared.text).toContain('Deleted 2 object(s).')
    expect((await sync(user, tables, last)).rows.toSorted()).toEqual([
      'delete items itm2',
      'delete items itm3',
    ])
    const root = await caller()
    expect((await root.get('/all/items')).text).toBe('[]')
    expect(await root.post('/clear-table', { table: 'none' })).toMatchObject({ status: 404 })
    const few = await caller(['ACCESS_DB', 'MANAGE_DB'])
    expect((await few.post('/clear-table', { table: 'notes' })).status).toBe(403)
  })
})

describe('dexie-cloud clear-realm', () => {
  test('56: deletes the objects of a realm with its members, on devices too', async () => {
    const root = await caller()
    await root.post('/all/realms', { realmId: 'rlmTeam', name: 'Team', owner: FOO })
    await root.post('/all/members', { realmId: 'rlmTeam', userId: FOO })
    await root.post('/all/members', { realmId: 'rlmTeam', email: BOB })
    await root.post('/all/notes', { id: 'n2', realmId: 'rlmTeam' })
    const [user, tables] = [await foo(), ['items', 'notes']]
    const { last, rows } = await sync(user, tables)
    expect(rows).toContain('upsert notes n2')
    expect((await alice.run(['clear-realm', 'rlmTeam', '--yes'])).exitCode).toBe(0)
    expect((await sync(user, tables, last)).rows).toContain('delete notes n2')
    expect(objectsOf(await root.get('/all/notes')).map(({ id }) => id)).toEqual(['n1'])
    expect(objectsOf(await root.get('/all/realms'))).toHaveLength(1)
    expect(objectsOf(await root.get('/all/members'))).toMatchObject([{ userId: FOO }])
    expect(await root.post('/clear-realm', { realmId: 'rlmNone' })).toMatchObject({ status: 422 })
    const few = await caller(['ACCESS_DB', 'MANAGE_DB'])
    expect((await few.post('/clear-realm', { realmId: 'rlmTeam' })).status).toBe(403)
  })
})

test('every command of its help has tests, and is in the guide', async () => {
  const commands = (await listCommands()).toSorted()
  const sources = ['cli.test.ts', 'cli-data.test.ts'].map((name) =>
    readFileSync(join(import.meta.dir, name), 'utf8'),
  )
  const described = sources.flatMap((source) => [
    ...source.matchAll(/^describe\('dexie-cloud ((?:templates )?[\w-]+)/gm),
  ])
  const guide = readFileSync(join(import.meta.dir, '../../docs/dexie-cloud-cli.md'), 'utf8')
  const shown = [...guide.matchAll(/^npx dexie-cloud ((?:templates )?[\w-]+)/gm)]
  for (const found of [described, shown]) {
    const names = new Set(found.map(([, command = '']) => command))
    expect([...names].toSorted()).toEqual(commands)
  }
})

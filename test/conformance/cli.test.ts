import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Caller, callerOf, objectsOf } from '../http/setup'
import { setupServer, type TestServer } from '../setup'
import { COMMANDS_RUN, type DexieCloud, login, mailsTo, setupDexieCloud } from './dexie-cloud'

/**
 * conformance.md 43–67: every command of the published `dexie-cloud` 3.0.7, run by Node.js against one
 * server. The tests follow each other: a database is created, used and deleted.
 */

const ALICE = 'alice@example.com'
const BOB = 'bob@example.com'
const FOO = 'foo@demo.local'
const ALL_SCOPES = 6

setDefaultTimeout(60_000)

let server: TestServer
/** Two folders: of the creator of the database and of another manager. */
let alice: DexieCloud
let bob: DexieCloud
/** The address of the created database. */
let db = ''

beforeAll(async () => {
  server = await setupServer({ maxDatabases: 3 })
  alice = setupDexieCloud()
  bob = setupDexieCloud()
})

afterAll(async () => {
  alice[Symbol.dispose]()
  bob[Symbol.dispose]()
  await server[Symbol.asyncDispose]()
})

const keyOf = (cli: DexieCloud, url = db) => cli.json('dexie-cloud.key')[url] as Key | undefined

interface Key {
  readonly clientId: string
  readonly clientSecret: string
}

/** A token of the key in a folder, or of another one. */
async function tokenOf(key = keyOf(alice), scopes: readonly string[] = [], claims?: object) {
  const { status, body } = await callerOf(db).post('/token', {
    grant_type: 'client_credentials',
    client_id: key?.clientId,
    client_secret: key?.clientSecret,
    scopes,
    ...(claims === undefined ? {} : { claims }),
  })
  return { status, ...(body as { accessToken: string; scope: string; alerts?: object[] }) }
}

async function caller(scopes = ['ACCESS_DB', 'GLOBAL_READ', 'GLOBAL_WRITE', 'MANAGE_DB']) {
  return callerOf(db, (await tokenOf(keyOf(alice), scopes)).accessToken)
}

interface ListedClient {
  readonly id: string
  readonly email: string
  readonly emailVerified: boolean
  readonly scopes: readonly string[]
}

const clients = async (root?: Caller) =>
  (await (root ?? (await caller())).get('/clients')).body as ListedClient[]

describe('dexie-cloud create', () => {
  test('43: makes a database and stores the key of its first client, which has all scopes', async () => {
    const created = await alice.run(
      ['create', '--service', `${server.url}/service`],
      login(server, ALICE),
    )
    expect(created.text).toContain('Successfully created new database!')
    expect(created.exitCode).toBe(0)
    const config = alice.json('dexie-cloud.json')
    db = String(config['dbUrl'])
    expect(db).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/z[a-z2-9]{8}$/)
    expect(config['serviceUrl']).toBe(`${server.url}/service`)
    const { scope } = await tokenOf(keyOf(alice), [
      'ACCESS_DB',
      'IMPERSONATE',
      'MANAGE_DB',
      'GLOBAL_READ',
      'GLOBAL_WRITE',
      'DELETE_DB',
    ])
    expect(scope.split(' ')).toHaveLength(ALL_SCOPES)
  })

  test('44: is refused in words when the server has as many databases as it may have', async () => {
    using another = setupDexieCloud()
    await callCreate(server.url)
    const refused = await another.run(['create', '--service', server.url], login(server, BOB))
    expect(refused.text).toContain('This server has 3 databases')
    expect(refused.exitCode).not.toBe(0)
  })
})

/** What `create` calls, at the address without `/service`. */
async function callCreate(service: string): Promise<void> {
  const http = callerOf(service)
  const grant = { grant_type: 'otp', scopes: ['CREATE_DB'] }
  const sent = await http.post('/token', { ...grant, email: ALICE })
  const { otp_id } = sent.body as { otp_id: string }
  const { otp } = mailsTo(server, ALICE).at(-1)?.variables ?? {}
  const given = await http.post('/token', { ...grant, email: ALICE, otp_id, otp })
  const { accessToken } = given.body as { accessToken: string }
  const created = await callerOf(service, accessToken).post('/create-db', { timeZone: 'UTC' })
  expect(created.body).toMatchObject({
    url: expect.stringContaining(service),
    clientId: expect.any(String),
  })
  // The token was good once.
  expect((await callerOf(service, accessToken).post('/create-db', {})).status).toBe(401)
}

describe('dexie-cloud authorize, connect and clients', () => {
  test('45: an address that nobody has authorised gets a code, and no key', async () => {
    const refused = await bob.run(['connect', db], login(server, BOB))
    expect(refused.text).toContain('No client of this database belongs to this address')
    expect(mailsTo(server, BOB).at(-1)?.variables.notice).toContain('will not log you in')
    expect(refused.exitCode).not.toBe(0)
  })

  test('52, 53: an authorised address is listed as not verified', async () => {
    const authorised = await alice.run(['authorize', BOB, '--scopes', 'ACCESS_DB,MANAGE_DB'])
    expect(authorised.text).toContain(`Successfully authorized ${BOB}`)
    const listed = await alice.run(['clients'])
    expect(listed.text).toContain(BOB)
    expect((await clients()).toSorted((a, b) => (a.email < b.email ? -1 : 1))).toEqual([
      {
        id: keyOf(alice)?.clientId ?? '',
        email: ALICE,
        emailVerified: true,
        scopes: expect.any(Array) as never,
      },
      {
        id: expect.any(String) as never,
        email: BOB,
        emailVerified: false,
        scopes: ['ACCESS_DB', 'MANAGE_DB'],
      },
    ])
  })

  test('45, 47: connects with a code, and again without one', async () => {
    const connected = await bob.run(['connect', db], login(server, BOB))
    expect(connected.text).toContain(`Current database is now ${db}`)
    expect((await clients()).map(({ emailVerified }) => emailVerified)).toEqual([true, true])
    const again = await bob.run(['connect', db])
    expect(again.exitCode).toBe(0)
    expect((await tokenOf(keyOf(bob), ['MANAGE_DB'])).scope).toBe('MANAGE_DB')
    // A person who only manages the database is no user of it.
    expect((await (await caller()).get('/users')).body).toMatchObject({ data: [] })
  })

  test('49: a client can authorise others for what it may do itself, and no more', async () => {
    const { accessToken } = await tokenOf(keyOf(bob), ['MANAGE_DB'])
    const manager = callerOf(db, accessToken)
    const add = (scopes: readonly string[]) =>
      manager.post('/clients/add', { email: 'eve@example.com', scopes })
    expect(await add(['GLOBAL_WRITE'])).toMatchObject({
      status: 400,
      body: { code: 'INVALID_SCOPE' },
    })
    const own = keyOf(alice)?.clientId
    expect(await manager.post('/clients/rotate', { clientId: own })).toMatchObject({ status: 403 })
    expect(await clients()).toHaveLength(2)
  })

  test('53: a service account gets its key at once', async () => {
    const args = [
      'authorize',
      'ci@example.com',
      '--service-account',
      '--stdout',
      '--scopes',
      'ACCESS_DB',
    ]
    const { text } = await alice.run(args)
    const printed = JSON.parse(text.slice(text.indexOf('{'), text.lastIndexOf('}') + 1)) as Record<
      string,
      never
    >
    expect(await tokenOf(printed[db], ['ACCESS_DB'])).toMatchObject({
      status: 200,
      scope: 'ACCESS_DB',
    })
    const service = (await clients()).filter(({ email }) => email === 'ci@example.com')
    expect(service).toMatchObject([{ scopes: ['ACCESS_DB'] }])
  })
})

describe('dexie-cloud reconnect', () => {
  test('46: needs a client that waits for the address', async () => {
    const before = keyOf(bob)
    const refused = await bob.run(['reconnect'], login(server, BOB))
    expect(refused.text).toContain('No new client waits for this address')
    const root = await caller()
    await root.post('/clients/add', { email: BOB, scopes: ['MANAGE_DB'] })
    const renewed = await bob.run(['reconnect'], login(server, BOB))
    expect(renewed.text).toContain(`Reconnected to ${db} with a new API client`)
    expect(keyOf(bob)?.clientId).not.toBe(before?.clientId ?? '')
  })
})

describe('dexie-cloud databases', () => {
  test('lists the databases with a key', async () => {
    const { text } = await alice.run(['databases'])
    expect(text).toContain(`${db}\t<--current`)
  })
})

describe('dexie-cloud rotate', () => {
  test('55, 50: the new key is stored, the old one expires, and an expired one leads to a login', async () => {
    const old = keyOf(bob)
    const rotated = await bob.run(['rotate', '--days', '1'])
    expect(rotated.text).toContain(
      `Old client: ${old?.clientId}; expires: 2030-01-02T12:00:00.000Z`,
    )
    expect((await tokenOf(old)).status).toBe(200)
    expect((await tokenOf(keyOf(bob), ['MANAGE_DB'])).scope).toBe('MANAGE_DB')
    server.clock.advance(86_400_000)
    expect(await tokenOf(old)).toMatchObject({
      status: 401,
      message: expect.stringContaining('expired'),
    })
    bob.write('dexie-cloud.key', JSON.stringify({ [db]: old }))
    const recovered = await bob.run(['whitelist'], login(server, BOB))
    expect(recovered.text).toContain('Local API client key has expired. Starting OTP recovery')
    expect(recovered.exitCode).toBe(0)
  })

  test('55: clients rotate replaces the key of a service account', async () => {
    const service = (await clients()).find(({ email }) => email === 'ci@example.com')
    const { text } = await alice.run(['clients', 'rotate', service?.id ?? '', '--out', 'ci.key'])
    expect(text).toContain(`Old client: ${service?.id}`)
    const renewed = alice.json('ci.key')[db] as Key
    expect(await tokenOf(renewed, ['ACCESS_DB'])).toMatchObject({ scope: 'ACCESS_DB' })
  })
})

describe('dexie-cloud unauthorize and revoke', () => {
  test('54: end the clients of an address, and single ones, but not the last one with all scopes', async () => {
    const ended = await tokenOf(keyOf(bob), ['MANAGE_DB'])
    const gone = await alice.run(['unauthorize', BOB])
    expect(gone.exitCode).toBe(0)
    expect((await clients()).some(({ email }) => email === BOB)).toBe(false)
    expect((await callerOf(db, ended.accessToken).get('/clients')).status).toBe(401)
    const service = (await clients()).findLast(({ email }) => email === 'ci@example.com')
    expect((await alice.run(['revoke', service?.id ?? ''])).text).toContain('Successfully revoked')
    const root = await caller()
    expect((await root.post('/clients/delete', { client_id: 'none' })).body).toEqual({
      ok: true,
      numClients: 0,
    })
    expect(await root.post('/clients/delete', { email: ALICE })).toMatchObject({ status: 409 })
    expect((await tokenOf()).status).toBe(200)
  })
})

describe('dexie-cloud whitelist', () => {
  test('51: adds, lists and removes origins; http beyond this machine needs --force', async () => {
    expect((await alice.run(['whitelist', 'https://app.example.com'])).text).toContain(
      'Added 1 origins',
    )
    expect((await alice.run(['whitelist'])).text).toContain('https://app.example.com')
    const root = await caller()
    expect((await root.post('/whitelist', { origin: 'https://app.example.com' })).body).toBe(0)
    expect(await root.post('/whitelist', { origin: 'http://app.example.com' })).toMatchObject({
      status: 422,
    })
    const forced = await root.post('/whitelist', {
      origin: 'http://app.example.com',
      force: 'true',
    })
    expect(forced.body).toBe(1)
    expect((await alice.run(['whitelist', 'https://app.example.com', '-D'])).text).toContain(
      'Removed 1 origins',
    )
    expect((await root.post('/whitelist', {})).body).toEqual(['http://app.example.com'])
  })
})

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
    const demo = { grant_type: 'demo', demo_user: FOO, scopes: ['ACCESS_DB'] }
    expect((await callerOf(db).post('/token', demo)).status).toBe(200)
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
    expect(await send({ data })).toMatchObject({ status: 404, body: { code: 'UNKNOWN_TABLE' } })
    expect((await send({ sealed: false })).status).toBe(200)
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

    using other = setupDexieCloud()
    const main = server.main
    other.write('dexie-cloud.json', JSON.stringify({ dbUrl: main }))
    other.write('dexie-cloud.key', JSON.stringify({ [main]: server.client }))
    const imported = await other.run(['import', join(alice.folder, 'all.zip')])
    expect(imported.text).toContain('Importing blobs.dcbl')
    expect(imported.text).toContain('Import complete!')
    const copy = callerOf(main, await server.token())
    for (const path of ['/all/items', '/all/notes', '/all/fresh', '/all/roles']) {
      expect((await copy.get(path)).text).toBe((await root.get(path)).text)
    }
    const blob = await fetch(`${main}/blob/${ref}`)
    expect(blob.headers.get('content-type')).toBe('image/png')
    expect(await blob.bytes()).toEqual(bytes)
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

describe('dexie-cloud clear-table and clear-realm', () => {
  test('56: delete the objects of a table, and those of a realm with its members', async () => {
    const cleared = await alice.run(['clear-table', 'items', '--yes'])
    expect(cleared.text).toContain('Deleted 2 object(s).')
    const root = await caller()
    expect((await root.get('/all/items')).text).toBe('[]')
    await root.post('/all/realms', { realmId: 'rlmTeam', name: 'Team', owner: FOO })
    await root.post('/all/members', { realmId: 'rlmTeam', userId: FOO })
    await root.post('/all/members', { realmId: 'rlmTeam', email: BOB })
    await root.post('/all/notes', { id: 'n2', realmId: 'rlmTeam' })
    expect((await alice.run(['clear-realm', 'rlmTeam', '--yes'])).exitCode).toBe(0)
    expect(objectsOf(await root.get('/all/notes')).map(({ id }) => id)).toEqual(['n1'])
    expect(objectsOf(await root.get('/all/realms'))).toHaveLength(1)
    expect(objectsOf(await root.get('/all/members'))).toMatchObject([{ userId: FOO }])
    expect(await root.post('/clear-table', { table: 'none' })).toMatchObject({ status: 404 })
    expect(await root.post('/clear-realm', { realmId: 'rlmNone' })).toMatchObject({ status: 422 })
    const few = await caller(['ACCESS_DB', 'MANAGE_DB'])
    expect((await few.post('/clear-table', { table: 'notes' })).status).toBe(403)
  })
})

describe('dexie-cloud templates', () => {
  test('66: pull, push, test-send and reset', async () => {
    expect((await alice.run(['templates', 'pull'])).text).toContain('otp-subject.handlebars')
    const subject = 'dexie-cloud/email-templates/otp-subject.handlebars'
    alice.write(subject, 'Ours: {{{otp}}}\n')
    expect((await alice.run(['templates', 'push'])).text).toContain(
      'Number of updated templates: 1',
    )
    const sent = await alice.run(['templates', 'test-send', 'otp'])
    expect(sent.text).toContain(`using your local testdata to ${ALICE}`)
    expect(mailsTo(server, ALICE).at(-1)?.subject).toBe('Ours: ABCD1234')
    expect((await alice.run(['templates', 'reset'])).text).toContain('needed reset: 1.')
    const root = await caller()
    const files = (await root.get('/templates/pull')).body as { path: string; content: string }[]
    expect(
      files.find(({ path }) => path.endsWith('otp-subject.handlebars'))?.content,
    ).not.toContain('Ours')
    const push = (path: string, content: string) =>
      root.post('/templates/push', [{ path, content }])
    expect(await push('email-templates/otp-body-txt.handlebars', 'no code')).toMatchObject({
      status: 422,
    })
    expect(await push('email-templates/otp-testdata.json', '[]')).toMatchObject({ status: 422 })
    expect((await push('web-templates/x.html', 'x')).body).toEqual({
      ok: true,
      numUpdatedTemplates: 0,
    })
  })
})

describe('dexie-cloud delete and undelete', () => {
  test('67: a deleted database is served with a warning until it is undeleted', async () => {
    const deleted = await alice.run(['delete', db, '--yes'])
    expect(deleted.text).toContain(
      'is marked for deletion. Until 2030-02-01 it is served with a warning',
    )
    const warned = await alice.run(['whitelist'])
    expect(warned.text).toContain('WARNING: This database is marked for deletion on 2030-02-01.')
    expect((await tokenOf()).alerts).toMatchObject([
      { type: 'warning', messageCode: 'DATABASE_DELETED' },
    ])
    const restored = await alice.run(['undelete', db])
    expect(restored.text).toContain('is not deleted any more')
    expect((await tokenOf()).alerts).toBeUndefined()
  })

  test('67: --hard removes it at once, with everything', async () => {
    const few = await caller(['MANAGE_DB'])
    expect((await few.post('/delete-db', { hard: true })).status).toBe(403)
    const { text } = await alice.run(['delete', db, '--yes', '--hard'])
    expect(text).toContain('is deleted')
    expect(alice.json('dexie-cloud.json')['dbUrl']).toBeUndefined()
    expect((await callerOf(db).get('/public/items')).status).toBe(404)
  })
})

test('the guide has every command, and every command of the guide was run', () => {
  const guide = readFileSync(join(import.meta.dir, '../../docs/dexie-cloud-cli.md'), 'utf8')
  const shown = [...guide.matchAll(/^npx dexie-cloud ((?:templates )?[\w-]+)/gm)].map(
    ([, command = '']) => command,
  )
  expect(new Set(shown)).toEqual(COMMANDS_RUN)
})

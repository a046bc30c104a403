import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Caller, callerOf } from '../http/setup'
import { setupServer, type TestServer } from '../setup'
import { type DexieCloud, login, mailsTo, setupDexieCloud } from './dexie-cloud'

/**
 * conformance.md 43–55, 66, 67: the published `dexie-cloud` 3.0.7, run by Node.js against one server in
 * test mode, from whose mailbox the codes come. The tests follow each other: a database is created, its
 * managers and templates change, and it is deleted.
 */

const ALICE = 'alice@example.com'
const BOB = 'bob@example.com'
const EVE = 'eve@example.com'
const ALL_SCOPES = 6

let server: TestServer
/** Two folders: of the creator of the database and of another manager. */
let alice: DexieCloud
let bob: DexieCloud
/** The address of the created database. */
let db = ''

beforeAll(async () => {
  server = await setupServer({ memory: true, test: true, maxDatabases: 3 })
  alice = setupDexieCloud()
  bob = setupDexieCloud()
})

afterAll(async () => {
  alice[Symbol.dispose]()
  bob[Symbol.dispose]()
  await server[Symbol.asyncDispose]()
})

/** The name of the created database, which has a mailbox of its own. */
const database = () => new URL(db).pathname.slice(1)

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
  const [mail] = await mailsTo(server, ALICE)
  const given = await http.post('/token', { ...grant, email: ALICE, otp_id, otp: mail?.otp })
  const { accessToken } = given.body as { accessToken: string }
  const created = await callerOf(service, accessToken).post('/create-db', { timeZone: 'UTC' })
  expect(created.body).toMatchObject({
    url: expect.stringContaining(service),
    clientId: expect.any(String),
  })
  // The token was good once.
  expect((await callerOf(service, accessToken).post('/create-db', {})).status).toBe(401)
}

describe('dexie-cloud authorize', () => {
  test('53: names an address, which has no key yet', async () => {
    const authorised = await alice.run(['authorize', BOB, '--scopes', 'ACCESS_DB,MANAGE_DB'])
    expect(authorised.text).toContain(`Successfully authorized ${BOB}`)
  })
})

describe('dexie-cloud clients', () => {
  test('52: lists the clients, and who has not proved the address yet', async () => {
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
})

describe('dexie-cloud connect', () => {
  test('45: sends a code to an address that is not authorised, and gives no key', async () => {
    const refused = await bob.run(['connect', db], login(server, EVE, database()))
    expect(refused.text).toContain('No client of this database belongs to this address')
    const [mail] = await mailsTo(server, EVE, database())
    expect(mail?.text).toContain('will not log you in')
    expect(refused.exitCode).not.toBe(0)
  })

  test('45, 47: connects with a code, and again without one', async () => {
    const connected = await bob.run(['connect', db], login(server, BOB, database()))
    expect(connected.text).toContain(`Current database is now ${db}`)
    expect((await clients()).map(({ emailVerified }) => emailVerified)).toEqual([true, true])
    const again = await bob.run(['connect', db])
    expect(again.exitCode).toBe(0)
    expect((await tokenOf(keyOf(bob), ['MANAGE_DB'])).scope).toBe('MANAGE_DB')
    // A person who only manages the database is no user of it.
    expect((await (await caller()).get('/users')).body).toMatchObject({ data: [] })
  })
})

describe('dexie-cloud authorize --scopes', () => {
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
})

describe('dexie-cloud authorize --service-account', () => {
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
    const refused = await bob.run(['reconnect'], login(server, BOB, database()))
    expect(refused.text).toContain('No new client waits for this address')
    const root = await caller()
    await root.post('/clients/add', { email: BOB, scopes: ['MANAGE_DB'] })
    const renewed = await bob.run(['reconnect'], login(server, BOB, database()))
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
    const recovered = await bob.run(['whitelist'], login(server, BOB, database()))
    expect(recovered.text).toContain('Local API client key has expired. Starting OTP recovery')
    expect(recovered.exitCode).toBe(0)
  })
})

describe('dexie-cloud clients rotate', () => {
  test('55: replaces the key of a service account', async () => {
    const service = (await clients()).find(({ email }) => email === 'ci@example.com')
    const { text } = await alice.run(['clients', 'rotate', service?.id ?? '', '--out', 'ci.key'])
    expect(text).toContain(`Old client: ${service?.id}`)
    const renewed = alice.json('ci.key')[db] as Key
    expect(await tokenOf(renewed, ['ACCESS_DB'])).toMatchObject({ scope: 'ACCESS_DB' })
  })
})

describe('dexie-cloud unauthorize', () => {
  test('54: ends the clients of an address, but not the last one with all scopes', async () => {
    const ended = await tokenOf(keyOf(bob), ['MANAGE_DB'])
    expect((await alice.run(['unauthorize', BOB])).exitCode).toBe(0)
    expect((await clients()).some(({ email }) => email === BOB)).toBe(false)
    expect((await callerOf(db, ended.accessToken).get('/clients')).status).toBe(401)
    const refused = await alice.run(['unauthorize', ALICE])
    expect(refused.text).toContain('409')
    expect((await tokenOf()).status).toBe(200)
  })
})

describe('dexie-cloud revoke', () => {
  test('54: ends a single client', async () => {
    const service = (await clients()).findLast(({ email }) => email === 'ci@example.com')
    expect((await alice.run(['revoke', service?.id ?? ''])).text).toContain('Successfully revoked')
    expect((await clients()).some(({ id }) => id === service?.id)).toBe(false)
    const root = await caller()
    expect((await root.post('/clients/delete', { client_id: 'none' })).body).toEqual({
      ok: true,
      numClients: 0,
    })
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
    expect((await alice.run(['whitelist', 'http://app.example.com'])).text).toContain('422')
    const forced = await alice.run(['whitelist', 'http://app.example.com', '--force'])
    expect(forced.text).toContain('Added 1 origins')
    expect((await alice.run(['whitelist', 'https://app.example.com', '-D'])).text).toContain(
      'Removed 1 origins',
    )
    expect((await root.post('/whitelist', {})).body).toEqual(['http://app.example.com'])
  })
})

const SUBJECT = 'dexie-cloud/email-templates/otp-subject.handlebars'

describe('dexie-cloud templates pull', () => {
  test('66: writes the templates as files', async () => {
    const { text } = await alice.run(['templates', 'pull'])
    expect(text).toContain('otp-subject.handlebars')
    expect(alice.read(SUBJECT)).toContain('{{{otp}}}')
  })
})

describe('dexie-cloud templates push', () => {
  test('66: stores those that were changed, and refuses faulty ones', async () => {
    alice.write(SUBJECT, 'Ours: {{{otp}}}\n')
    const pushed = await alice.run(['templates', 'push'])
    expect(pushed.text).toContain('Number of updated templates: 1')
    const root = await caller()
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

describe('dexie-cloud templates test-send', () => {
  test('66: sends a mail that the files word', async () => {
    const sent = await alice.run(['templates', 'test-send', 'otp'])
    expect(sent.text).toContain(`using your local testdata to ${ALICE}`)
    const [mail] = await mailsTo(server, ALICE, database())
    expect(mail?.subject).toBe('Ours: ABCD1234')
  })
})

describe('dexie-cloud templates reset', () => {
  test('66: returns to the templates of the server', async () => {
    expect((await alice.run(['templates', 'reset'])).text).toContain('needed reset: 1.')
    const root = await caller()
    const files = (await root.get('/templates/pull')).body as { path: string; content: string }[]
    const subject = files.find(({ path }) => path.endsWith('otp-subject.handlebars'))
    expect(subject?.content).not.toContain('Ours')
  })
})

describe('dexie-cloud delete', () => {
  test('67: a deleted database is served with a warning', async () => {
    const deleted = await alice.run(['delete', db, '--yes'])
    expect(deleted.text).toContain(
      'is marked for deletion. Until 2030-02-01 it is served with a warning',
    )
    const warned = await alice.run(['whitelist'])
    expect(warned.text).toContain('WARNING: This database is marked for deletion on 2030-02-01.')
    expect((await tokenOf()).alerts).toMatchObject([
      { type: 'warning', messageCode: 'DATABASE_DELETED' },
    ])
  })
})

describe('dexie-cloud undelete', () => {
  test('67: ends that', async () => {
    const restored = await alice.run(['undelete', db])
    expect(restored.text).toContain('is not deleted any more')
    expect((await tokenOf()).alerts).toBeUndefined()
  })
})

describe('dexie-cloud delete --hard', () => {
  test('67: removes it at once, with everything', async () => {
    const few = await caller(['MANAGE_DB'])
    expect((await few.post('/delete-db', { hard: true })).status).toBe(403)
    const { text } = await alice.run(['delete', db, '--yes', '--hard'])
    expect(text).toContain('is deleted')
    expect(alice.json('dexie-cloud.json')['dbUrl']).toBeUndefined()
    expect((await callerOf(db).get('/public/items')).status).toBe(404)
  })
})

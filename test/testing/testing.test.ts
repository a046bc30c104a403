import { postJson } from '../http/setup'
import { describe, expect, test } from 'bun:test'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { systemClock } from '../../src/clock'
import { openSession } from '../../src/control/session'
import { createDevice } from '../auth/device'
import { HOUR } from '../auth/setup'
import { setupServer, temporaryFolder } from '../setup'
import { setupTestMode } from './setup'

const SCHEMA = '{"todos": "@id, title"}'

/** A schema file and a folder with seeds. */
function setupFiles() {
  const folder = temporaryFolder()
  const schema = join(folder.path, 'schema.json')
  const seed = join(folder.path, 'seed')
  mkdirSync(seed)
  writeFileSync(schema, SCHEMA)
  const line = (id: string, title: string) =>
    JSON.stringify({ table: 'todos', realm: 'rlm-public', id, data: { title } })
  writeFileSync(join(seed, '1.ndjson'), `${line('one', 'first')}\n${line('two', 'second')}\n`)
  writeFileSync(join(seed, '2.ndjson'), `${line('two', 'changed')}\n`)
  return { schema, seed, [Symbol.dispose]: () => folder[Symbol.dispose]() }
}

const titlesOf = async (main: string): Promise<string[]> => {
  const response = await fetch(`${main}/public/todos`)
  const rows = (await response.json()) as { title: string }[]
  return rows.map(({ title }) => title)
}

test('the first POST succeeds, and the files of a seed are imported in their order', async () => {
  using files = setupFiles()
  await using server = await setupTestMode({ schema: files.schema, seed: files.seed })
  expect(await titlesOf(server.main)).toEqual(['first', 'changed'])
  const alice = await server.login('alice@example.com')
  const { status, body } = await server.api(alice, 'POST', '/my/todos', { title: 'Buy milk' })
  expect(status).toBe(200)
  expect(body).toMatchObject({ title: 'Buy milk', realmId: 'alice@example.com' })
})

test('a schema is declared without test mode too', async () => {
  using files = setupFiles()
  await using server = await setupServer({ schema: files.schema })
  expect(server.test).toBeUndefined()
  expect(await titlesOf(server.main)).toEqual([])
})

test.each([
  ['schema', 'missing.json', 'missing.json cannot be read'],
  ['seed', 'missing.ndjson', 'missing.ndjson cannot be read'],
])('ends the start when the %s is missing', async (name, file, message) => {
  using folder = temporaryFolder()
  const path = join(folder.path, file)
  const start = setupServer({ memory: true, test: true, [name]: path })
  expect(start).rejects.toThrow(message)
})

test('ends the start with the path of a file that cannot be imported', async () => {
  using folder = temporaryFolder()
  const path = join(folder.path, 'seed.json')
  writeFileSync(path, 'nonsense')
  expect(setupServer({ memory: true, test: true, seed: path })).rejects.toThrow(path)
  expect(setupServer({ memory: true, test: true, schema: path })).rejects.toThrow(path)
})

test('a snapshot covers objects, users, codes, mails, the clock and sync', async () => {
  using files = setupFiles()
  await using server = await setupTestMode({ schema: files.schema })
  const { call, api, main } = server
  const alice = await server.login('alice@example.com')
  await api(alice, 'POST', '/my/todos', { id: 'tdo1', title: 'before' })
  await call('POST', 'clock', { advance: '2h' })
  const asked = await fetch(`${main}/token`, {
    method: 'POST',
    body: JSON.stringify({ grant_type: 'otp', email: 'bob@example.com', scopes: ['ACCESS_DB'] }),
  })
  const { otp_id } = (await asked.json()) as { otp_id: string }
  const bobs = await call('GET', 'mail?to=bob@example.com&wait=5s')
  const [mail] = bobs.body['mails'] as { otp: string }[]
  const admin = await server.token()
  const redeem = () =>
    fetch(`${main}/token`, {
      method: 'POST',
      body: JSON.stringify({ grant_type: 'otp', otp_id, otp: mail?.otp, scopes: ['ACCESS_DB'] }),
    })
  const { body } = await call('POST', 'snapshot')
  const synced = await sync(main, admin)
  const late = await server.login('carol@example.com')
  await api(late, 'POST', '/my/todos', { title: 'after' })
  expect((await redeem()).status).toBe(200)
  await call('POST', 'clock', { advance: '40d' })
  const after = await sync(main, await server.token())

  expect(await call('POST', `restore/${String(body['id'])}`)).toEqual({ status: 200, body: {} })
  const asking = systemClock.now()
  const now = Date.parse((await call('POST', 'clock', {})).body['now'] as string)
  expect(now).toBeWithin(asking + 2 * HOUR, systemClock.now() + 2 * HOUR + 1)
  expect(
    (await api(await server.login('alice@example.com'), 'GET', '/my/todos')).body,
  ).toHaveLength(1)
  const restored = await server.token()
  const users = await api(restored, 'GET', '/users')
  const ids = (users.body as Users).data.map(({ userId }) => userId)
  expect(ids).toEqual(['alice@example.com'])
  expect((await call('GET', 'mail')).body['mails']).toHaveLength(1)
  expect((await redeem()).status).toBe(200)
  // A revision from before the snapshot still counts; one from after it is from another run.
  expect(await api(restored, 'POST', '/my/todos', { title: 'again' })).toMatchObject({
    status: 200,
  })
  const [runBefore, runAfter] = [synced, after].map((revision) => JSON.parse(revision)[0] as string)
  expect(runBefore).toBe(runAfter)
  expect(JSON.parse(await sync(main, restored))[0]).not.toBe(runBefore)
})

interface Users {
  readonly data: readonly { readonly userId: string }[]
}

/** The revision that a client gets. */
async function sync(main: string, token: string): Promise<string> {
  const response = await postJson(
    `${main}/sync`,
    {
      v: 2,
      clientIdentity: 'test-client',
      schema: {},
      changes: [],
      y: [],
    },
    { authorization: `Bearer ${token}` },
  )
  const text = await response.text()
  const found = /"serverRevision":("(?:[^"\\]|\\.)*")/.exec(text)
  if (found === null) throw new Error(`${response.status} ${text}`)
  return JSON.parse(found[1] ?? '') as string
}

test('bytes of blobs stay as long as a snapshot needs them', async () => {
  await using server = await setupTestMode()
  const { call, main } = server
  const admin = await server.token()
  const headers = { authorization: `Bearer ${admin}`, 'content-type': 'text/plain' }
  const put = await fetch(`${main}/blob/note?ct=text/plain`, {
    method: 'PUT',
    headers,
    body: 'kept',
  })
  const { ref } = (await put.json()) as { ref: string }
  const { body } = await call('POST', 'snapshot')
  await call('POST', 'clock', { advance: '3d' })
  const gone = await fetch(`${main}/blob/${ref}`, {
    headers: { authorization: `Bearer ${await server.token()}` },
  })
  expect(gone.status).toBe(404)
  await call('POST', `restore/${String(body['id'])}`)
  const back = await fetch(`${main}/blob/${ref}`, { headers })
  expect(await back.text()).toBe('kept')
  const { body: fork } = await call('POST', `fork/${String(body['id'])}`)
  expect((await fetch(`${String(fork['url'])}/blob/${ref}`, { headers })).status).toBe(401)
})

test('a fork has the rows and an identity of its own', async () => {
  using files = setupFiles()
  await using server = await setupTestMode({ schema: files.schema, seed: files.seed })
  const { call, client } = server
  const { body } = await call('POST', 'snapshot')
  const { body: fork } = await call('POST', `fork/${String(body['id'])}`)
  expect(fork['name']).toStartWith('main-')
  const url = fork['url'] as string
  expect(await titlesOf(url)).toEqual(['first', 'changed'])
  const alice = await server.login('alice@example.com')
  const denied = await fetch(`${url}/my/todos`, { headers: { authorization: `Bearer ${alice}` } })
  expect(denied.status).toBe(401)
  const token = await fetch(`${url}/token`, {
    method: 'POST',
    body: JSON.stringify({
      grant_type: 'client_credentials',
      client_id: client.clientId,
      client_secret: client.clientSecret,
      scopes: ['ACCESS_DB'],
    }),
  })
  expect(token.status).toBe(200)
  expect(await call('POST', 'reset', undefined, {}, url)).toMatchObject({ status: 200 })
  expect(await titlesOf(url)).toEqual(['first', 'changed'])
})

test('a reset keeps what is declared and configured, empties the rest and applies the seed', async () => {
  using files = setupFiles()
  await using server = await setupTestMode({ schema: files.schema, seed: files.seed })
  const { call, api, main } = server
  for (const round of [1, 2]) {
    const admin = await server.token()
    const alice = await server.login('alice@example.com')
    await api(alice, 'POST', '/my/todos', { title: 'mine' })
    await api(admin, 'DELETE', '/all/todos/one')
    await call('POST', 'clock', { freeze: true })
    expect({ round, ...(await call('POST', 'reset')) }).toMatchObject({ round, status: 200 })
    expect(await titlesOf(main)).toEqual(['first', 'changed'])
    const { body: users } = await api(await server.token(), 'GET', '/users')
    expect(users).toMatchObject({ data: [] })
    expect((await call('POST', 'clock', {})).body['frozen']).toBe(false)
    expect((await call('GET', 'mail')).body).toEqual({ mails: [] })
  }
})

test('a live connection is closed by a restore, so that its client comes back', async () => {
  await using server = await setupTestMode()
  const { call, main } = server
  const alice = await server.login('alice@example.com')
  const query = new URLSearchParams({
    v: '2',
    rev: '["x","1"]',
    realmsHash: '',
    clientId: 'one',
    token: alice,
  })
  const socket = new WebSocket(`${main.replace('http', 'ws')}/changes?${String(query)}`)
  await new Promise((resolve) => socket.addEventListener('open', resolve))
  const closed = new Promise((resolve) => socket.addEventListener('close', resolve))
  const { body } = await call('POST', 'snapshot')
  await call('POST', `restore/${String(body['id'])}`)
  await closed
  expect(socket.readyState).toBe(WebSocket.CLOSED)
})

describe('the clock', () => {
  test('ends tokens, and may go back', async () => {
    await using server = await setupTestMode()
    const { call, api } = server
    const alice = await server.login('alice@example.com')
    const read = () => api(alice, 'GET', '/my/realms')
    expect((await read()).status).toBe(200)
    await call('POST', 'clock', { advance: '61m' })
    expect((await read()).status).toBe(401)
    await call('POST', 'clock', { advance: '-61m' })
    expect((await read()).status).toBe(200)
    await call('POST', 'clock', { set: '2019-03-01T12:00:00Z', freeze: true })
    const bob = await server.login('bob@example.com')
    const { body } = await api(bob, 'GET', '/users/bob@example.com')
    expect(body).toMatchObject({ created: '2019-03-01T12:00:00.000Z' })
    await call('POST', 'clock', { freeze: false })
    expect((await call('POST', 'clock', {})).body['frozen']).toBe(false)
  })

  test('ends an evaluation', async () => {
    await using server = await setupTestMode()
    const { call, api } = server
    const admin = await server.token()
    await api(admin, 'POST', '/users', [
      { userId: 'eve@example.com', type: 'eval', evalDaysLeft: 30 },
    ])
    await call('POST', 'clock', { advance: '31d' })
    const eve = await server.login('eve@example.com')
    const { status, body } = await api(eve, 'POST', '/my/roles', { realmId: 'rlmx', name: 'x' })
    expect({ status, body }).toMatchObject({ status: 403, body: { code: 'LICENSE_EXPIRED' } })
  })

  test('rate limits follow it', async () => {
    await using server = await setupTestMode({ rateLimits: 'reads=2/1m' })
    const { call, api } = server
    const alice = await server.login('alice@example.com')
    const read = async () => (await api(alice, 'GET', '/my/realms')).status
    expect([await read(), await read(), await read()]).toEqual([200, 200, 429])
    await call('POST', 'clock', { advance: '1m' })
    expect(await read()).toBe(200)
  })

  test('ends codes, and the grace of blobs that nothing references', async () => {
    await using server = await setupTestMode()
    const { call, api, main } = server
    const email = 'alice@example.com'
    const code = async () => {
      const asked = await api('', 'POST', '/token', { grant_type: 'otp', email, scopes: [] })
      const { otp_id } = asked.body as { otp_id: string }
      const { body } = await call('GET', 'mail?to=alice@example.com&wait=10s')
      const [mail] = body['mails'] as { otp: string }[]
      return { grant_type: 'otp', email, scopes: [], otp_id, otp: mail?.otp }
    }
    const old = await code()
    await call('POST', 'clock', { advance: '11m' })
    expect((await api('', 'POST', '/token', old)).status).toBe(403)
    await using commands = await openSession(server.folder, () => undefined)
    const headers = { authorization: `Bearer ${await server.login(email)}` }
    const sent = await fetch(`${main}/blob/a`, { method: 'PUT', body: 'bytes', headers })
    expect(sent.status).toBe(200)
    const read = async () => {
      await commands.run('blob.gc', { database: 'main', dryRun: false })
      return (await fetch(`${main}/blob/1:a`, { headers })).status
    }
    expect(await read()).toBe(200)
    await call('POST', 'clock', { advance: '25h' })
    headers.authorization = `Bearer ${await server.login(email)}`
    expect(await read()).toBe(404)
  })

  test.each([
    [{ advance: 'soon' }, 'like 31d'],
    [{ set: 'tomorrow' }, 'a time like'],
    [{ advance: '9999999999d' }, 'between the years'],
    [{ freeze: 'yes' }, 'freeze must be true or false'],
  ])('refuses %p', async (change, message) => {
    await using server = await setupTestMode()
    const { status, body } = await server.call('POST', 'clock', change)
    expect(status).toBe(400)
    expect(body['message']).toContain(message)
  })
})

describe('mails', () => {
  test('are waited for, newest first, by address and after another one', async () => {
    await using server = await setupTestMode()
    const { call, main } = server
    const waiting = call('GET', 'mail?to=Alice@Example.com&wait=10s')
    const ask = (email: string) =>
      fetch(`${main}/token`, {
        method: 'POST',
        body: JSON.stringify({ grant_type: 'otp', email, scopes: ['ACCESS_DB'] }),
      })
    await ask('bob@example.com')
    await ask('alice@example.com')
    const { body } = await waiting
    const [first] = body['mails'] as { id: string; otp: string; text: string }[]
    expect(first).toMatchObject({ to: 'alice@example.com', kind: 'otp' })
    expect(first?.text).toContain(first?.otp ?? 'none')
    await ask('alice@example.com')
    const next = await call('GET', `mail?to=alice@example.com&after=${first?.id}&wait=10s`)
    expect(next.body['mails']).toHaveLength(1)
    const all = await call('GET', 'mail?to=alice@example.com')
    expect(all.body['mails']).toEqual([...(next.body['mails'] as unknown[]), first])
    expect((await call('GET', 'mail?to=nobody@example.com&wait=10ms')).body).toEqual({ mails: [] })
    expect((await call('GET', 'mail?wait=2h')).status).toBe(400)
  })
})

test('mails to people who create databases are at the address of the service', async () => {
  await using server = await setupTestMode()
  const { call, url } = server
  const service = `${url}/service`
  await fetch(`${service}/token`, {
    method: 'POST',
    body: JSON.stringify({ grant_type: 'otp', email: 'eve@example.com', scopes: ['CREATE_DB'] }),
  })
  const read = 'mail?to=eve@example.com'
  const { body } = await call('GET', `${read}&wait=10s`, undefined, {}, service)
  expect(body).toMatchObject({
    mails: [{ kind: 'otp', otp: expect.stringMatching(/^[A-Z\d]{8}$/) }],
  })
  expect((await call('GET', read)).body).toEqual({ mails: [] })
  expect((await call('POST', 'reset', undefined, {}, service)).status).toBe(404)
  expect((await call('GET', read, undefined, {}, `${url}/nothing`)).status).toBe(404)
})

describe('a login', () => {
  test('answers what /token answers, with a refresh token for a key', async () => {
    await using server = await setupTestMode()
    const { call, api } = server
    const { body } = await call('POST', 'login', { email: 'Alice@example.com', name: 'Alice' })
    expect(body).toMatchObject({
      type: 'tokens',
      userId: 'alice@example.com',
      claims: { sub: 'alice@example.com', name: 'Alice' },
    })
    expect(body['url']).toBeUndefined()
    const device = createDevice()
    const publicKey = device.public_key
    const bound = (await call('POST', 'login', { email: 'bob@example.com', publicKey })).body
    // The clock of the device does not follow.
    await call('POST', 'clock', { advance: '31d' })
    expect((await api(String(bound['accessToken']), 'GET', '/my/realms')).status).toBe(401)
    const request = device.refreshRequest(String(bound['refreshToken']), Date.now())
    const refreshed = await api('', 'POST', '/token', request)
    const { accessToken } = refreshed.body as { accessToken: string }
    expect((await api(accessToken, 'GET', '/my/realms')).status).toBe(200)
    expect((await call('POST', 'login', { email: 'no address' })).status).toBe(400)
    expect((await call('POST', 'login', {})).status).toBe(400)
  })

  test('gives the address at which a page is logged in, once', async () => {
    await using server = await setupTestMode()
    const { call, main } = server
    const page = 'http://localhost:5173/app?a=1'
    const { body } = await call('POST', 'login', { email: 'alice@example.com', page })
    const url = new URL(body['url'] as string)
    expect(url.searchParams.get('a')).toBe('1')
    const { code } = JSON.parse(atob(url.searchParams.get('dxc-auth') ?? '')) as { code: string }
    const exchange = () =>
      fetch(`${main}/token`, {
        method: 'POST',
        body: JSON.stringify({ grant_type: 'authorization_code', code, scopes: ['ACCESS_DB'] }),
      })
    expect((await exchange()).status).toBe(200)
    expect((await exchange()).status).toBe(401)
    const foreign = { email: 'alice@example.com', page: 'https://evil.example' }
    expect((await call('POST', 'login', foreign)).body['code']).toBe('ORIGIN_NOT_ALLOWED')
  })
})

test('the snapshots of a database are listed, the newest first, until they are deleted', async () => {
  await using server = await setupTestMode()
  const { call } = server
  const listed = async () => {
    const { body } = await call('GET', 'snapshot')
    return (body['snapshots'] as { id: string; created: string }[]).map(({ id, created }) => {
      expect(new Date(created).toISOString()).toBe(created)
      return id
    })
  }
  expect(await listed()).toEqual([])
  const take = async () => String((await call('POST', 'snapshot')).body['id'])
  const [first, second] = [await take(), await take()]
  await call('POST', `restore/${first}`)
  expect(await listed()).toEqual([second, first])
  await call('DELETE', `snapshot/${second}`)
  expect(await listed()).toEqual([first])
})

test('an unknown snapshot, address or method is refused', async () => {
  await using server = await setupTestMode()
  const { call } = server
  expect((await call('POST', 'restore/none')).body['code']).toBe('UNKNOWN_OBJECT')
  expect((await call('POST', 'fork/none')).body['code']).toBe('UNKNOWN_OBJECT')
  const { body } = await call('POST', 'snapshot')
  expect((await call('DELETE', `snapshot/${String(body['id'])}`)).status).toBe(200)
  expect((await call('DELETE', `snapshot/${String(body['id'])}`)).status).toBe(404)
  expect((await call('POST', 'nothing')).body['code']).toBe('UNKNOWN_ROUTE')
  expect((await call('POST', 'restore/a/b')).body['code']).toBe('UNKNOWN_ROUTE')
  expect((await call('GET', 'reset')).body['code']).toBe('METHOD_NOT_ALLOWED')
  expect((await call('POST', 'reset', [])).status).toBe(400)
  const missing = await call('POST', 'reset', undefined, {}, `${server.url}/other`)
  expect(missing.body['code']).toBe('UNKNOWN_DATABASE')
})

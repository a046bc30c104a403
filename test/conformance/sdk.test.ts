import { describe, expect, test } from 'bun:test'
import { callerOf, objectsOf, setupData } from '../http/setup'
import { setupExecutable } from '../promises/setup'
import type { TestServer } from '../setup'
import { mailsTo } from './dexie-cloud'

/** conformance.md 37–40: the requests of the SDK 0.1.0 (protocol.md §12, §14.1), call by call. */

const ALICE = 'alice@example.com'
const BOB = 'bob@example.com'

/** The code in the newest mail to Alice, from a database or the service of a server in test mode. */
async function codeOf(server: TestServer, database?: string) {
  const [mail] = await mailsTo(server, ALICE, database, '&wait=30s')
  return mail?.otp
}

const TEST_MODE = { memory: true, test: true }

describe('data.list, get, create, update and delete', () => {
  test('37: objects are created, listed, read, replaced and deleted by the addresses of the SDK', async () => {
    await using executable = await setupExecutable()
    const [alice, bob] = [await executable.as(ALICE), await executable.as(BOB)]
    const created = await alice.post('/items', {
      country: 'SE',
      due: { $t: 'Date', v: '2030-01-31' },
    })
    expect(created.status).toBe(200)
    const { id } = created.body as { id: string }
    expect(created.body).toEqual({
      country: 'SE',
      due: { $t: 'Date', v: '2030-01-31' },
      id,
      realmId: ALICE,
      owner: ALICE,
    })
    expect(await alice.get(`/items/${id}`)).toMatchObject({ status: 200, text: created.text })
    const replaced = await alice.send('PUT', `/items/${id}`, { body: { country: 'DK' } })
    expect(replaced).toMatchObject({
      status: 200,
      body: { country: 'DK', id, realmId: ALICE, owner: ALICE },
    })
    expect(replaced.body).not.toHaveProperty('due')
    expect(await bob.get(`/items/${id}`)).toMatchObject({ status: 404 })
    expect(await bob.send('PUT', `/items/${id}`, { body: {} })).toMatchObject({ status: 403 })
    expect(objectsOf(await alice.get('/items'))).toEqual([replaced.body as Record<string, unknown>])
    expect((await alice.remove(`/items/${id}`)).status).toBe(204)
    expect((await alice.get(`/items/${id}`)).status).toBe(404)
    expect((await alice.remove(`/items/${id}`)).status).toBe(404)
  })

  test('37: a list is that of one realm with ?realm=', async () => {
    await using executable = await setupExecutable()
    const [alice, root] = [await executable.as(ALICE), await executable.root()]
    await root.post('/public/items', { id: 'p', country: 'SE' })
    await alice.post('/items', [
      { id: 'a', country: 'SE' },
      { id: 'b', country: 'DK', realm: 'rlm-public' },
    ])
    const idsOf = async (path: string) =>
      objectsOf(await alice.get(path)).map(({ id }) => String(id))
    expect(await idsOf('/items')).toEqual(['p', 'a', 'b'])
    expect(await idsOf('/items?realm=rlm-public')).toEqual(['p'])
    expect(await idsOf(`/items?realm=${encodeURIComponent(ALICE)}`)).toEqual(['a', 'b'])
    expect(await idsOf(`/items?realm=${ALICE}&country=SE`)).toEqual(['a'])
    expect(await idsOf(`/items?realm=rlm-public&realm=${ALICE}&country=DK`)).toEqual(['b'])
    expect(await idsOf('/items?realm=rlm-none')).toEqual([])
    // Elsewhere it is a property like any other.
    expect(await idsOf('/my/items?realm=rlm-public')).toEqual(['b'])
    const { headers } = await alice.get(`/items?realm=${ALICE}&$limit=1`)
    const next = /<(\?[^>]*)>; rel="next"/.exec(headers.get('link') ?? '')?.[1] ?? ''
    expect(await idsOf(`/items${next}`)).toEqual(['b'])
  })

  test('37: a route of the database hides a table of its name', async () => {
    await using executable = await setupExecutable()
    const root = await executable.root()
    expect((await root.get('/users')).body).toMatchObject({ hasMore: false })
    expect((await root.get('/auth-providers')).body).toMatchObject({ providers: [] })
    for (const [method, path, status] of [
      ['GET', '/token', 405],
      ['POST', '/auth-providers', 405],
      ['PUT', '/users/alice', 405],
      ['DELETE', '/my/items', 405],
      ['GET', '/whitelist', 405],
      ['GET', '/changes', 400],
    ] as const) {
      const options = method === 'GET' ? {} : { body: {} }
      expect({ path, status: (await root.send(method, path, options)).status }).toEqual({
        path,
        status,
      })
    }
  })

  test('tables may have the names of addresses, which hide only the short ones', async () => {
    await using server = await setupData()
    const names = [
      'clients',
      'users',
      'import',
      'export',
      'delete-db',
      'whitelist',
      'token',
      '_test',
    ]
    await server.push(Object.fromEntries(names.map((name) => [name, 'id'])))
    const alice = await server.as(ALICE)
    for (const name of names) {
      expect((await alice.post(`/my/${name}`, { id: 'a' })).status).toBe(200)
      expect(objectsOf(await alice.get(`/my/${name}`))).toMatchObject([{ id: 'a' }])
      expect((await alice.get(`/my/${name}/a`)).status).toBe(200)
    }
    // A table swallows no command, and no command is taken for a table.
    expect(await alice.post('/delete-db', { id: 'b' })).toMatchObject({ status: 403 })
    expect(await alice.get('/delete-db')).toMatchObject({
      status: 405,
      body: { message: expect.stringContaining('/main/my/delete-db') as string },
    })
    expect(await alice.send('PUT', '/clients/a', { body: {} })).toMatchObject({
      status: 404,
      body: { message: expect.stringContaining('/main/my/clients/<key>') as string },
    })
  })
})

describe('auth.requestOTP, auth.verifyOTP and database.create', () => {
  test('40: use /service/token and /service/create-db, and send no content type', async () => {
    await using server = await setupData(TEST_MODE)
    const service = callerOf(`${server.url}/service`)
    const login = { grant_type: 'otp', email: ALICE, scopes: ['CREATE_DB'] }
    const sent = await service.post('/token', login)
    const { type, otp_id } = sent.body as Record<string, string>
    expect(type).toBe('otp-sent')
    const given = await service.post('/token', { ...login, otp_id, otp: await codeOf(server) })
    const { accessToken, userId } = given.body as Record<string, string>
    expect(userId).toBe(ALICE)
    const created = await fetch(`${server.url}/service/create-db`, {
      method: 'POST',
      headers: { authorization: `Bearer ${accessToken}` },
      body: JSON.stringify({ timeZone: 'UTC' }),
    })
    expect(created.status).toBe(200)
    const { url, clientId, clientSecret } = (await created.json()) as Record<string, string>
    const credentials = { client_id: clientId, client_secret: clientSecret }
    const token = await callerOf(url ?? '').post('/token', {
      grant_type: 'client_credentials',
      ...credentials,
      scopes: ['ACCESS_DB'],
    })
    expect(token.body).toMatchObject({
      type: 'tokens',
      accessToken: expect.any(String),
      userId: clientId,
    })
  })
})

describe('health.check and health.ready', () => {
  test('39: are 200 while the server serves', async () => {
    await using server = await setupData()
    for (const path of ['/health', '/ready']) {
      expect((await callerOf(server.url).get(path)).status).toBe(200)
    }
  })
})

describe('blobs.upload and blobs.download', () => {
  test('take hexadecimal ids, and give bytes and type back', async () => {
    await using server = await setupData()
    const alice = await server.as(ALICE)
    const id = crypto.randomUUID().replaceAll('-', '')
    const headers = { 'content-type': 'image/png' }
    const put = await alice.send('PUT', `/blob/${id}`, { body: new Uint8Array(5_000), headers })
    expect(put.body).toEqual({ ref: `1:${id}` })
    const blob = await fetch(`${server.main}/blob/${encodeURIComponent(`1:${id}`)}`, {
      headers: { authorization: `Bearer ${alice.token}` },
    })
    expect(blob.headers.get('content-type')).toBe('image/png')
    expect((await blob.bytes()).length).toBe(5_000)
  })
})

import { describe, expect, test } from 'bun:test'
import { createDevice } from '../auth/device'
import { type Caller, callerOf, objectsOf, setupData } from '../http/setup'
import { type Executable, setupExecutable } from '../promises/setup'

/** conformance.md, section (a): the REST interface of data and tokens. */

const ALICE = 'alice@example.com'
const BOB = 'bob@example.com'

const ask = (executable: Executable, parameters: object = {}) =>
  executable.anyone.post('/token', {
    grant_type: 'client_credentials',
    client_id: executable.client.clientId,
    client_secret: executable.client.clientSecret,
    scopes: ['ACCESS_DB'],
    ...parameters,
  })

describe('tokens', () => {
  test('15: client_credentials gives what a TokenFinalResponse has', async () => {
    await using executable = await setupExecutable()
    const before = Date.now()
    const { status, headers, body } = await ask(executable)
    expect(status).toBe(200)
    expect(headers.get('content-type')).toStartWith('application/json')
    expect(body).toMatchObject({
      type: 'tokens',
      claims: { sub: executable.client.clientId },
      accessToken: expect.any(String) as string,
      userType: 'client',
    })
    const { accessTokenExpiration } = body as { accessTokenExpiration: number }
    const hour = 3_600_000
    expect(accessTokenExpiration).toBeGreaterThanOrEqual(before + hour - 1_000)
    expect(accessTokenExpiration).toBeLessThanOrEqual(Date.now() + hour)
  })

  test('16: scopes beyond those of the client are not granted', async () => {
    await using executable = await setupExecutable()
    const few = await executable.commands.run('client.create', {
      database: 'main',
      scopes: ['ACCESS_DB', 'GLOBAL_READ'],
      name: null,
      email: null,
    })
    const known = { client_id: few.clientId, client_secret: few.clientSecret }
    const beyond = await ask(executable, { ...known, scopes: ['ACCESS_DB', 'GLOBAL_WRITE'] })
    expect(beyond).toMatchObject({ status: 400, body: { error: 'invalid_scope' } })
    expect(beyond.text).toContain('GLOBAL_WRITE')
    const { body } = await ask(executable, { ...known, scopes: ['ACCESS_DB'] })
    const caller = callerOf(executable.main, (body as { accessToken: string }).accessToken)
    // A token holds what was asked for, though the client could have had more.
    expect((await caller.get('/my/plain')).status).toBe(200)
    expect((await caller.get('/all/plain')).status).toBe(403)
  })

  test('17: claims are for clients with IMPERSONATE; claims.sub is who it is', async () => {
    await using executable = await setupExecutable()
    const few = await executable.commands.run('client.create', {
      database: 'main',
      scopes: ['ACCESS_DB'],
      name: null,
      email: null,
    })
    const claims = { sub: ALICE, email: ALICE, name: 'Alice' }
    const known = { client_id: few.clientId, client_secret: few.clientSecret }
    expect((await ask(executable, { ...known, claims })).status).toBe(400)
    const { status, body } = await ask(executable, { claims })
    expect(status).toBe(200)
    expect(body).toMatchObject({ claims, userType: 'prod' })
    const alice = callerOf(executable.main, (body as { accessToken: string }).accessToken)
    const stored = await alice.post('/my/plain', { id: 'a' })
    expect(stored.body).toMatchObject({ realmId: ALICE, owner: ALICE })
  })

  test('18: public_key binds a refresh token to that key', async () => {
    await using executable = await setupExecutable()
    const [device, thief] = [createDevice(), createDevice()]
    const { public_key } = device
    const login = await ask(executable, { claims: { sub: ALICE, email: ALICE }, public_key })
    expect((await ask(executable)).body).not.toHaveProperty('refreshToken')
    const { refreshToken } = login.body as { refreshToken: string }
    const refresh = (by: typeof device) =>
      executable.anyone.post('/token', by.refreshRequest(refreshToken, Date.now()))
    expect(await refresh(device)).toMatchObject({ status: 200, body: { claims: { sub: ALICE } } })
    expect((await refresh(thief)).status).toBe(401)
    await Bun.sleep(2)
    expect((await refresh(device)).status).toBe(200)
  })

  test('19: expires_in and not_before are honoured', async () => {
    await using server = await setupData()
    const { clientId, clientSecret } = server.client
    const { body } = await server.anyone.post('/token', {
      grant_type: 'client_credentials',
      client_id: clientId,
      client_secret: clientSecret,
      scopes: ['ACCESS_DB'],
      expires_in: '10m',
      not_before: '2 minutes',
    })
    const { accessToken } = body as { accessToken: string }
    const caller = callerOf(server.main, accessToken)
    expect((await caller.get('/my/plain')).status).toBe(401)
    server.clock.advance(3 * 60_000)
    expect((await caller.get('/my/plain')).status).toBe(200)
    server.clock.advance(10 * 60_000)
    expect((await caller.get('/my/plain')).status).toBe(401)
  })

  test('20: /token/validate tells valid from invalid', async () => {
    await using executable = await setupExecutable()
    const alice = await executable.as(ALICE)
    expect(await alice.get('/token/validate')).toMatchObject({
      status: 200,
      body: { valid: true, claims: { sub: ALICE, email: ALICE } },
    })
    const broken = callerOf(executable.main, `${alice.token?.slice(0, -2)}xx`)
    const { status, body } = await broken.get('/token/validate')
    expect(status).toBe(401)
    expect(body).toMatchObject({ valid: false })
    expect((await executable.anyone.get('/token/validate')).status).toBe(401)
  })
})

/** One object in each kind of realm, by a caller who may put them there. */
async function setupObjects() {
  const executable = await setupExecutable()
  const root = await executable.root()
  const [alice, bob] = [await executable.as(ALICE), await executable.as(BOB)]
  const realm = await alice.post('/my/realms', { name: 'Shared' })
  const { realmId } = realm.body as { realmId: string }
  await root.post('/all/plain', [
    { id: 'public', realmId: 'rlm-public', kind: 'x', n: 1 },
    { id: 'shared', realmId, kind: 'x', n: 2 },
    { id: 'alice', realmId: ALICE, kind: 'y', n: 3 },
    { id: 'bob', realmId: BOB, kind: 'y', n: 4 },
  ])
  return {
    ...executable,
    rootCaller: root,
    alice,
    bob,
    realmId,
    [Symbol.asyncDispose]: () => executable[Symbol.asyncDispose](),
  }
}

const idsOf = async (caller: Caller, path: string) =>
  objectsOf(await caller.get(path)).map(({ id }) => id)

describe('reading', () => {
  test('21: GET /all needs ACCESS_DB and GLOBAL_READ and shows all realms', async () => {
    await using world = await setupObjects()
    const token = await world.token({ scopes: ['ACCESS_DB', 'GLOBAL_READ'] })
    const reader = callerOf(world.main, token)
    expect(await idsOf(reader, '/all/plain')).toEqual(['public', 'shared', 'alice', 'bob'])
    for (const scopes of [['ACCESS_DB'], ['GLOBAL_READ'], ['GLOBAL_WRITE']]) {
      const caller = callerOf(world.main, await world.token({ scopes }))
      expect((await caller.get('/all/plain')).status).toBe(403)
    }
    expect((await world.anyone.get('/all/plain')).status).toBe(401)
  })

  test('22: query parameters filter by equality, realmId too', async () => {
    await using world = await setupObjects()
    const { rootCaller: root, realmId } = world
    expect(await idsOf(root, '/all/plain?kind=x')).toEqual(['public', 'shared'])
    expect(await idsOf(root, '/all/plain?kind=x&n=2')).toEqual(['shared'])
    expect(await idsOf(root, `/all/plain?realmId=${realmId}`)).toEqual(['shared'])
    expect(await idsOf(root, `/all/plain?realmId=${encodeURIComponent(BOB)}&kind=y`)).toEqual([
      'bob',
    ])
    expect(await idsOf(root, '/all/plain?kind=z')).toEqual([])
    expect(await idsOf(world.alice, '/my/plain?kind=y')).toEqual(['alice'])
    expect(await idsOf(world.anyone, '/public/plain?kind=y')).toEqual([])
  })

  test('23: one object by its key, compound keys as URL-encoded JSON, else a 404', async () => {
    await using world = await setupObjects()
    const { rootCaller: root, alice, anyone } = world
    await root.post('/public/pairs', { a: 'x/y', b: 2, c: true })
    const key = encodeURIComponent('["x/y",2]')
    for (const [caller, path] of [
      [root, '/all/plain/bob'],
      [alice, '/my/plain/shared'],
      [anyone, '/public/plain/public'],
      [root, `/all/pairs/${key}`],
      [alice, `/my/pairs/${key}`],
      [anyone, `/public/pairs/${key}`],
    ] as const) {
      const { status, body } = await caller.get(path)
      expect({ path, status }).toEqual({ path, status: 200 })
      expect(Array.isArray(body)).toBe(false)
    }
    for (const [caller, path] of [
      [root, '/all/plain/none'],
      [alice, '/my/plain/none'],
      [anyone, '/public/plain/none'],
      [root, `/all/pairs/${encodeURIComponent('["x/y",3]')}`],
    ] as const) {
      expect((await caller.get(path)).status).toBe(404)
    }
  })

  test('24: GET /my shows exactly what the user may see', async () => {
    await using world = await setupObjects()
    const { alice, bob, rootCaller: root, realmId } = world
    expect(await idsOf(alice, '/my/plain')).toEqual(['public', 'shared', 'alice'])
    expect(await idsOf(bob, '/my/plain')).toEqual(['public', 'bob'])
    const invited = await alice.post('/my/members', { realmId, email: BOB, permissions: {} })
    expect(await idsOf(bob, '/my/plain')).toEqual(['public', 'bob'])
    const { id } = invited.body as { id: string }
    await root.post('/all/members', { ...(invited.body as object), userId: BOB })
    expect(await idsOf(bob, '/my/plain')).toEqual(['public', 'shared', 'bob'])
    await root.remove(`/all/members/${id}`)
    expect(await idsOf(bob, '/my/plain')).toEqual(['public', 'bob'])
  })

  test('25: GET /public works for everybody and shows rlm-public alone', async () => {
    await using world = await setupObjects()
    for (const caller of [world.anyone, world.alice, world.rootCaller]) {
      expect(await idsOf(caller, '/public/plain')).toEqual(['public'])
      for (const id of ['shared', 'alice', 'bob']) {
        expect((await caller.get(`/public/plain/${id}`)).status).toBe(404)
      }
    }
  })
})

describe('writing', () => {
  test('26: an array upserts each, a single object too, existing keys are replaced', async () => {
    await using world = await setupObjects()
    const { alice } = world
    const created = await alice.post('/my/plain', [
      { id: 'a', x: 1 },
      { id: 'alice', z: 1 },
    ])
    expect(created.status).toBe(200)
    expect((await alice.get('/my/plain/alice')).body).not.toHaveProperty('kind')
    expect((await alice.post('/my/plain', { id: 'a', y: 2 })).status).toBe(200)
    const replaced = await alice.get('/my/plain/a')
    expect(replaced.body).toEqual({ id: 'a', y: 2, realmId: ALICE, owner: ALICE })
    expect(await idsOf(alice, '/my/plain')).toEqual(['public', 'shared', 'alice', 'a'])
  })

  test('27: /all wants a realmId, /my has the user’s own, /public sets rlm-public', async () => {
    await using world = await setupObjects()
    const { alice, rootCaller: root } = world
    expect((await root.post('/all/plain', { id: 'a' })).status).toBe(422)
    expect((await root.post('/all/plain', [{ id: 'a', realmId: ALICE }, {}])).status).toBe(422)
    expect((await alice.post('/my/plain', { id: 'b' })).body).toMatchObject({ realmId: ALICE })
    const open = await root.post('/public/plain', { id: 'c' })
    expect(open.body).toMatchObject({ realmId: 'rlm-public' })
    expect((await root.get('/all/plain/a')).status).toBe(404)
  })

  test('28: keys are generated on "@" tables with the prefix, and missing elsewhere', async () => {
    await using world = await setupObjects()
    const { alice, rootCaller: root } = world
    for (const answer of [
      await alice.post('/my/items', {}),
      await root.post('/all/items', { realmId: ALICE }),
      await root.post('/public/items', {}),
    ]) {
      expect(answer.status).toBe(200)
      const { id, realmId } = answer.body as { id: string; realmId: string }
      // Prefix, 24 characters that sort by time, the end of the realm.
      expect(id).toMatch(/^itm[0-9A-Z_a-z|]{24}/)
      expect(id.length).toBe(30)
      expect(id.slice(27)).toBe(realmId.slice(-3))
    }
    expect((await alice.post('/my/plain', {})).status).toBe(422)
    expect((await alice.post('/my/pairs', { a: 'x' })).status).toBe(422)
    const realm = await alice.post('/my/realms', { name: 'x' })
    expect((realm.body as { realmId: string }).realmId).toMatch(/^rlm/)
  })

  test('29: POST /my into a realm needs the permission', async () => {
    await using world = await setupObjects()
    const { bob, rootCaller: root, realmId } = world
    const refused = await bob.post('/my/plain', { id: 'new', realmId })
    expect(refused.status).toBe(403)
    const member = { id: 'mmbBob', realmId, userId: BOB, permissions: {} }
    await root.post('/all/members', member)
    expect((await bob.post('/my/plain', { id: 'new', realmId })).status).toBe(403)
    await root.post('/all/members', { ...member, permissions: { add: ['plain'] } })
    expect((await bob.post('/my/plain', { id: 'new', realmId })).status).toBe(200)
    expect((await bob.post('/my/plain', { id: 'x', realmId: 'rlm-public' })).status).toBe(403)
  })

  test('30: DELETE on /all and /public needs GLOBAL_WRITE, on /my the permission', async () => {
    await using world = await setupObjects()
    const { alice, bob, rootCaller: root, realmId } = world
    const token = await world.token({ scopes: ['ACCESS_DB', 'GLOBAL_READ'] })
    const reader = callerOf(world.main, token)
    for (const caller of [alice, reader]) {
      expect((await caller.remove('/all/plain/public')).status).toBe(403)
      expect((await caller.remove('/public/plain/public')).status).toBe(403)
    }
    expect((await root.remove('/public/plain/alice')).status).toBe(404)
    expect((await root.remove('/public/plain/public')).status).toBe(204)
    expect((await root.remove('/all/plain/bob')).status).toBe(204)
    await root.post('/all/members', { realmId, userId: BOB, permissions: {} })
    expect((await bob.remove('/my/plain/shared')).status).toBe(403)
    expect((await bob.remove('/my/plain/alice')).status).toBe(404)
    expect((await alice.remove('/my/plain/shared')).status).toBe(204)
    expect(await idsOf(root, '/all/plain')).toEqual(['alice'])
  })

  test('32: a member row with a userId gives access without an invitation', async () => {
    await using world = await setupObjects()
    const { bob, rootCaller: root, realmId } = world
    expect((await bob.get('/my/plain/shared')).status).toBe(404)
    const member = await root.post('/all/members', { realmId, userId: BOB })
    expect(member.status).toBe(200)
    expect((await bob.get('/my/plain/shared')).status).toBe(200)
    expect(objectsOf(await bob.get('/my/realms'))).toMatchObject([{ realmId }])
  })
})

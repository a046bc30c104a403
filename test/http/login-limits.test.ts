import { describe, expect, test } from 'bun:test'
import { asClient, MINUTE } from '../auth/setup'
import { PLAIN_IMPORT } from '../setup'
import { public_key, refreshRequest } from './login-setup'
import { anyoneAt, of, PROXY, quotaOf, statuses } from './rate-limit-setup'
import { ALICE, BOB, callerOf, setupData, postJson } from './setup'

describe('tokens', () => {
  const ask = (server: Awaited<ReturnType<typeof setupData>>, claims?: object) =>
    server.anyone.post('/token', {
      ...asClient(server.client),
      scopes: ['ACCESS_DB'],
      ...(claims === undefined ? {} : { claims }),
    })

  test('of a user are counted by the hour, for all clients together', async () => {
    await using server = await setupData({ rateLimits: 'tokens=2/1h' })
    const alice = { sub: ALICE }
    expect(quotaOf(await ask(server, alice))).toEqual({ limit: 2, remaining: 1, reset: 3600 })
    server.clock.advance(30 * MINUTE)
    expect((await ask(server, alice)).status).toBe(200)
    const over = await ask(server, alice)
    expect(over).toMatchObject({ status: 429, body: { code: 'TOO_MANY_REQUESTS' } })
    expect(over.headers.get('retry-after')).toBe('1800')
    expect((await ask(server, { sub: BOB })).status).toBe(200)
    // The client that asks for itself, of which the test has asked for one already.
    expect(await statuses(2, () => ask(server))).toEqual([200, 429])
    server.clock.advance(30 * MINUTE)
    expect((await ask(server, alice)).status).toBe(200)
  })

  test('that are refused are not counted as given', async () => {
    await using server = await setupData({ rateLimits: 'tokens=2/1h,failures=off' })
    for (let times = 0; times < 5; times++) {
      const wrong = await server.anyone.post('/token', {
        grant_type: 'client_credentials',
        client_id: server.client.clientId,
        client_secret: 'wrong',
        scopes: [],
      })
      expect(wrong.status).toBe(401)
    }
    expect((await ask(server)).status).toBe(200)
  })

  test('are not spent by replaying a request of the key’s holder', async () => {
    await using server = await setupData({ rateLimits: 'tokens=3/1h,failures=off' })
    const claims = { sub: ALICE }
    const { client, clock, anyone } = server
    const login = await anyone.post('/token', {
      ...asClient(client),
      scopes: ['ACCESS_DB'],
      claims,
      public_key,
    })
    const { refreshToken } = login.body as { refreshToken: string }
    const overheard = refreshRequest(refreshToken, clock.now())
    expect(quotaOf(await anyone.post('/token', overheard))?.remaining).toBe(1)
    clock.advance(MINUTE)
    expect(await statuses(5, () => anyone.post('/token', overheard))).toEqual(of(401, 5))
    const renewed = await anyone.post('/token', refreshRequest(refreshToken, clock.now()))
    expect({ status: renewed.status, left: quotaOf(renewed)?.remaining }).toEqual({
      status: 200,
      left: 0,
    })
  })

  test('of the command line are not counted', async () => {
    await using server = await setupData({ rateLimits: 'tokens=1/1h' })
    const issue = () =>
      server.commands.run('token.issue', {
        database: 'main',
        subject: ALICE,
        scopes: ['ACCESS_DB'],
      })
    for (let times = 0; times < 3; times++) expect((await issue()).userId).toBe(ALICE)
    expect((await ask(server, { sub: ALICE })).status).toBe(200)
  })

  test('are refused to people who log in in a sentence that may be shown to them', async () => {
    await using server = await setupData({ rateLimits: 'tokens=1/1h' })
    const upload = new Blob(['{"demoUsers": {"foo@demo.local": {}}}']).stream()
    await server.commands.run('import', PLAIN_IMPORT, { upload })
    const demo = () =>
      postJson(`${server.main}/token`, {
        grant_type: 'demo',
        demo_user: 'foo@demo.local',
        scopes: ['ACCESS_DB'],
      })
    expect((await demo()).status).toBe(200)
    const over = await demo()
    expect(over.status).toBe(429)
    expect(over.headers.get('content-type')).toStartWith('text/plain')
    expect(await over.text()).toBe('Too many tokens: the limit is 1 in 1 hour, try again in 1 hour')
    expect(over.headers.get('retry-after')).toBe('3600')
    expect(over.headers.get('ratelimit-remaining')).toBe('0')
  })
})

describe('attempts that fail', () => {
  const wrong = (server: Awaited<ReturnType<typeof setupData>>) =>
    server.anyone.post('/token', {
      grant_type: 'refresh_token',
      refresh_token: 'x',
      time_stamp: server.clock.now(),
      signing_algorithm: 'RS256',
      signature: 'AAAA',
    })

  test('are counted by address, tokens and token requests together', async () => {
    await using server = await setupData({ trustProxy: PROXY, rateLimits: 'failures=4/1m' })
    const from = (address: string, authorization = 'Bearer x') =>
      anyoneAt(server.main, address)('GET', '/my/plain', { headers: { authorization } })
    expect(await statuses(2, () => from('203.0.113.1'))).toEqual([401, 401])
    expect((await from('203.0.113.1', 'x')).status).toBe(401)
    const validated = await anyoneAt(server.main, '203.0.113.1')('GET', '/token/validate')
    expect(validated.body).toMatchObject({ valid: false })
    expect(quotaOf(validated)).toEqual({ limit: 4, remaining: 0, reset: 60 })
    const over = await from('203.0.113.1')
    expect(over).toMatchObject({ status: 429, body: { code: 'TOO_MANY_REQUESTS' } })
    expect(over.headers.get('www-authenticate')).toBeNull()
    expect((await from('203.0.113.2')).status).toBe(401)
    const body = {
      grant_type: 'client_credentials',
      client_id: 'x',
      client_secret: 'x',
      scopes: [],
    }
    const asked = await anyoneAt(server.main, '203.0.113.1')('POST', '/token', { body })
    expect(asked.status).toBe(429)
    server.clock.advance(MINUTE)
    expect((await from('203.0.113.1')).status).toBe(401)
  })

  test('block no good login and no valid token behind the same address', async () => {
    await using server = await setupData({ rateLimits: 'on' })
    const [alice, bob] = [await server.as(ALICE), await server.as(BOB)]
    expect((await alice.get('/my/plain')).status).toBe(200)
    const bad = callerOf(server.main, 'not-a-token')
    expect(await statuses(101, () => bad.get('/my/plain'))).toEqual([...of(401, 100), 429])
    expect(await statuses(2, () => wrong(server))).toEqual([429, 429])
    expect((await alice.get('/my/plain')).status).toBe(200)
    // A token that was never seen before.
    expect((await bob.get('/my/plain')).status).toBe(200)
    expect((await bob.get('/token/validate')).status).toBe(200)
    const login = await server.anyone.post('/token', {
      ...asClient(server.client),
      scopes: ['ACCESS_DB'],
      claims: { sub: ALICE },
      public_key,
    })
    expect(login.status).toBe(200)
    const { accessToken, refreshToken } = login.body as Record<string, string>
    expect((await callerOf(server.main, accessToken).get('/my/plain')).status).toBe(200)
    const renewal = refreshRequest(refreshToken ?? '', server.clock.now())
    expect((await server.anyone.post('/token', renewal)).status).toBe(200)
  })

  test('do not count missing permissions of known callers', async () => {
    await using server = await setupData({ rateLimits: 'failures=1/1m' })
    const alice = await server.as(ALICE)
    expect(await statuses(3, () => alice.get('/all/plain'))).toEqual(of(403, 3))
    await server.root.post('/users', [{ userId: BOB, type: 'prod', deactivated: true }])
    for (let times = 0; times < 3; times++) {
      const login = await server.anyone.post('/token', {
        ...asClient(server.client),
        scopes: ['ACCESS_DB'],
        claims: { sub: BOB },
      })
      expect(login).toMatchObject({ status: 403, body: { code: 'USER_DEACTIVATED' } })
    }
    expect((await wrong(server)).status).toBe(401)
    expect((await wrong(server)).status).toBe(429)
  })
})

describe('logins with providers', () => {
  test('are counted by address, and refused on a page to browsers', async () => {
    await using server = await setupData({ trustProxy: PROXY, rateLimits: 'logins=2/1m' })
    const from = (address: string, path: string, accept = 'text/html') =>
      fetch(server.main + path, {
        headers: { 'x-forwarded-for': address, accept },
        redirect: 'manual',
      })
    const providers = await from('203.0.113.1', '/auth-providers')
    expect(providers.status).toBe(200)
    expect(providers.headers.get('ratelimit-remaining')).toBe('1')
    await from('203.0.113.1', '/oauth/login/google?redirect_uri=x')
    for (const path of ['/oauth/login/google', '/oauth/callback/google']) {
      const page = await from('203.0.113.1', path)
      expect(page.status).toBe(429)
      expect(page.headers.get('content-type')).toStartWith('text/html')
      expect(page.headers.get('retry-after')).toBe('60')
      expect(page.headers.get('ratelimit-limit')).toBe('2')
      expect(await page.text()).toContain('Too many visits from this network')
      const program = await from('203.0.113.1', path, 'application/json')
      expect(await program.json()).toMatchObject({ code: 'TOO_MANY_REQUESTS' })
    }
    expect((await from('203.0.113.1', '/auth-providers')).status).toBe(429)
    expect((await from('203.0.113.2', '/auth-providers')).status).toBe(200)
  })
})

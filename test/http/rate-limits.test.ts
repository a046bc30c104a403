import { describe, expect, test } from 'bun:test'
import { HOUR, MINUTE, SECOND } from '../auth/setup'
import { public_key, refreshRequest } from './login-setup'
import { ALICE, type Answer, BOB, callerOf, type Caller, setupData } from './setup'

/** A proxy on this machine is trusted, so that a caller may come from anywhere. */
const PROXY = '127.0.0.0/8'

interface Quota {
  readonly limit: number
  readonly remaining: number
  readonly reset: number
}

function quotaOf({ headers }: Answer): Quota | undefined {
  const numbers = ['limit', 'remaining', 'reset'].map((name) => headers.get(`ratelimit-${name}`))
  if (numbers.every((text) => text === null)) return undefined
  const [limit = Number.NaN, remaining = Number.NaN, reset = Number.NaN] = numbers.map(Number)
  return { limit, remaining, reset }
}

/** The statuses of so many calls, one after the other. */
async function statuses(times: number, call: () => Promise<Answer>): Promise<number[]> {
  const found: number[] = []
  for (let time = 0; time < times; time++) found.push((await call()).status)
  return found
}

const of = (status: number, times: number) => Array.from({ length: times }, () => status)

/** Somebody without a token at this address. */
function anyoneAt(base: string, address: string): Caller['send'] {
  return (method, path, options = {}) =>
    callerOf(base).send(method, path, {
      ...options,
      headers: { ...options.headers, 'x-forwarded-for': address },
    })
}

describe('a limited answer', () => {
  test('tells what is left, counts down, and begins anew when the window ends', async () => {
    await using server = await setupData({ rateLimits: 'reads=3/1m' })
    const alice = await server.as(ALICE)
    expect(quotaOf(await alice.get('/my/plain'))).toEqual({ limit: 3, remaining: 2, reset: 60 })
    server.clock.advance(20_500)
    // Whatever the answer is, and with the methods that read.
    expect(quotaOf(await alice.get('/my/none'))).toEqual({ limit: 3, remaining: 1, reset: 40 })
    const head = await alice.send('HEAD', '/my/plain')
    expect(quotaOf(head)).toEqual({ limit: 3, remaining: 0, reset: 40 })
    const over = await alice.get('/my/plain')
    expect(over.status).toBe(429)
    expect(quotaOf(over)).toEqual({ limit: 3, remaining: 0, reset: 40 })
    server.clock.advance(39_499)
    expect((await alice.get('/my/plain')).headers.get('retry-after')).toBe('1')
    server.clock.advance(1)
    expect(quotaOf(await alice.get('/my/plain'))).toEqual({ limit: 3, remaining: 2, reset: 60 })
  })

  test('that is one too many says so as every refusal does, and when to come back', async () => {
    await using server = await setupData({ rateLimits: 'reads=1/10m' })
    const alice = await server.as(ALICE)
    await alice.get('/my/plain')
    server.clock.advance(MINUTE)
    const before = server.lines.length
    const over = await alice.get('/my/plain')
    expect(over.body).toEqual({
      code: 'TOO_MANY_REQUESTS',
      message: 'Too many requests that read: the limit is 1 in 10 minutes, try again in 9 minutes',
      requestId: over.headers.get('x-request-id'),
    })
    expect(over.headers.get('retry-after')).toBe('540')
    expect(over.headers.get('cache-control')).toBe('no-store')
    expect(over.headers.get('x-content-type-options')).toBe('nosniff')
    const [entry = ''] = server.lines.slice(before)
    expect(JSON.parse(entry)).toMatchObject({
      path: '/main/my/plain',
      status: 429,
      code: 'TOO_MANY_REQUESTS',
      subject: ALICE,
    })
  })

  // conformance 12
  test('can be read by the page that called, and its preflight is not counted', async () => {
    await using server = await setupData({ rateLimits: 'reads=2/1m,writes=1/1m' })
    const alice = await server.as(ALICE)
    const origin = 'http://localhost:5173'
    for (let times = 0; times < 5; times++) {
      const headers = { origin, 'access-control-request-method': 'POST' }
      const preflight = await server.anyone.send('OPTIONS', '/my/plain', { headers })
      expect(preflight.status).toBe(204)
    }
    for (const status of [200, 200, 429]) {
      const answer = await alice.send('GET', '/my/plain', { headers: { origin } })
      expect(answer.status).toBe(status)
      expect(answer.headers.get('access-control-allow-origin')).toBe(origin)
      const exposed = answer.headers.get('access-control-expose-headers')?.split(', ') ?? []
      for (const name of ['Limit', 'Remaining', 'Reset']) {
        expect(exposed).toContain(`Ratelimit-${name}`)
      }
      expect(exposed).toContain('Retry-After')
    }
  })
})

describe('reads and writes', () => {
  test('are counted apart, and a write is refused before its body is read', async () => {
    await using server = await setupData({ rateLimits: 'reads=1/1m,writes=2/1m' })
    const alice = await server.as(ALICE)
    expect(quotaOf(await alice.post('/my/plain', { id: 'a' }))?.remaining).toBe(1)
    expect(quotaOf(await alice.get('/my/plain'))?.remaining).toBe(0)
    expect(quotaOf(await alice.remove('/my/plain/a'))?.remaining).toBe(0)
    const over = await alice.send('POST', '/my/plain', { body: '{"broken' })
    expect(over.status).toBe(429)
    expect((await alice.get('/my/plain')).status).toBe(429)
  })

  test('of a user are those of all their tokens, and of nobody else', async () => {
    await using server = await setupData({ rateLimits: 'reads=2/1m' })
    const [alice, again, bob] = [
      await server.as(ALICE),
      await server.as(ALICE, ['ACCESS_DB', 'GLOBAL_READ']),
      await server.as(BOB),
    ]
    expect((await alice.get('/my/plain')).status).toBe(200)
    expect((await again.get('/all/plain')).status).toBe(200)
    expect((await alice.get(`/users/${ALICE}`)).status).toBe(429)
    expect(await statuses(3, () => bob.get('/my/plain'))).toEqual([200, 200, 429])
    expect(await statuses(3, () => server.root.get('/my/plain'))).toEqual([200, 200, 429])
    expect(await statuses(3, () => server.anyone.get('/public/plain'))).toEqual([200, 200, 429])
  })

  test('of a user in one database are not those of the same user in another', async () => {
    await using server = await setupData({ rateLimits: 'reads=1/1m' })
    const alice = await server.as(ALICE)
    await server.commands.run('db.create', { name: 'other' })
    const { accessToken } = await server.commands.run('token.issue', {
      database: 'other',
      subject: ALICE,
      scopes: ['ACCESS_DB'],
      expiresIn: null,
    })
    const elsewhere = callerOf(`${server.url}/other`, accessToken)
    expect(await statuses(2, () => alice.get('/my/members'))).toEqual([200, 429])
    expect(await statuses(2, () => elsewhere.get('/my/members'))).toEqual([200, 429])
  })

  test('of a hundred requests at the same time no more pass than of a hundred in a row', async () => {
    await using server = await setupData({ rateLimits: 'reads=30/1m' })
    const alice = await server.as(ALICE)
    const answers = await Promise.all(Array.from({ length: 100 }, () => alice.get('/my/plain')))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(30)
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(70)
  })

  test('are not counted where nobody limits them', async () => {
    await using server = await setupData({ rateLimits: 'reads=1/1m,writes=1/1m,logins=1/1m' })
    for (const path of ['/health', '/ready', '/', '/openapi', '/openapi/json']) {
      for (let times = 0; times < 3; times++) {
        const answer = await fetch(server.url + path)
        await answer.arrayBuffer()
        expect(answer.status).toBe(200)
        expect(answer.headers.get('ratelimit-limit')).toBeNull()
      }
    }
    const alice = await server.as(ALICE)
    const upload = () => alice.send('PUT', '/blob/abc', { body: 'x' })
    expect(await statuses(3, upload)).toEqual(of(200, 3))
    expect(await statuses(3, () => alice.get('/blob/1:none'))).toEqual(of(404, 3))
    expect(await statuses(3, () => server.anyone.get('/no/such/address'))).toEqual(of(404, 3))
    expect(await statuses(3, () => server.anyone.send('PATCH', '/my/plain'))).toEqual(of(405, 3))
  })
})

describe('somebody without a token', () => {
  test('is counted by the address that a trusted proxy names', async () => {
    await using server = await setupData({ trustProxy: PROXY, rateLimits: 'reads=1/1m' })
    const get = (address: string) => anyoneAt(server.main, address)('GET', '/public/plain')
    expect((await get('203.0.113.1')).status).toBe(200)
    expect((await get('203.0.113.2')).status).toBe(200)
    expect((await get('203.0.113.1')).status).toBe(429)
    // What the caller itself writes before the proxy does is not believed.
    expect((await get('198.51.100.9, 203.0.113.1')).status).toBe(429)
  })

  test('is counted by the address of the socket when nobody is trusted', async () => {
    await using server = await setupData({ rateLimits: 'reads=1/1m' })
    const get = (address: string) => anyoneAt(server.main, address)('GET', '/public/plain')
    expect((await get('203.0.113.1')).status).toBe(200)
    expect((await get('203.0.113.2')).status).toBe(429)
  })

  test('is counted with their whole network of 64 bits in version 6', async () => {
    await using server = await setupData({ trustProxy: PROXY, rateLimits: 'reads=1/1m' })
    const get = (address: string) => anyoneAt(server.main, address)('GET', '/public/plain')
    expect((await get('2001:db8:1:2::1')).status).toBe(200)
    expect((await get('2001:db8:1:2:ffff::9')).status).toBe(429)
    expect((await get('2001:db8:1:3::1')).status).toBe(200)
  })

  test('is counted on every route that gives something away', async () => {
    await using server = await setupData({ rateLimits: 'reads=3/1m' })
    expect(quotaOf(await server.anyone.get('/.well-known/jwks.json'))?.remaining).toBe(2)
    expect(quotaOf(await server.anyone.get('/my/plain'))?.remaining).toBe(1)
    expect(quotaOf(await server.anyone.get('/public/plain/a'))?.remaining).toBe(0)
    expect((await server.anyone.get('/.well-known/jwks.json')).status).toBe(429)
  })
})

describe('tokens', () => {
  const ask = (server: Awaited<ReturnType<typeof setupData>>, claims?: object) =>
    server.anyone.post('/token', {
      grant_type: 'client_credentials',
      client_id: server.client.clientId,
      client_secret: server.client.clientSecret,
      scopes: ['ACCESS_DB'],
      ...(claims === undefined ? {} : { claims }),
    })

  test('of a user are counted by the hour, whoever asks for them', async () => {
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

  test('are not spent by who sends again what the holder of the key has sent', async () => {
    await using server = await setupData({ rateLimits: 'tokens=3/1h,failures=off' })
    const claims = { sub: ALICE }
    const { client, clock, anyone } = server
    const login = await anyone.post('/token', {
      grant_type: 'client_credentials',
      client_id: client.clientId,
      client_secret: client.clientSecret,
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
        expiresIn: null,
      })
    for (let times = 0; times < 3; times++) expect((await issue()).userId).toBe(ALICE)
    expect((await ask(server, { sub: ALICE })).status).toBe(200)
  })

  test('are refused to people who log in in a sentence that may be shown to them', async () => {
    await using server = await setupData({ rateLimits: 'tokens=1/1h' })
    const upload = new Blob(['{"demoUsers": {"foo@demo.local": {}}}']).stream()
    const options = { database: 'main', table: null, realm: null, size: null }
    await server.commands.run('import', { ...options, atomic: false, dryRun: false }, { upload })
    const demo = () =>
      fetch(`${server.main}/token`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({
          grant_type: 'demo',
          demo_user: 'foo@demo.local',
          scopes: ['ACCESS_DB'],
        }),
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
    const asked = await anyoneAt(server.main, '203.0.113.1')('POST', '/token', { body: '{"broken' })
    expect(asked.status).toBe(429)
    server.clock.advance(MINUTE)
    expect((await from('203.0.113.1')).status).toBe(401)
  })

  test('do not shut out whoever showed a good token before, and others for a minute at most', async () => {
    await using server = await setupData({ rateLimits: 'failures=2/1m' })
    const [alice, bob] = [await server.as(ALICE), await server.as(BOB)]
    expect((await alice.get('/my/plain')).status).toBe(200)
    expect(await statuses(3, () => wrong(server))).toEqual([401, 401, 429])
    expect((await alice.get('/my/plain')).status).toBe(200)
    expect((await bob.get('/my/plain')).status).toBe(429)
    expect((await bob.get('/token/validate')).status).toBe(429)
    server.clock.advance(MINUTE)
    expect((await bob.get('/my/plain')).status).toBe(200)
  })

  test('are told apart from what somebody who is known may not do', async () => {
    await using server = await setupData({ rateLimits: 'failures=1/1m' })
    const alice = await server.as(ALICE)
    expect(await statuses(3, () => alice.get('/all/plain'))).toEqual(of(403, 3))
    await server.root.post('/users', [{ userId: BOB, type: 'prod', deactivated: true }])
    for (let times = 0; times < 3; times++) {
      const login = await server.anyone.post('/token', {
        grant_type: 'client_credentials',
        client_id: server.client.clientId,
        client_secret: server.client.clientSecret,
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

describe('limits are off', () => {
  test('in development, until a proxy shows itself', async () => {
    await using server = await setupData()
    const alice = await server.as(ALICE)
    expect(await statuses(210, () => alice.get('/my/plain'))).toEqual(of(200, 210))
    expect(quotaOf(await alice.get('/my/plain'))).toBeUndefined()
    await anyoneAt(server.main, '203.0.113.1')('GET', '/public/plain')
    expect(quotaOf(await alice.get('/my/plain'))).toMatchObject({ limit: 200, remaining: 199 })
  })

  test('when the settings say so, wherever it is', async () => {
    await using server = await setupData({ publicUrl: 'https://example.com', rateLimits: 'off' })
    const alice = await server.as(ALICE)
    expect(await statuses(210, () => alice.get('/my/plain'))).toEqual(of(200, 210))
    expect(quotaOf(await alice.get('/my/plain'))).toBeUndefined()
  })

  test.each([
    ['a public address', { publicUrl: 'https://example.com' }],
    ['a trusted proxy', { trustProxy: PROXY }],
    ['another bind', { host: '0.0.0.0' }],
    ['being asked for', { rateLimits: 'on' }],
  ])('not with %s', async (_name, flags) => {
    await using server = await setupData(flags)
    const alice = await server.as(ALICE)
    expect(quotaOf(await alice.get('/my/plain'))).toEqual({ limit: 200, remaining: 199, reset: 60 })
  })
})

test('a clock that is set back or ahead shuts nobody out', async () => {
  await using server = await setupData({ rateLimits: 'reads=2/1m' })
  const alice = await server.as(ALICE)
  const get = async () => (await alice.get('/my/plain')).status
  expect([await get(), await get(), await get()]).toEqual([200, 200, 429])
  server.clock.advance(-HOUR / 2)
  expect(await get()).toBe(429)
  server.clock.advance(MINUTE)
  expect([await get(), await get(), await get()]).toEqual([200, 200, 429])
  server.clock.advance(HOUR / 2)
  expect(await get()).toBe(200)
  server.clock.advance(-HOUR / 2 + SECOND)
  expect(await get()).toBe(200)
  expect(await get()).toBe(429)
  server.clock.advance(MINUTE)
  expect(await get()).toBe(200)
})

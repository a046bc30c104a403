import { describe, expect, test } from 'bun:test'
import { HOUR, MINUTE, SECOND } from '../auth/setup'
import { anyoneAt, of, PROXY, quotaOf, statuses } from './rate-limit-setup'
import { ALICE, BOB, callerOf, setupData } from './setup'

describe('a limited answer', () => {
  test('tells what is left, counts down, and begins anew when the window ends', async () => {
    await using server = await setupData({ rateLimits: 'reads=3/1m' })
    const alice = await server.as(ALICE)
    expect(quotaOf(await alice.get('/my/plain'))).toEqual({ limit: 3, remaining: 2, reset: 60 })
    server.clock.advance(20_500)
    // For any answer, and with the methods that read.
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

  test('41: of a user are counted for all their tokens, and for no other user', async () => {
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

  test('are not counted without a limit', async () => {
    await using server = await setupData({ rateLimits: 'reads=1/1m,writes=1/1m,logins=1/1m' })
    for (const path of ['/health', '/ready', '/']) {
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
  })

  test('of the documentation and of unknown addresses are counted for the network', async () => {
    await using server = await setupData({ rateLimits: 'reads=3/1m,writes=2/1m' })
    const anyone = callerOf(server.url)
    expect(await statuses(2, () => anyone.get('/openapi/json'))).toEqual([200, 200])
    expect(quotaOf(await anyone.get('/main/my/plain/a/b/c'))?.remaining).toBe(0)
    for (const path of ['/openapi/json', '/no/such/address/x', '/elsewhere/all/plain', '/a/b']) {
      expect((await anyone.get(path)).status).toBe(429)
    }
    expect((await server.anyone.get('/public/plain')).status).toBe(429)
    expect(await statuses(3, () => anyone.send('PATCH', '/main/my/plain'))).toEqual([405, 405, 429])
    expect((await anyone.send('POST', '/elsewhere/my/plain', { body: {} })).status).toBe(429)
    // Neither those with a token nor the probes of an operator.
    const alice = await server.as(ALICE)
    expect((await alice.get('/my/plain')).status).toBe(200)
    expect((await anyone.get('/health')).status).toBe(200)
  })
})

describe('an anonymous caller', () => {
  test('is counted by the address that a trusted proxy names', async () => {
    await using server = await setupData({ trustProxy: PROXY, rateLimits: 'reads=1/1m' })
    const get = (address: string) => anyoneAt(server.main, address)('GET', '/public/plain')
    expect((await get('203.0.113.1')).status).toBe(200)
    expect((await get('203.0.113.2')).status).toBe(200)
    expect((await get('203.0.113.1')).status).toBe(429)
    // Entries that the caller itself writes are not trusted.
    expect((await get('198.51.100.9, 203.0.113.1')).status).toBe(429)
  })

  test('is counted by the address of the socket without a trusted proxy', async () => {
    await using server = await setupData({ rateLimits: 'reads=1/1m' })
    const get = (address: string) => anyoneAt(server.main, address)('GET', '/public/plain')
    expect((await get('203.0.113.1')).status).toBe(200)
    expect((await get('203.0.113.2')).status).toBe(429)
    const warnings = server.lines.filter((line) => line.includes('has X-Forwarded-For'))
    expect(warnings).toHaveLength(1)
    expect(JSON.parse(warnings[0] ?? '')).toMatchObject({
      level: 'warning',
      message: expect.stringContaining('trusted with --trust-proxy 127.0.0.1/32'),
    })
  })

  test('behind a trusted proxy causes no warning', async () => {
    await using server = await setupData({ trustProxy: PROXY, rateLimits: 'reads=1/1m' })
    await anyoneAt(server.main, '203.0.113.1')('GET', '/public/plain')
    expect(server.lines.filter((line) => line.includes('has X-Forwarded-For'))).toEqual([])
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

test('a clock that is set back or ahead blocks no caller', async () => {
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

import { describe, expect, test } from 'bun:test'
import { MINUTE } from '../auth/setup'
import { anyoneAt, of, PROXY, quotaOf } from './rate-limit-setup'
import { ALICE, BOB, type Answer, type Caller, setupData } from './setup'

const first = (caller: Caller, identity: string) =>
  caller.post('/sync', { v: 3, clientIdentity: identity })

const later = (caller: Pick<Caller, 'send'>, identity: string) =>
  caller.send('POST', '/sync', {
    body: {
      v: 3,
      clientIdentity: identity,
      lastPull: { serverRevision: '', realms: [ALICE, BOB], inviteRealms: [] },
    },
  })

/** The answers that came so far. */
function collect(requests: readonly Promise<Answer>[]): number[] {
  const statuses: number[] = []
  for (const request of requests) void request.then(({ status }) => statuses.push(status))
  return statuses
}

async function statusesOf(requests: readonly Promise<Answer>[]): Promise<number[]> {
  const answers = await Promise.all(requests)
  return answers.map(({ status }) => status).toSorted((one, other) => one - other)
}

describe('first syncs beyond their rate', () => {
  test('wait before their bodies are read, while others are answered', async () => {
    await using server = await setupData({ rateLimits: 'firstSyncs=2/1m' })
    const [alice, bob] = [await server.as(ALICE), await server.as(BOB)]
    for (const identity of ['1', '2']) expect((await first(alice, identity)).status).toBe(200)
    const torn = alice.send('POST', '/sync', { body: '{' })
    const waiting = [torn, first(alice, '3')]
    const statuses = collect(waiting)
    expect((await alice.get('/my/plain')).status).toBe(200)
    for (const caller of [bob, server.anyone]) expect((await first(caller, '4')).status).toBe(200)
    expect(statuses).toEqual([])
    server.clock.advance(MINUTE)
    expect((await torn).status).toBe(400)
    const { status, headers } = await waiting[1]!
    expect({ status, limit: headers.get('ratelimit-limit') }).toEqual({ status: 200, limit: null })
  })

  test('are not counted for later syncs, however many', async () => {
    await using server = await setupData({ rateLimits: 'firstSyncs=2/1m' })
    const alice = await server.as(ALICE)
    await first(alice, 'device')
    const syncs = Array.from({ length: 20 }, () => later(alice, 'device'))
    for (const { status, headers } of await Promise.all(syncs)) {
      expect({ status, limit: headers.get('ratelimit-limit') }).toEqual({
        status: 200,
        limit: '600',
      })
    }
    expect((await first(alice, 'another')).status).toBe(200)
  })

  test('without a token are counted for each network', async () => {
    await using server = await setupData({ trustProxy: PROXY, rateLimits: 'firstSyncs=1/1m' })
    const sync = (address: string) =>
      anyoneAt(server.main, address)('POST', '/sync', { body: { v: 3, clientIdentity: 'one' } })
    expect((await sync('192.0.2.1')).status).toBe(200)
    const waiting = sync('192.0.2.1')
    const statuses = collect([waiting])
    expect((await sync('192.0.2.2')).status).toBe(200)
    expect(statuses).toEqual([])
    server.clock.advance(MINUTE)
    expect((await waiting).status).toBe(200)
  })

  test('leave their place when their caller is gone', async () => {
    await using server = await setupData({ rateLimits: 'firstSyncs=1/1m' })
    const alice = await server.as(ALICE)
    await first(alice, '1')
    const caller = new AbortController()
    const gone = fetch(`${server.main}/sync`, {
      method: 'POST',
      headers: { authorization: `Bearer ${alice.token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ v: 3, clientIdentity: 'gone' }),
      signal: caller.signal,
    })
    expect((await alice.get('/my/plain')).status).toBe(200)
    caller.abort()
    expect(await gone.catch((error: Error) => error.name)).toBe('AbortError')
    // Its line in the access log: it waits no more.
    while (!server.lines.some((line) => line.includes('/sync') && line.includes('BUSY'))) {
      await Bun.sleep(10)
    }
    const next = first(alice, '2')
    server.clock.advance(MINUTE)
    expect((await next).status).toBe(200)
  })

  test('never wait while rate limits are off', async () => {
    for (const rateLimits of ['off', 'firstSyncs=off']) {
      await using server = await setupData({ rateLimits })
      const alice = await server.as(ALICE)
      const syncs = Array.from({ length: 150 }, (_, n) => first(alice, `${n}`))
      for (const { status } of await Promise.all(syncs)) expect(status).toBe(200)
    }
  })
})

describe('later syncs with ever new names of devices', () => {
  const identities = Array.from({ length: 40 }, (_, n) => `${n}`)

  test('are twenty times those of one device at most, of a user', async () => {
    await using server = await setupData({ rateLimits: 'syncs=2/1m' })
    const alice = await server.as(ALICE)
    // Those that its own limit refuses are not counted for the user.
    const device = Array.from({ length: 50 }, () => later(alice, '0'))
    expect(await statusesOf(device)).toEqual([...of(200, 2), ...of(429, 48)])
    const others = identities.slice(2).map((identity) => later(alice, identity))
    expect(await statusesOf(others)).toEqual(of(200, 38))
    const over = await later(alice, 'another')
    expect(over).toMatchObject({ status: 429, body: { code: 'TOO_MANY_REQUESTS' } })
    expect(over.text).toContain('syncs of all devices: the limit is 40 in 1 minute')
    expect(quotaOf(over)).toMatchObject({ limit: 40, remaining: 0 })
    const bob = await server.as(BOB)
    expect(quotaOf(await later(bob, 'another'))).toMatchObject({ limit: 2, remaining: 1 })
    server.clock.advance(MINUTE)
    expect((await later(alice, 'another')).status).toBe(200)
  })

  test('are as many of a network without a token', async () => {
    await using server = await setupData({ trustProxy: PROXY, rateLimits: 'syncs=2/1m' })
    const at = (address: string) => ({ send: anyoneAt(server.main, address) })
    const all = identities.map((identity) => later(at('192.0.2.1'), identity))
    expect(await statusesOf(all)).toEqual(of(200, 40))
    expect((await later(at('192.0.2.1'), 'another')).status).toBe(429)
    expect((await later(at('192.0.2.2'), 'another')).status).toBe(200)
  })
})

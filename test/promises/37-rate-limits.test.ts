import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { asClient, HOUR, MINUTE } from '../auth/setup'
import { satchelJson } from '../binary/setup'
import { openApplication, setupServed } from '../conformance/addon/setup'
import { public_key, refreshRequest } from '../http/login-setup'
import {
  ALICE,
  type Answer,
  type Caller,
  callerOf,
  type DataServer,
  setupData,
} from '../http/setup'
import {
  formatTime,
  RATE_LIMIT_NAMES,
  RATE_LIMITS,
  type RateLimitName,
} from '../../src/limits/rate-limits'

/**
 * Promise 37 and conformance.md 41: the documented table is enforced, not one more and not one
 * less; 429 with `Retry-After`; what the clients' add-on does never trips it.
 */

const ROOT = join(import.meta.dir, '../..')

test('promise 37: the guide lists the limits of the server', () => {
  const guide = readFileSync(join(ROOT, 'docs/operations.md'), 'utf8')
  for (const name of RATE_LIMIT_NAMES) {
    const { count, window, counts, per } = RATE_LIMITS[name]
    expect(guide).toContain(
      `| \`${name}\` | ${count} in ${formatTime(window)} | ${counts} | ${per} |`,
    )
  }
  expect(guide.match(/^\| `\w+` \| \d+ in /gm)).toHaveLength(RATE_LIMIT_NAMES.length)
})

type RefusingName = Exclude<RateLimitName, 'firstSyncs'>

function askToken({ anyone, client }: DataServer, more: object = {}): Promise<Answer> {
  return anyone.post('/token', {
    ...asClient(client),
    scopes: ['ACCESS_DB'],
    claims: { sub: 'counted@example.com' },
    ...more,
  })
}

/** A call that counts against each limit, except the one that lets requests wait. */
const CALLS: Readonly<
  Record<RefusingName, (server: DataServer, alice: Caller) => Promise<Answer>>
> = {
  reads: (_server, alice) => alice.get('/my/plain'),
  writes: (_server, alice) => alice.post('/my/plain', { id: 'a' }),
  syncs: (_server, alice) => {
    const lastPull = { serverRevision: '', realms: [ALICE], inviteRealms: [] }
    return alice.post('/sync', { clientIdentity: 'device', lastPull })
  },
  tokens: (server) => askToken(server),
  logins: ({ anyone }) => anyone.get('/auth-providers'),
  failures: (server) => askToken(server, { client_secret: 'wrong' }),
}

test.each(Object.keys(CALLS) as RefusingName[])('promise 37: %s, to the last one', async (name) => {
  await using server = await setupData({ rateLimits: 'on' })
  const alice = await server.as(ALICE)
  const { count, window } = RATE_LIMITS[name]
  const passes = name === 'failures' ? 401 : 200
  for (let round = 0; round < 2; round++) {
    for (let n = 1; n <= count; n++) {
      const { status, headers } = await CALLS[name](server, alice)
      const remaining = headers.get('ratelimit-remaining')
      expect({ n, status, remaining }).toEqual({ n, status: passes, remaining: `${count - n}` })
    }
    server.clock.advance(window / 2)
    const over = await CALLS[name](server, alice)
    expect(over).toMatchObject({ status: 429, body: { code: 'TOO_MANY_REQUESTS' } })
    const wait = Number(over.headers.get('retry-after'))
    expect(wait).toBe(window / 2 / 1000)
    server.clock.advance(wait * 1000 - 1)
    expect((await CALLS[name](server, alice)).status).toBe(429)
    server.clock.advance(1)
  }
})

test('promise 37: beyond a hundred first syncs a minute further ones wait, and none gets 429', async () => {
  await using server = await setupData({ rateLimits: 'on' })
  const alice = await server.as(ALICE)
  const statuses: number[] = []
  const syncs = Array.from({ length: 250 }, async (_, n) => {
    const { status } = await alice.post('/sync', { v: 3, clientIdentity: `device ${n}` })
    statuses.push(status)
  })
  const { count, window } = RATE_LIMITS.firstSyncs
  for (let answered = count; answered < syncs.length; answered += count) {
    while (statuses.length < answered) await Bun.sleep(10)
    const bob = await server.as('bob@example.com')
    expect((await bob.post('/sync', { v: 3, clientIdentity: `${answered}` })).status).toBe(200)
    expect(statuses).toHaveLength(answered)
    server.clock.advance(window)
  }
  await Promise.all(syncs)
  expect(new Set(statuses)).toEqual(new Set([200]))
})

/**
 * A day of an application with the add-on: it asks for the providers before a login, logs in, and
 * then refreshes its token five minutes before it ends, with the page reloaded now and then
 * (protocol.md §2.4, §3.2, §4.1).
 */
test('promise 37: a day of the add-on trips nothing', async () => {
  await using server = await setupData({ rateLimits: 'on' })
  const statuses = new Set<number>()
  const note = (answer: Answer) => {
    statuses.add(answer.status)
    return answer.body as { refreshToken: string; accessToken: string }
  }
  for (let logins = 0; logins < 3; logins++) {
    note(await server.anyone.get('/auth-providers'))
    const { refreshToken } = note(await askToken(server, { claims: { sub: ALICE }, public_key }))
    for (let passed = 0; passed < 8 * HOUR; passed += 11 * MINUTE) {
      server.clock.advance(11 * MINUTE)
      const request = refreshRequest(refreshToken, server.clock.now())
      const { accessToken } = note(await server.anyone.post('/token', request))
      note(await callerOf(server.main, accessToken).get('/token/validate'))
    }
  }
  expect([...statuses]).toEqual([200])
})

/** The published one, with a clock so wrong that every `login()` refreshes, as often as it can. */
test('promise 37: the add-on itself trips nothing', async () => {
  await using served = await setupServed({ SATCHEL_RATE_LIMITS: 'on' })
  await Bun.write(join(served.surroundings.cwd, 'demo.json'), '{"demoUsers":{"foo@demo.local":{}}}')
  await satchelJson(['import', 'demo.json'], served.surroundings)
  await using app = await openApplication(served.main, { clockAhead: 20 * HOUR })
  await app.perform({ do: 'login', hints: { email: 'foo@demo.local' } })
  const seen = new Set<string | undefined>()
  // It tells of a refresh a moment later: some tokens are replaced before they are seen.
  for (let times = 0; times < 30 || seen.size <= 20; times++) {
    if (times % 10 === 9) await app.perform({ do: 'restart' })
    await app.perform({ do: 'login' })
    const { accessToken, userId } = await app.user()
    expect(userId).toBe('foo@demo.local')
    seen.add(accessToken)
    const headers = { authorization: `Bearer ${accessToken}` }
    expect((await fetch(`${served.main}/my/realms`, { headers })).status).toBe(200)
  }
})

import { describe, expect, test } from 'bun:test'
import { openSession } from '../../src/control/session'
import { asClient, createTestClock, DAY, HOUR, MINUTE, SECOND, type TestClock } from '../auth/setup'
import { public_key, refreshRequest } from '../http/login-setup'
import { ALICE, type Answer, callerOf, type DataServer, setupData } from '../http/setup'
import { temporaryFolder, startAgain } from '../setup'

/**
 * Promise 11: clocks are wrong in the field. A client whose clock is off by up to 24 h can still
 * refresh, and how much can be configured; an exact replay of a signed refresh request gets the same
 * answer for 10 s and 401 afterwards; a server clock that jumps back never un-expires a token nor
 * breaks the order of ids.
 */

interface Tokens {
  readonly accessToken: string
  readonly refreshToken: string
}

async function logIn({ anyone, client }: DataServer): Promise<Tokens> {
  const { body } = await anyone.post('/token', {
    ...asClient(client),
    scopes: ['ACCESS_DB'],
    claims: { sub: ALICE },
    public_key,
  })
  return body as Tokens
}

async function setup(flags: Readonly<Record<string, unknown>> = {}) {
  const server = await setupData(flags)
  const tokens = await logIn(server)
  return {
    ...server,
    tokens,
    /** By a device whose clock is `off` ms ahead of the server's. */
    refresh: (off = 0): Promise<Answer> =>
      server.anyone.post('/token', refreshRequest(tokens.refreshToken, server.clock.now() + off)),
  }
}

describe('promise 11: a client whose clock is wrong', () => {
  test.each([-DAY, -DAY + 1, -HOUR, -1, 0, 1, HOUR, DAY - 1, DAY])(
    'by %p ms can refresh',
    async (off) => {
      await using server = await setup()
      const { status, body } = await server.refresh(off)
      expect(status).toBe(200)
      const alice = callerOf(server.main, (body as Tokens).accessToken)
      expect((await alice.get('/my/plain')).status).toBe(200)
    },
  )

  test.each([-DAY - 1, DAY + 1, -365 * DAY, 365 * DAY])('by %p ms cannot', async (off) => {
    await using server = await setup()
    const refused = await server.refresh(off)
    expect(refused).toMatchObject({ status: 401, body: { code: 'INVALID_GRANT' } })
    // The add-on takes this type for tokens (protocol.md §2.2).
    expect(refused.text).not.toContain('invalid-timestamp')
    expect((await server.refresh()).status).toBe(200)
  })

  test('may be as wrong as the settings say', async () => {
    await using server = await setup({ maxClockSkew: '60' })
    const statuses: number[] = []
    for (const off of [-60_001, -60_000, 60_000, 60_001]) {
      statuses.push((await server.refresh(off)).status)
    }
    expect(statuses).toEqual([401, 200, 200, 401])
  })
})

describe('promise 11: the same signed request', () => {
  test('gets the same answer, to the byte, for 10 s and 401 afterwards', async () => {
    await using server = await setup()
    const request = refreshRequest(server.tokens.refreshToken, server.clock.now())
    const send = () => server.anyone.post('/token', request)
    const first = await send()
    expect(first.status).toBe(200)
    for (const wait of [1, 4999, 5000]) {
      server.clock.advance(wait)
      expect(await send()).toMatchObject({ status: 200, text: first.text })
    }
    server.clock.advance(1)
    expect(await send()).toMatchObject({ status: 401, body: { code: 'INVALID_GRANT' } })
    // However often, and while its time stamp would still be good.
    server.clock.advance(23 * HOUR)
    expect((await send()).status).toBe(401)
    expect((await server.refresh()).status).toBe(200)
  })

  test('gets none again when the clock of the server jumps back', async () => {
    await using server = await setup()
    const request = refreshRequest(server.tokens.refreshToken, server.clock.now())
    const send = async () => (await server.anyone.post('/token', request)).status
    expect(await send()).toBe(200)
    server.clock.advance(11 * SECOND)
    expect(await send()).toBe(401)
    server.clock.advance(-11 * SECOND)
    expect(await send()).toBe(401)
  })

  test('gets one token when it comes a hundred times at once', async () => {
    await using server = await setup()
    const request = refreshRequest(server.tokens.refreshToken, server.clock.now())
    const answers = await Promise.all(
      Array.from({ length: 100 }, () => server.anyone.post('/token', request)),
    )
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1)
  })
})

describe('promise 11: a server clock that jumps back', () => {
  test('never un-expires a token, on any route', async () => {
    await using server = await setup()
    const alice = callerOf(server.main, server.tokens.accessToken)
    const paths = ['/my/plain', '/plain', '/public/plain', '/token/validate', `/users/${ALICE}`]
    const statuses = async () =>
      await Promise.all(paths.map(async (path) => (await alice.get(path)).status))
    const refused = paths.map(() => 401)
    expect(await statuses()).toEqual(paths.map(() => 200))
    server.clock.advance(HOUR - 1)
    expect(await statuses()).toEqual(paths.map(() => 200))
    server.clock.advance(1)
    expect(await statuses()).toEqual(refused)
    for (const back of [-1, -MINUTE, -HOUR, -DAY, -365 * DAY]) {
      server.clock.advance(back)
      expect({ back, statuses: await statuses() }).toEqual({ back, statuses: refused })
    }
  })

  test('gives a token no more time than it had, and its device can go on', async () => {
    await using server = await setup()
    const alice = callerOf(server.main, server.tokens.accessToken)
    server.clock.advance(HOUR - MINUTE)
    expect((await alice.get('/my/plain')).status).toBe(200)
    server.clock.advance(-12 * HOUR)
    expect((await alice.get('/my/plain')).status).toBe(200)
    server.clock.advance(MINUTE)
    expect((await alice.get('/my/plain')).status).toBe(401)
    const refreshed = (await server.refresh()).body as Tokens
    const again = callerOf(server.main, refreshed.accessToken)
    expect((await again.get('/my/plain')).status).toBe(200)
  })

  test('leaves the ids it makes in their order, and lists too', async () => {
    await using server = await setup()
    const alice = callerOf(server.main, server.tokens.accessToken)
    const made: string[] = []
    for (const jump of [0, 1, -1, -SECOND, -HOUR, 2, -365 * DAY, 0]) {
      server.clock.advance(jump)
      const { body } = await alice.post('/my/items', [{}, {}, {}])
      made.push(...(body as { id: string }[]).map(({ id }) => id))
    }
    expect(made).toHaveLength(24)
    expect(made.toSorted()).toEqual(made)
    expect(new Set(made).size).toBe(made.length)
    const { body } = await alice.get('/my/items')
    expect((body as { id: string }[]).map(({ id }) => id)).toEqual(made)
  })

  test('while it was down leaves them in their order as well', async () => {
    using folder = temporaryFolder()
    const clock = createTestClock()
    const made: string[] = []
    for (const jump of [0, -HOUR, -DAY, HOUR]) {
      clock.advance(jump)
      made.push(...(await makeIds(folder.path, clock)))
    }
    expect(made).toHaveLength(12)
    expect(made.toSorted()).toEqual(made)
  })
})

/** Starts a server on the folder, has it make three ids, and stops it. */
async function makeIds(data: string, clock: TestClock): Promise<string[]> {
  await using server = await startAgain(data, clock)
  await using commands = await openSession(data, () => undefined)
  const upload = new Blob(['{"items": "@id"}']).stream()
  await commands.run('schema.push', { database: 'main', wait: true }, { upload })
  const issue = { database: 'main', subject: ALICE, scopes: ['ACCESS_DB'], expiresIn: null }
  const { accessToken } = await commands.run('token.issue', issue)
  const { body } = await callerOf(`${server.url}/main`, accessToken).post('/my/items', [{}, {}, {}])
  return (body as { id: string }[]).map(({ id }) => id)
}

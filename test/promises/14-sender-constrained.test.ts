import { describe, expect, test } from 'bun:test'
import { createHmac, randomBytes } from 'node:crypto'
import { createDevice } from '../auth/device'
import { asClient, DAY } from '../auth/setup'
import { public_key, refreshRequest } from '../http/login-setup'
import { ALICE, type Answer, callerOf, type DataServer, setupData } from '../http/setup'

/**
 * Promise 14: refresh tokens are sender-constrained (RFC 9700 §2.2.2). One is useless without a fresh
 * signature of the key it was bound to: 0 successes in 1,000 forged tries. It ends with its user, its
 * client, and the key of its client. It does not rotate.
 */

interface Tokens {
  readonly accessToken: string
  readonly refreshToken: string
  readonly claims: { readonly license: string }
}

const thief = createDevice()

/** A login through a client of its own, by a device that holds a key. */
async function setup() {
  const server = await setupData()
  const client = await server.commands.run('client.create', {
    database: 'main',
    scopes: ['ACCESS_DB', 'IMPERSONATE'],
  })
  const { body } = await server.anyone.post('/token', {
    ...asClient(client),
    scopes: ['ACCESS_DB'],
    claims: { sub: ALICE },
    public_key,
  })
  const { refreshToken } = body as Tokens
  const refresh = (): Promise<Answer> => {
    // No two signatures are of the same moment.
    server.clock.advance(1)
    return server.anyone.post('/token', refreshRequest(refreshToken, server.clock.now()))
  }
  return {
    ...server,
    clientId: client.clientId,
    refreshToken,
    refresh,
  }
}

test('promise 14: of 1,000 forged tries none succeeds', async () => {
  await using server = await setup()
  const { refreshToken, clock } = server
  const genuine = refreshRequest(refreshToken, clock.now())
  const right = Buffer.from(genuine.signature, 'base64')
  const now = clock.now()
  const stolen = await stealOther(server)
  const kinds: readonly ((n: number) => Record<string, unknown>)[] = [
    // Everything right but the private key.
    (n) => thief.refreshRequest(refreshToken, now + n),
    (n) => ({ ...thief.refreshRequest(refreshToken, now + n), public_key: thief.public_key }),
    // A signature of another moment, of another token, of another order, of nothing.
    (n) => ({ ...genuine, time_stamp: now + 1 + n }),
    (n) => ({ ...genuine, refresh_token: stolen.refreshToken, time_stamp: now - n }),
    (n) => ({ ...stolen.request, refresh_token: refreshToken, time_stamp: now + n }),
    () => ({ ...genuine, signature: '' }),
    () => ({ ...genuine, signature: undefined }),
    // A damaged one.
    (n) => ({ ...genuine, signature: flipped(right, n * 13).toString('base64') }),
    (n) => ({ ...genuine, signature: right.subarray(0, n % 256).toString('base64') }),
    () => ({ ...genuine, signature: randomBytes(256).toString('base64') }),
    () => ({ ...genuine, signature: Buffer.alloc(256).toString('base64') }),
    // By an algorithm that a public key can answer.
    (n) => ({ ...genuine, time_stamp: now + 1 + n, signing_algorithm: 'none', signature: 'AA==' }),
    (n) => hmac('HS256', refreshToken, now + 1 + n),
    (n) => hmac('RSASSA-PKCS1-v1_5', refreshToken, now + 1 + n),
    // Another token, guessed or altered.
    () => ({ ...genuine, refresh_token: randomBytes(32).toString('base64url') }),
    (n) => ({ ...genuine, refresh_token: altered(refreshToken, n) }),
  ]
  let tries = 0
  const successes: unknown[] = []
  for (let n = 0; tries < 1000; n++) {
    for (const forge of kinds) {
      const request = forge(n)
      const { status, body } = await server.anyone.post('/token', request)
      tries += 1
      if (status !== 400 && status !== 401) successes.push({ request, status, body })
    }
  }
  expect(tries).toBeGreaterThanOrEqual(1000)
  expect(successes).toEqual([])
  // The genuine one was never used up by any of them.
  expect((await server.anyone.post('/token', genuine)).status).toBe(200)
})

describe('promise 14: a refresh token ends', () => {
  const REFUSED = { status: 401, body: { code: 'INVALID_GRANT' } }

  test('with its user, for good', async () => {
    await using server = await setup()
    expect((await server.refresh()).status).toBe(200)
    expect((await server.root.remove(`/users/${ALICE}`)).status).toBe(204)
    expect(await server.refresh()).toMatchObject(REFUSED)
    // A later user with the same id is another user.
    expect((await server.root.post('/users', [{ userId: ALICE, type: 'prod' }])).status).toBe(200)
    expect(await server.refresh()).toMatchObject(REFUSED)
  })

  test('with its client, for good', async () => {
    await using server = await setup()
    await server.commands.run('client.revoke', { database: 'main', id: server.clientId })
    expect(await server.refresh()).toMatchObject(REFUSED)
    expect(await server.refresh()).toMatchObject(REFUSED)
  })

  test('with the key of its client, when that was replaced', async () => {
    await using server = await setup()
    const rotation = { database: 'main', id: server.clientId, days: 1 }
    await server.commands.run('client.rotate', rotation)
    expect((await server.refresh()).status).toBe(200)
    server.clock.advance(DAY)
    expect(await server.refresh()).toMatchObject(REFUSED)
  })

  test('for a user who is deactivated in all but telling them so', async () => {
    await using server = await setup()
    await server.root.post('/users', [{ userId: ALICE, deactivated: true }])
    const { status, body } = await server.refresh()
    expect(status).toBe(200)
    const { accessToken, claims } = body as Tokens
    expect(claims.license).toBe('deactivated')
    const alice = callerOf(server.main, accessToken)
    for (const path of ['/my/plain', '/public/plain', '/token/validate']) {
      expect((await alice.get(path)).status).toBe(403)
    }
  })

  test('not by being used: the clients keep the first one', async () => {
    await using server = await setup()
    for (let times = 0; times < 5; times++) {
      const { status, body } = await server.refresh()
      expect(status).toBe(200)
      expect((body as Tokens).refreshToken).toBe(server.refreshToken)
    }
  })
})

/** A login of another user with their own key, as a thief may have. */
async function stealOther({ anyone, client, clock }: DataServer) {
  const { body } = await anyone.post('/token', {
    ...asClient(client),
    scopes: ['ACCESS_DB'],
    claims: { sub: 'thief@example.com' },
    public_key: thief.public_key,
  })
  const { refreshToken } = body as Tokens
  return { refreshToken, request: thief.refreshRequest(refreshToken, clock.now()) }
}

function hmac(signing_algorithm: string, refresh_token: string, time_stamp: number) {
  const text = `${refresh_token}${time_stamp}`
  const signature = createHmac('sha256', public_key).update(text).digest('base64')
  return { ...refreshRequest(refresh_token, time_stamp), signing_algorithm, signature }
}

function flipped(bytes: Buffer, bit: number): Buffer {
  const copy = Buffer.from(bytes)
  const at = bit % (bytes.length * 8)
  copy[at >> 3]! ^= 1 << (at & 7)
  return copy
}

/** The token with one of its characters changed. */
function altered(token: string, n: number): string {
  const at = n % token.length
  const other = token[at] === 'A' ? 'B' : 'A'
  return token.slice(0, at) + other + token.slice(at + 1)
}

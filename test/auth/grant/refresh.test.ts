import { describe, expect, test } from 'bun:test'
import { generateKeyPairSync, sign } from 'node:crypto'
import { decodeJwt } from 'jose'
import { createAuthority } from '../../../src/auth/authority'
import { hashSecret } from '../../../src/domain/value/secret'
import { createDevice } from '../device'
import {
  asClient,
  codeOf,
  DAY,
  grantTokens,
  HOUR,
  refusalOf,
  setupAuthority,
  type TestAuthority,
} from '../setup'

const alice = {
  sub: 'alice@example.com',
  email: 'alice@example.com',
  name: 'Alice',
  role: 'editor',
}
const device = createDevice()
const thief = createDevice()

async function setupLogin() {
  const server = await setupAuthority()
  const client = await server.addClient('ACCESS_DB', 'GLOBAL_READ', 'IMPERSONATE')
  const login = await server.ask({
    ...asClient(client),
    claims: alice,
    scopes: ['ACCESS_DB', 'GLOBAL_READ'],
    public_key: device.public_key,
  })
  const refreshToken = login.refreshToken!
  return {
    ...server,
    client,
    login,
    refreshToken,
    /** The request of the clients, signed now, with some of it replaced. */
    sign: (changes: Readonly<Record<string, unknown>> = {}) => ({
      ...device.refreshRequest(refreshToken, server.clock.now()),
      ...changes,
    }),
    send: (parameters: Readonly<Record<string, unknown>>) => send(server, parameters),
  }
}

function send(server: TestAuthority, parameters: Readonly<Record<string, unknown>>) {
  return grantTokens(server.authority, parameters)
}

describe('a refresh (protocol.md §2.4)', () => {
  test('gives the same person a new access token', async () => {
    await using server = await setupLogin()
    server.clock.advance(2 * HOUR)
    const answer = await server.send(server.sign())
    expect(answer).toMatchObject({
      type: 'tokens',
      claims: { ...alice, license: 'ok' },
      accessTokenExpiration: server.clock.now() + HOUR,
      refreshToken: server.refreshToken,
      refreshTokenExpiration: null,
      userType: 'prod',
      userId: alice.sub,
      scope: 'ACCESS_DB',
    })
    expect(decodeJwt(answer.accessToken)).toMatchObject({ ...alice, scopes: ['ACCESS_DB'] })
    expect(await server.verify(answer.accessToken)).toMatchObject({ subject: alice.sub })
  })

  test('works as a browser signs it', async () => {
    await using server = await setupAuthority()
    const algorithm = { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' }
    const pair = await crypto.subtle.generateKey(
      { ...algorithm, modulusLength: 2048, publicExponent: new Uint8Array([1, 0, 1]) },
      false,
      ['sign', 'verify'],
    )
    const spki = Buffer.from(await crypto.subtle.exportKey('spki', pair.publicKey))
    const lines = spki
      .toString('base64')
      .match(/.{1,64}/g)!
      .join('\n')
    const public_key = `-----BEGIN PUBLIC KEY-----\n${lines}\n-----END PUBLIC KEY-----`
    const { refreshToken } = await server.ask({ claims: alice, public_key })
    const text = new TextEncoder().encode(refreshToken! + server.clock.now())
    const signature = await crypto.subtle.sign(algorithm.name, pair.privateKey, text)
    const parameters = {
      ...device.refreshRequest(refreshToken!, server.clock.now()),
      scopes: [],
      signature: Buffer.from(signature).toString('base64'),
    }
    expect((await send(server, parameters)).userId).toBe(alice.sub)
  })

  test('works again and again with the first refresh token, and after a restart', async () => {
    await using server = await setupLogin()
    for (let i = 0; i < 5; i++) {
      server.clock.advance(HOUR)
      expect((await server.send(server.sign())).userId).toBe(alice.sub)
    }
    await using again = await createAuthority(server.database, server.clock, server.secretKey)
    server.clock.advance(HOUR)
    const answer = await again.grant({ parameters: server.sign(), authorization: null })
    expect(answer).toMatchObject({ userId: alice.sub })
  })

  test('works with EC keys, and for a client that acts for itself', async () => {
    await using server = await setupAuthority()
    const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const { refreshToken } = await server.ask({
      public_key: publicKey.export({ type: 'spki', format: 'pem' }),
    })
    const text = Buffer.from(refreshToken! + server.clock.now())
    const signature = sign('sha256', text, { key: privateKey, dsaEncoding: 'ieee-p1363' })
    const answer = await send(server, {
      ...device.refreshRequest(refreshToken!, server.clock.now()),
      scopes: [],
      signing_algorithm: 'ES256',
      signature: signature.toString('base64'),
    })
    expect(answer).toMatchObject({ userType: 'client', userId: server.client.clientId })
  })

  test('takes the other names of the algorithm, and numbers from a form', async () => {
    await using server = await setupLogin()
    for (const signing_algorithm of ['RSA256', 'RS256']) {
      server.clock.advance(1)
      expect((await server.send(server.sign({ signing_algorithm }))).userId).toBe(alice.sub)
    }
    server.clock.advance(1)
    const form = server.sign({ time_stamp: String(server.clock.now()) })
    expect((await server.send(form)).userId).toBe(alice.sub)
  })

  test('gives the scopes of the login, or fewer, never more', async () => {
    await using server = await setupLogin()
    const ask = (scopes: unknown) => {
      server.clock.advance(1)
      return server.send(server.sign({ scopes }))
    }
    expect((await ask(undefined)).scope).toBe('ACCESS_DB GLOBAL_READ')
    expect((await ask(['GLOBAL_READ'])).scope).toBe('GLOBAL_READ')
    expect((await ask([])).scope).toBe('')
    expect(await codeOf(() => ask(['ACCESS_DB', 'IMPERSONATE']))).toBe('INVALID_SCOPE')
    expect(await codeOf(() => ask([42]))).toBe('INVALID_REQUEST')
  })

  test('stays bound to its key', async () => {
    await using server = await setupLogin()
    await server.send(server.sign({ public_key: device.public_key }))
    server.clock.advance(1)
    const other = server.sign({ public_key: thief.public_key })
    expect(await codeOf(() => server.send(other))).toBe('INVALID_REQUEST')
  })
})

describe('a refresh is refused', () => {
  test('without a part of its proof', async () => {
    await using server = await setupLogin()
    for (const name of ['refresh_token', 'time_stamp', 'signing_algorithm', 'signature']) {
      for (const value of [undefined, null, '', {}, []]) {
        const request = server.sign({ [name]: value })
        expect(await codeOf(() => server.send(request))).toBe('INVALID_REQUEST')
      }
    }
    for (const time_stamp of [1.5, Number.NaN, 1e300, '1e3', '-1']) {
      expect(await codeOf(() => server.send(server.sign({ time_stamp })))).toBe('INVALID_REQUEST')
    }
  })

  test('alike for an unknown token, a wrong signature and another key, and never says "expired"', async () => {
    await using server = await setupLogin()
    const now = server.clock.now()
    const other = await server.ask({ claims: alice, public_key: thief.public_key })
    const refusals = [
      device.refreshRequest('unknown', now),
      thief.refreshRequest(server.refreshToken, now),
      device.refreshRequest(other.refreshToken!, now),
      server.sign({ signature: 'AAAA' }),
      server.sign({ signing_algorithm: 'none' }),
      server.sign({ signing_algorithm: 'HS256' }),
      server.sign({ time_stamp: now + 1 }),
      device.refreshRequest(`${server.refreshToken} `, now),
      device.refreshRequest(server.login.accessToken, now),
    ]
    const told = new Set<string>()
    for (const request of refusals) {
      const { code, message } = await refusalOf(() => server.send(request))
      told.add(`${code} ${message}`)
    }
    expect([...told]).toEqual([expect.stringMatching(/^INVALID_GRANT /)])
    expect([...told].join()).not.toMatch(/expired/i)
    await server.send(server.sign())
  })

  test('as an access token (promise 13)', async () => {
    await using server = await setupLogin()
    expect(await codeOf(() => server.verify(server.refreshToken))).toBe('INVALID_TOKEN')
  })

  test('in another database', async () => {
    await using server = await setupLogin()
    const database = await server.store.create('other')
    await using other = await createAuthority(database, server.clock, server.secretKey)
    const request = { parameters: server.sign(), authorization: null }
    expect(await codeOf(() => other.grant(request))).toBe('INVALID_GRANT')
  })

  test('after 180 days without use, but not before', async () => {
    await using server = await setupLogin()
    server.clock.advance(180 * DAY)
    await server.send(server.sign())
    server.clock.advance(180 * DAY)
    await server.send(server.sign())
    server.clock.advance(180 * DAY + 1)
    expect(await codeOf(() => server.send(server.sign()))).toBe('INVALID_GRANT')
  })
})

test('unused refresh tokens are deleted, not only rejected', async () => {
  await using server = await setupLogin()
  const idle = await server.ask({ claims: alice, public_key: device.public_key })
  server.clock.advance(100 * DAY)
  await server.send(server.sign())
  server.clock.advance(81 * DAY)
  const isKept = (token: string) =>
    server.database.read((tx) => tx.refreshTokens.find(hashSecret(token)) !== undefined)
  expect(await isKept(idle.refreshToken!)).toBe(true)
  await server.send(server.sign())
  expect(await isKept(idle.refreshToken!)).toBe(false)
  expect(await isKept(server.refreshToken)).toBe(true)
})

describe('the same signed request (promise 11)', () => {
  test('gets nothing else for it within the ten seconds', async () => {
    await using server = await setupLogin()
    const request = server.sign()
    await server.send(request)
    const wider = { ...request, scopes: ['ACCESS_DB', 'GLOBAL_READ'] }
    expect(await codeOf(() => server.send(wider))).toBe('INVALID_GRANT')
    const unsigned = { ...request, signature: 'AAAA' }
    expect(await codeOf(() => server.send(unsigned))).toBe('INVALID_GRANT')
  })

  test('gets none after a restart', async () => {
    await using server = await setupLogin()
    const parameters = server.sign()
    await server.send(parameters)
    await using again = await createAuthority(server.database, server.clock, server.secretKey)
    const request = { parameters, authorization: null }
    expect(await codeOf(() => again.grant(request))).toBe('INVALID_GRANT')
  })

  test('gets none as long as its time stamp is good, though old uses are forgotten', async () => {
    await using server = await setupLogin()
    const early = device.refreshRequest(server.refreshToken, server.clock.now() + DAY)
    await server.send(early)
    for (let hours = 0; hours < 50; hours += 5) {
      server.clock.advance(5 * HOUR)
      await server.send(server.sign())
      expect(await codeOf(() => server.send(early))).toBe('INVALID_GRANT')
    }
  })
})

test('old uses are forgotten some at a time by each request, until none is left', async () => {
  await using server = await setupLogin()
  const uses = Array.from({ length: 2_500 }, (_, at) => at)
  await server.database.write((tx) => {
    for (const at of uses) tx.refreshTokens.recordUse('old', at, 0)
  })
  const left: number[] = []
  for (let requests = 0; requests < 4; requests++) {
    server.clock.advance(1_000)
    await server.send(server.sign())
    const found = await server.database.read((tx) =>
      uses.filter((at) => tx.refreshTokens.findUse('old', at) !== undefined),
    )
    left.push(found.length)
  }
  expect(left).toEqual([1_500, 500, 0, 0])
})

import { describe, expect, test } from 'bun:test'
import { generateKeyPairSync } from 'node:crypto'
import { decodeJwt } from 'jose'
import { revokeClient, rotateClient } from '../../../src/domain/database/client'
import { SCOPES } from '../../../src/domain/value/scope'
import { listEveryUser } from '../../../src/domain/user/list'
import {
  folderOf,
  asClient,
  codeOf,
  DAY,
  grantTokens,
  HOUR,
  MINUTE,
  refusalOf,
  SECOND,
  setupAuthority,
} from '../setup'
import { readBasic, requireClaims } from '../../../src/auth/grant/client-credentials'
import { flattenClaims } from '../../../src/auth/grant/issuer'

const alice = { sub: 'alice@example.com', email: 'alice@example.com', name: 'Alice' }

describe('a token for the client itself (spec.md §2.2)', () => {
  test('is answered with everything the clients read', async () => {
    await using server = await setupAuthority()
    const { clientId } = server.client
    const answer = await server.ask({ scopes: ['ACCESS_DB', 'GLOBAL_READ'] })
    expect(answer).toEqual({
      type: 'tokens',
      claims: { sub: clientId, license: 'ok' },
      accessToken: expect.any(String),
      accessTokenExpiration: server.clock.now() + HOUR,
      userType: 'client',
      userId: clientId,
      access_token: answer.accessToken,
      token_type: 'Bearer',
      expires_in: 3600,
      scope: 'ACCESS_DB GLOBAL_READ',
    })
    expect(decodeJwt(answer.accessToken)).toEqual({
      iss: `urn:satchel:${server.database.id}`,
      aud: server.database.id,
      sub: clientId,
      client_id: clientId,
      scopes: ['ACCESS_DB', 'GLOBAL_READ'],
      iat: server.clock.now() / SECOND,
      exp: (server.clock.now() + HOUR) / SECOND,
      jti: expect.stringMatching(/^[\w-]{22}$/),
    })
  })

  test('makes no user', async () => {
    await using server = await setupAuthority()
    await server.ask({})
    await server.ask({ claims: { sub: server.client.clientId, name: 'Myself' } })
    expect(await server.database.read((tx) => listEveryUser(tx))).toEqual([])
  })
})

describe('a token for a person', () => {
  test('carries who they are, and the claims of the application', async () => {
    await using server = await setupAuthority()
    const claims = { ...alice, sub: 'Alice@Example.com', role: 'editor' }
    const answer = await server.ask({ scopes: ['ACCESS_DB'], claims })
    expect(answer).toMatchObject({
      claims: { ...alice, role: 'editor', license: 'ok' },
      userType: 'prod',
      userId: alice.sub,
      data: { displayName: 'Alice', email: alice.email },
    })
    expect(decodeJwt(answer.accessToken)).toMatchObject({ ...alice, role: 'editor' })
    expect(await server.verify(answer.accessToken)).toEqual({
      subject: alice.sub,
      email: alice.email,
      name: 'Alice',
      scopes: new Set(['ACCESS_DB']),
      credential: {
        facts: expect.objectContaining({
          subject: alice.sub,
          clientId: server.client.clientId,
          login: null,
          incarnation: 1,
        }),
        verified: server.clock.now(),
        expires: expect.any(Number),
      },
      names: expect.objectContaining({ subject: alice.sub, email: alice.email }),
    })
  })

  test('creates them once, however many ask at the same time', async () => {
    await using server = await setupAuthority()
    await Promise.all(Array.from({ length: 20 }, () => server.ask({ claims: alice })))
    server.clock.advance(HOUR)
    await server.ask({ claims: { ...alice, name: 'Another name' } })
    const users = await server.database.read((tx) => listEveryUser(tx))
    expect(users).toHaveLength(1)
    expect(users[0]).toMatchObject({
      id: alice.sub,
      type: 'prod',
      created: server.clock.now() - HOUR,
      data: { displayName: 'Alice', email: alice.email },
    })
  })

  test('notes their last login when there is time for it', async () => {
    await using server = await setupAuthority()
    await server.ask({ claims: alice })
    server.clock.advance(MINUTE)
    await server.ask({ claims: alice })
    const lastLogin = async () =>
      (await server.database.read((tx) => tx.users.find(alice.sub)))?.lastLogin
    expect(await lastLogin()).toBe(server.clock.now() - MINUTE)
    await server.authority[Symbol.asyncDispose]()
    expect(await lastLogin()).toBe(server.clock.now())
  })

  test('needs a client with IMPERSONATE, regardless of the requested scopes (conformance 17)', async () => {
    await using server = await setupAuthority()
    const able = await server.addClient('ACCESS_DB', 'IMPERSONATE')
    const unable = await server.addClient('ACCESS_DB', 'GLOBAL_READ', 'GLOBAL_WRITE')
    const parameters = { scopes: ['ACCESS_DB'], claims: alice }
    expect((await server.ask({ ...asClient(able), ...parameters })).userId).toBe(alice.sub)
    const refusal = await refusalOf(() => server.ask({ ...asClient(unable), ...parameters }))
    expect(refusal.code).toBe('UNAUTHORIZED_CLIENT')
    expect(refusal.message).toContain('IMPERSONATE')
    expect((await server.ask({ ...asClient(unable), claims: null })).userType).toBe('client')
  })

  test('is never one of another client', async () => {
    await using server = await setupAuthority()
    const other = await server.addClient('ACCESS_DB')
    const refusal = await refusalOf(() => server.ask({ claims: { sub: other.clientId } }))
    expect(refusal.code).toBe('INVALID_REQUEST')
    expect(refusal.message).toContain('"sub"')
    expect(await server.database.read((tx) => listEveryUser(tx))).toEqual([])
  })

  test('is refused while they are deactivated', async () => {
    await using server = await setupAuthority()
    await server.ask({ claims: alice })
    await server.database.write((tx) => {
      const user = tx.users.find(alice.sub)
      tx.users.put({ ...user!, deactivated: server.clock.now() })
    })
    expect(await codeOf(() => server.ask({ claims: alice }))).toBe('USER_DEACTIVATED')
  })

  test('tells their type, until when they may, and that it is over', async () => {
    await using server = await setupAuthority()
    await server.ask({ claims: alice })
    const validUntil = server.clock.now() + DAY
    await server.database.write((tx) => {
      const user = tx.users.find(alice.sub)
      tx.users.put({ ...user!, type: 'eval', validUntil })
    })
    const answer = await server.ask({ claims: alice })
    expect(answer).toMatchObject({ userType: 'eval', userValidUntil: validUntil })
    expect(answer.claims['license']).toBe('ok')
    server.clock.advance(DAY)
    expect((await server.ask({ claims: alice })).claims['license']).toBe('expired')
  })

  test('is refused with bad claims before anything is written', async () => {
    await using server = await setupAuthority()
    expect(await codeOf(() => server.ask({ claims: 'alice' }))).toBe('INVALID_REQUEST')
    expect(await codeOf(() => server.ask({ claims: { sub: '#x' } }))).toBe('INVALID_REQUEST')
    expect(await codeOf(() => server.ask({ claims: { ...alice, iss: 'x' } }))).toBe(
      'RESERVED_CLAIM',
    )
    expect(await server.database.read((tx) => listEveryUser(tx))).toEqual([])
  })
})

describe('scopes (design.md §4)', () => {
  test('are what is requested and no more, each once', async () => {
    await using server = await setupAuthority()
    const scopes = ['GLOBAL_READ', 'ACCESS_DB', 'ACCESS_DB']
    expect((await server.ask({ scopes })).scope).toBe('ACCESS_DB GLOBAL_READ')
    expect((await server.ask({ scopes: [] })).scope).toBe('')
  })

  test('may be the string of OAuth', async () => {
    await using server = await setupAuthority()
    const parameters = { scopes: undefined, scope: 'ACCESS_DB  GLOBAL_READ' }
    expect((await server.ask(parameters)).scope).toBe('ACCESS_DB GLOBAL_READ')
  })

  test('all six mean what the client may have, duplicates too', async () => {
    await using server = await setupAuthority()
    const client = await server.addClient('ACCESS_DB', 'GLOBAL_READ')
    for (const scopes of [SCOPES, [...SCOPES, 'DELETE_DB']]) {
      expect((await server.ask({ scopes })).scope).toBe(SCOPES.join(' '))
      expect((await server.ask({ ...asClient(client), scopes })).scope).toBe(
        'ACCESS_DB GLOBAL_READ',
      )
    }
  })

  test('beyond what the client holds are refused by name (conformance 16)', async () => {
    await using server = await setupAuthority()
    const client = await server.addClient('ACCESS_DB')
    for (const surplus of ['GLOBAL_READ', 'CREATE_DB', '', 'constructor', 'access_db']) {
      const scopes = ['ACCESS_DB', surplus]
      const refusal = await refusalOf(() => server.ask({ ...asClient(client), scopes }))
      expect(refusal.code).toBe('INVALID_SCOPE')
      expect(refusal.message).toContain(`"${surplus}"`)
      expect(refusal.message).not.toContain('"ACCESS_DB"')
    }
    expect(await codeOf(() => server.ask({ scopes: [...SCOPES, 'MORE'] }))).toBe('INVALID_SCOPE')
  })

  test('are refused in few words when there are many', async () => {
    await using server = await setupAuthority()
    const scopes = Array.from({ length: 10_000 }, (_, i) => `scope${i}${'x'.repeat(200)}`)
    const refusal = await refusalOf(() => server.ask({ scopes }))
    expect(refusal.message.length).toBeLessThan(1000)
  })

  test('must be there, and strings', async () => {
    await using server = await setupAuthority()
    for (const scopes of [undefined, null, 42, {}, [42], ['ACCESS_DB', null]]) {
      expect(await codeOf(() => server.ask({ scopes }))).toBe('INVALID_REQUEST')
    }
  })
})

describe('the times of a token', () => {
  test('are what is asked for', async () => {
    await using server = await setupAuthority()
    const now = server.clock.now()
    const short = await server.ask({ expires_in: '10 min' })
    expect(short).toMatchObject({ accessTokenExpiration: now + 10 * MINUTE, expires_in: 600 })
    expect((await server.ask({ expires_in: '24h' })).accessTokenExpiration).toBe(now + DAY)
    expect((await server.ask({ expires_in: 5 })).expires_in).toBe(5)
    const later = await server.ask({ expires_in: '1h', not_before: '2h' })
    expect(later.accessTokenExpiration).toBe(now + 3 * HOUR)
    expect(decodeJwt(later.accessToken).nbf).toBe((now + 2 * HOUR) / SECOND)
  })

  test('hold: not before, and not after (conformance 19)', async () => {
    await using server = await setupAuthority()
    const { authority, clock } = server
    const { accessToken } = await server.ask({ not_before: '1h', expires_in: '10 min' })
    const early = await refusalOf(() => authority.verify(accessToken))
    expect([early.code, early.message]).toEqual(['INVALID_TOKEN', expect.stringContaining('yet')])
    clock.advance(HOUR)
    await authority.verify(accessToken)
    clock.advance(10 * MINUTE - 1)
    await authority.verify(accessToken)
    clock.advance(1)
    const late = await refusalOf(() => authority.verify(accessToken))
    expect([late.code, late.message]).toEqual(['INVALID_TOKEN', expect.stringContaining('expired')])
  })

  test('stay within the limits', async () => {
    await using server = await setupAuthority()
    for (const expires_in of ['24h 1s', '1441 min', '0', '-1h', '999ms', 'soon', {}]) {
      expect(await codeOf(() => server.ask({ expires_in }))).toBe('INVALID_REQUEST')
    }
    for (const not_before of ['25h', '-1s', 'soon']) {
      expect(await codeOf(() => server.ask({ not_before }))).toBe('INVALID_REQUEST')
    }
  })

  test('stay within the limits of this server', async () => {
    await using server = await setupAuthority({ maxExpiresIn: 600, maxNotBefore: 0 })
    expect((await server.ask({})).expires_in).toBe(600)
    expect(await codeOf(() => server.ask({ expires_in: '11 min' }))).toBe('INVALID_REQUEST')
    expect(await codeOf(() => server.ask({ not_before: '1s' }))).toBe('INVALID_REQUEST')
  })
})

describe('the client', () => {
  test('may name itself in the header instead', async () => {
    await using server = await setupAuthority()
    const { clientId, clientSecret } = server.client
    const basic = Buffer.from(`${clientId}:${clientSecret}`).toString('base64')
    const ask = (parameters: Record<string, unknown>) =>
      grantTokens(
        server.authority,
        { grant_type: 'client_credentials', scopes: [], ...parameters },
        `Basic ${basic}`,
      )
    expect((await ask({})).userId).toBe(clientId)
    expect((await ask({ client_id: clientId })).userId).toBe(clientId)
    expect(await codeOf(() => ask({ client_id: 'cOther' }))).toBe('INVALID_REQUEST')
    expect(await codeOf(() => ask({ client_secret: clientSecret }))).toBe('INVALID_REQUEST')
  })

  test('must be named in full', async () => {
    await using server = await setupAuthority()
    for (const missing of ['client_id', 'client_secret']) {
      for (const value of [undefined, null, '', 42, {}]) {
        expect(await codeOf(() => server.ask({ [missing]: value }))).toBe('INVALID_REQUEST')
      }
    }
  })

  test('is refused when its secret is wrong, and told nothing else', async () => {
    await using server = await setupAuthority()
    const wrong = { client_secret: 'wrong', scopes: ['NONSENSE'], claims: 42 }
    expect(await codeOf(() => server.ask(wrong))).toBe('INVALID_CLIENT')
    expect(await codeOf(() => server.ask({ ...wrong, client_id: 'cOther' }))).toBe('INVALID_CLIENT')
  })

  test('is told that its key has expired, which only it can hear', async () => {
    await using server = await setupAuthority()
    await server.database.write((tx) => rotateClient(tx, server.clock, server.client.clientId, 1))
    await server.ask({})
    server.clock.advance(DAY)
    const refusal = await refusalOf(() => server.ask({}))
    expect(refusal.code).toBe('CLIENT_EXPIRED')
    expect(refusal.message).toContain('expired')
    expect(await codeOf(() => server.ask({ client_secret: 'wrong' }))).toBe('INVALID_CLIENT')
  })

  test('is unknown as soon as it is revoked', async () => {
    await using server = await setupAuthority()
    const other = await server.addClient('ACCESS_DB')
    await server.ask(asClient(other))
    await server.database.write((tx) => revokeClient(tx, other.clientId))
    expect(await codeOf(() => server.ask(asClient(other)))).toBe('INVALID_CLIENT')
  })
})

describe('a public key', () => {
  const { publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const pem = publicKey.export({ type: 'spki', format: 'pem' }).toString()

  test('gives a refresh token bound to it, kept as a hash (conformance 18)', async () => {
    await using server = await setupAuthority()
    const answer = await server.ask({ claims: alice, scopes: ['ACCESS_DB'], public_key: pem })
    expect(answer.refreshToken).toMatch(/^[\w-]{43}$/)
    expect(answer.refreshTokenExpiration).toBeNull()
    await server.store[Symbol.asyncDispose]()
    const file = await Bun.file(`${folderOf(server.database)}/database.sqlite`).text()
    expect(file).toContain(alice.sub)
    expect(file).not.toContain(answer.refreshToken!)
    expect(file).not.toContain(server.client.clientSecret)
  })

  test('that is none is refused', async () => {
    await using server = await setupAuthority()
    for (const public_key of ['', 'x', 42, {}]) {
      expect(await codeOf(() => server.ask({ public_key }))).toBe('INVALID_REQUEST')
    }
  })
})

const encode = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`

describe('an Authorization header (RFC 6749 §2.3.1)', () => {
  test('with Basic names the client and its secret, form-encoded', () => {
    expect(readBasic(encode('id:secret'))).toEqual({ clientId: 'id', clientSecret: 'secret' })
    expect(readBasic(encode('id:a:b'))).toEqual({ clientId: 'id', clientSecret: 'a:b' })
    expect(readBasic(encode('i%3Ad:a+b%2B'))).toEqual({ clientId: 'i:d', clientSecret: 'a b+' })
    expect(readBasic(encode('id:secret').replace('Basic', 'bAsIc  '))?.clientId).toBe('id')
  })

  test('of another kind, or none, is not about the client', () => {
    expect(readBasic(null)).toBeUndefined()
    expect(readBasic('')).toBeUndefined()
    expect(readBasic('Bearer abc')).toBeUndefined()
  })

  test.each([['Basic '], ['Basic !!!'], [encode('id')], [encode(':secret')], [encode('%:%')]])(
    'that cannot be read is refused: %p',
    async (header) => {
      expect(await codeOf(() => readBasic(header))).toBe('INVALID_CLIENT')
    },
  )
})

describe('claims', () => {
  test('name a person and carry what else the application says', () => {
    const given = {
      sub: 'Alice@Example.com',
      email: ' Alice@Example.com ',
      name: 'Alice',
      role: 'editor',
      teams: ['a', { b: null }],
    }
    const claims = requireClaims(given)
    expect(claims).toEqual({
      id: 'alice@example.com',
      email: 'alice@example.com',
      name: 'Alice',
      extra: { role: 'editor', teams: ['a', { b: null }] },
    })
    expect(flattenClaims(claims)).toEqual({
      sub: 'alice@example.com',
      email: 'alice@example.com',
      name: 'Alice',
      role: 'editor',
      teams: ['a', { b: null }],
    })
  })

  test('may leave e-mail and name out, or null', () => {
    const bare = { id: 'alice', email: null, name: null, extra: {} }
    expect(requireClaims({ sub: 'alice' })).toEqual(bare)
    expect(requireClaims({ sub: 'alice', email: null, name: null })).toEqual(bare)
    expect(flattenClaims(requireClaims({ sub: 'alice' }))).toEqual({ sub: 'alice' })
  })

  test('may not say what the server says', async () => {
    const reserved =
      'iss aud exp iat nbf jti scopes scope client_id license userType token_use cnf'.split(' ')
    for (const name of reserved) {
      const refusal = await refusalOf(() => requireClaims({ sub: 'alice', [name]: 1 }))
      expect(refusal.code).toBe('RESERVED_CLAIM')
      expect(refusal.message).toContain(name)
    }
    const polluting: unknown = JSON.parse('{"sub":"alice","__proto__":{"x":1}}')
    expect((await refusalOf(() => requireClaims(polluting))).code).toBe('RESERVED_CLAIM')
  })

  test('pass on names that mean something in JavaScript only', () => {
    const claims = requireClaims(JSON.parse('{"sub":"alice","constructor":1,"toString":2}'))
    expect(Object.entries(claims.extra)).toEqual([
      ['constructor', 1],
      ['toString', 2],
    ])
  })

  test.each([
    ['no object', 'alice'],
    ['an array', [{ sub: 'alice' }]],
    ['without sub', {}],
    ['with a sub that is no string', { sub: 42 }],
    ['with a realm for a sub', { sub: 'rlm-public' }],
    ['with a private key for a sub', { sub: '#x' }],
    ['with an e-mail that is no string', { sub: 'alice', email: ['a@b.c'] }],
    ['with a name that is no string', { sub: 'alice', name: {} }],
    ['with an empty name', { sub: 'alice', name: '' }],
    ['with half a character', { sub: 'alice', name: '\ud800' }],
    ['with too many', { sub: 'alice', ...numbered(33) }],
    ['too large', { sub: 'alice', name: 'x'.repeat(4096) }],
    ['too large in bytes', { sub: 'alice', name: 'ä'.repeat(2048) }],
  ])('are refused when they are %s', async (_, value) => {
    expect((await refusalOf(() => requireClaims(value))).code).toBe('INVALID_REQUEST')
  })

  test('may be 32 besides the person', () => {
    const claims = requireClaims({ sub: 'alice', email: 'a@b.c', name: 'A', ...numbered(32) })
    expect(Object.keys(claims.extra).length).toBe(32)
  })
})

function numbered(count: number): Record<string, number> {
  return Object.fromEntries(Array.from({ length: count }, (_, i) => [`claim${i}`, i]))
}

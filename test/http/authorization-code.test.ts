import { describe, expect, test } from 'bun:test'
import { generateKeyPairSync } from 'node:crypto'
import { MINUTE } from '../auth/setup'
import { codeOfLogin, connectOpenId, setupLogins } from '../oauth/setup'

const { publicKey: PUBLIC_KEY } = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  publicKeyEncoding: { type: 'spki', format: 'pem' },
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
})

// protocol.md §2.3
describe('grant_type authorization_code', () => {
  test('163: exchanges the code for tokens with a refresh token bound to the key', async () => {
    await using server = await setupLogins()
    await connectOpenId(server, { type: 'google' })
    const code = await codeOfLogin(server, 'google')
    const { status, body } = await server.exchange(code, { public_key: PUBLIC_KEY })
    expect(status).toBe(200)
    expect(body).toMatchObject({
      type: 'tokens',
      claims: {
        sub: 'alice@example.com',
        email: 'alice@example.com',
        name: 'Alice Ångström',
        license: 'ok',
      },
      userType: 'prod',
      data: { displayName: 'Alice Ångström', email: 'alice@example.com' },
      refreshToken: expect.any(String),
      refreshTokenExpiration: null,
      scope: 'ACCESS_DB',
    })
    const authorization = `Bearer ${String(body['accessToken'])}`
    const realms = await fetch(`${server.main}/my/realms`, { headers: { authorization } })
    expect(realms.status).toBe(200)
  })

  test('163: refuses a code that is unknown, was used or is over', async () => {
    await using server = await setupLogins()
    await connectOpenId(server, { type: 'google' })
    const refusal = {
      status: 401,
      body: {
        type: 'error',
        title: 'Login failed',
        messageCode: 'INVALID_OTP',
        message: 'This login has expired or was used already: log in again',
        messageParams: {},
        error: 'invalid_grant',
        error_description: 'This login has expired or was used already: log in again',
        code: 'INVALID_OTP',
        requestId: expect.any(String),
      },
    }
    expect(await server.exchange('unknown')).toEqual(refusal)
    const late = await codeOfLogin(server, 'google')
    server.clock.advance(5 * MINUTE)
    expect(await server.exchange(late)).toEqual(refusal)
    const used = await codeOfLogin(server, 'google')
    server.clock.advance(5 * MINUTE - 1)
    expect((await server.exchange(used)).status).toBe(200)
    expect(await server.exchange(used)).toEqual(refusal)
  })

  test('says what is wrong with the request before it uses the code up', async () => {
    await using server = await setupLogins()
    await connectOpenId(server, { type: 'google' })
    const code = await codeOfLogin(server, 'google')
    const wrong = [
      [{ public_key: 'no key' }, 'INVALID_REQUEST'],
      [{ scopes: ['GLOBAL_READ'] }, 'INVALID_SCOPE'],
      [{ scopes: 'x'.repeat(3) }, 'INVALID_SCOPE'],
      [{ intent: 'steal' }, 'INVALID_REQUEST'],
      [{ code: '' }, 'INVALID_REQUEST'],
    ] as const
    for (const [parameters, expected] of wrong) {
      const { status, body } = await server.exchange(code, parameters)
      expect({ status, code: body['code'] }).toEqual({ status: 400, code: expected })
      expect(body).toMatchObject({ type: 'error', messageCode: 'GENERIC_ERROR' })
    }
    expect((await server.exchange(code)).status).toBe(200)
  })

  test('167: leads to the user with this address, for every provider', async () => {
    for (const isMailFirst of [true, false]) {
      await using server = await setupLogins()
      await connectOpenId(server, { type: 'google' })
      const ways = [
        async () => server.exchange(await codeOfLogin(server, 'google')),
        async () =>
          server.ask({ grant_type: 'otp', ...(await server.mailedCode('Alice@Example.com')) }),
      ]
      const bodies = []
      for (const way of isMailFirst ? ways.toReversed() : ways) bodies.push((await way()).body)
      expect(bodies.map(({ userId }) => userId)).toEqual(['alice@example.com', 'alice@example.com'])
      const authorization = `Bearer ${await server.token({ scopes: ['ACCESS_DB', 'GLOBAL_READ'] })}`
      const users = await fetch(`${server.main}/users`, { headers: { authorization } })
      expect(await users.json()).toMatchObject({ data: [{ userId: 'alice@example.com' }] })
    }
  })
})

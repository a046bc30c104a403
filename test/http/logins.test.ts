import { describe, expect, test } from 'bun:test'
import { HOUR } from '../auth/setup'
import { wrongCode } from '../auth/otp-setup'
import { ALICE, bodyOf, FOO, public_key, refreshRequest, setupLogin } from './login-setup'
import type { LoginServer } from './login-setup'

/** The requests and answers of people who log in themselves: otp, demo and refresh_token. */

const APP = 'http://localhost:5173'

/** Every way in, each with a key that it may refresh with. */
const WAYS = {
  'otp in two steps': async (server: LoginServer) => {
    const { otp_id } = await bodyOf(await server.ask())
    return await server.give(otp_id, (await server.mail()).variables.otp, { public_key })
  },
  'otp by a link': async (server: LoginServer) => {
    await server.ask({}, { origin: APP })
    const { searchParams } = new URL((await server.mail()).variables.link)
    const [otp_id, otp] = [searchParams.get('otpId'), searchParams.get('otp')]
    return await server.send({ grant_type: 'otp', otp_id, otp, scopes: ['ACCESS_DB'], public_key })
  },
  'otp-email and otp-token': async (server: LoginServer) => {
    expect((await server.send({ grant_type: 'otp-email', email: ALICE })).status).toBe(200)
    const { otp } = (await server.mail()).variables
    return await server.send({ grant_type: 'otp-token', email: ALICE, otp, public_key })
  },
  demo: async (server: LoginServer) => {
    await server.importDemoUser()
    const request = { grant_type: 'demo', demo_user: FOO, scopes: ['ACCESS_DB'], public_key }
    return await server.send(request)
  },
}

describe.each(Object.entries(WAYS))('protocol.md §2.1, §2.2: %s', (_, logIn) => {
  test('gives the tokens of a person who may read what is theirs and no more', async () => {
    await using server = await setupLogin()
    const answer = await logIn(server)
    expect(answer.status).toBe(200)
    expect(answer.headers.get('cache-control')).toBe('no-store')
    expect(answer.headers.get('content-type')).toStartWith('application/json')
    const tokens = await bodyOf(answer)
    expect(tokens).toMatchObject({
      type: 'tokens',
      accessTokenExpiration: server.clock.now() + HOUR,
      refreshToken: expect.any(String),
      refreshTokenExpiration: null,
    })
    const headers = { authorization: `Bearer ${tokens.accessToken}` }
    expect((await fetch(`${server.main}/my/members`, { headers })).status).toBe(200)
    expect((await fetch(`${server.main}/all/members`, { headers })).status).toBe(403)
  })
})

describe('protocol.md §2.1: step 1', () => {
  test('sends nothing for a page that is not listed', async () => {
    await using server = await setupLogin()
    const answer = await server.ask({}, { origin: 'https://evil.example' })
    expect(answer.status).toBe(403)
    expect(server.lines.join('')).not.toContain('"logger":"mail"')
  })
})

describe('protocol.md §2.3: a refusal at a login dialog', () => {
  test('of a wrong code is 401 with a sentence, while it may be tried again (conformance 14, 69)', async () => {
    await using server = await setupLogin()
    const { otp_id } = await bodyOf(await server.ask())
    const { otp } = (await server.mail()).variables
    const answer = await server.give(otp_id, wrongCode(otp))
    expect(answer.status).toBe(401)
    expect(answer.headers.get('content-type')).toStartWith('text/plain')
    expect(await answer.text()).toBe('This code is wrong: you can try 4 more times')
    const nothing = await server.give(otp_id, '')
    expect({ status: nothing.status, text: await nothing.text() }).toEqual({
      status: 401,
      text: 'Type the code from the mail',
    })
  })

  test('of a malformed request is 400 with a sentence', async () => {
    await using server = await setupLogin()
    const answer = await server.ask({ email: 'alice' })
    expect(answer.status).toBe(400)
    expect(answer.headers.get('content-type')).toStartWith('text/plain')
    expect(await answer.text()).toStartWith('That is not an e-mail address: ')
  })

  test('is JSON with a code when it is 403: the dialog begins anew with it', async () => {
    await using server = await setupLogin()
    const refusals = [
      [await server.give('nothing', 'K7QM2XWD'), 'OTP_EXPIRED'],
      [await server.send({ grant_type: 'otp-token', email: ALICE, otp: 'x' }), 'OTP_EXPIRED'],
      [
        await server.send({ grant_type: 'demo', demo_user: FOO, scopes: [] }),
        'USER_NOT_REGISTERED',
      ],
    ] as const
    for (const [answer, code] of refusals) {
      expect(answer.status).toBe(403)
      expect(answer.headers.get('content-type')).toStartWith('application/json')
      expect(await bodyOf(answer)).toEqual({
        code,
        message: expect.any(String),
        requestId: expect.any(String),
      } as never)
    }
  })

  test('says in text when to try again', async () => {
    await using server = await setupLogin()
    for (let asked = 0; asked < 10; asked++) await server.ask()
    const answer = await server.ask()
    expect(answer.status).toBe(429)
    expect(answer.headers.get('retry-after')).toBe('3600')
    expect(await answer.text()).toBe('Too many login attempts: try again in 60 minutes')
  })
})

test('a refused refresh is 401 in the words of OAuth, and never says "expired" (protocol.md §2.4)', async () => {
  await using server = await setupLogin()
  const { refreshToken } = await bodyOf(await WAYS.demo(server))
  const request = refreshRequest(refreshToken, server.clock.now())
  const answer = await server.send({ ...request, signature: 'AAAA' })
  expect(answer.status).toBe(401)
  const text = await answer.text()
  expect(JSON.parse(text)).toMatchObject({ error: 'invalid_grant', code: 'INVALID_GRANT' })
  // A clock that is wrong by more than a day is answered alike (conformance 75).
  expect(JSON.parse(text)).not.toHaveProperty('type')
  expect(text).not.toContain('expired')
})

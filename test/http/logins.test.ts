import { describe, expect, test } from 'bun:test'
import { DAY, HOUR } from '../auth/setup'
import { wrongCode } from '../auth/otp-setup'
import { ALICE, bodyOf, FOO, public_key, refreshRequest, setupLogin } from './login-setup'
import type { LoginServer } from './login-setup'

/** The requests and answers of people who log in themselves: otp, demo and refresh_token. */

const BOB = 'bob@example.com'
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

  test('gives a refresh token that works again and again (§2.4, conformance 73, 74)', async () => {
    await using server = await setupLogin()
    const { refreshToken, claims, userType } = await bodyOf(await logIn(server))
    for (let times = 0; times < 3; times++) {
      server.clock.advance(HOUR)
      const answer = await server.send(refreshRequest(refreshToken, server.clock.now()))
      expect(answer.status).toBe(200)
      const renewed = await bodyOf(answer)
      expect(renewed).toMatchObject({ type: 'tokens', refreshToken, claims, userType })
      expect(renewed['accessTokenExpiration']).toBe(server.clock.now() + HOUR)
      const headers = { authorization: `Bearer ${renewed.accessToken}` }
      expect((await fetch(`${server.main}/my/members`, { headers })).status).toBe(200)
    }
  })
})

describe('protocol.md §2.1: step 1', () => {
  test('answers which code is on its way and nothing else (conformance 68)', async () => {
    await using server = await setupLogin()
    const answer = await server.ask()
    expect(answer.status).toBe(200)
    expect(answer.headers.get('cache-control')).toBe('no-store')
    expect(await answer.text()).toMatch(/^\{"type":"otp-sent","otp_id":"[\w-]{22}"\}$/)
    expect((await server.mail()).to).toBe(ALICE)
  })

  test('names the page in the mail, and links to it', async () => {
    await using server = await setupLogin()
    const answer = await server.ask({}, { origin: APP })
    expect(answer.headers.get('access-control-allow-origin')).toBe(APP)
    const { subject, text, variables } = await server.mail()
    expect(subject).toBe(`${variables.otp} is your code for localhost:5173`)
    expect(text).toContain(`\n${APP}/?otpId=${variables.otp_id}&otp=${variables.otp}\n`)
  })

  test('sends nothing for a page that is not listed', async () => {
    await using server = await setupLogin()
    const answer = await server.ask({}, { origin: 'https://evil.example' })
    expect(answer.status).toBe(403)
    expect(server.lines.join('')).not.toContain('"logger":"mail"')
  })

  test('lets the owner of a client that may do everything log in as another (conformance 78)', async () => {
    await using server = await setupLogin()
    await server.token({ sub: BOB })
    const scopes = ['ACCESS_DB', 'GLOBAL_READ', 'GLOBAL_WRITE']
    const owned = { database: 'main', scopes, name: null, email: ALICE }
    await server.commands.run('client.create', owned)
    const email = `${ALICE} as ${BOB}`
    const { otp_id } = await bodyOf(await server.ask({ email }))
    const { to, variables } = await server.mail()
    expect(to).toBe(ALICE)
    const answer = await bodyOf(await server.give(otp_id, variables.otp, { email }))
    expect(answer).toMatchObject({ userId: BOB })
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
    for (let tries = 0; tries < 3; tries++) await server.give(otp_id, wrongCode(otp))
    const over = await server.give(otp_id, wrongCode(otp))
    expect(over.status).toBe(403)
    expect(await bodyOf(over)).toMatchObject({
      code: 'OTP_EXPIRED',
      message: 'This code is no longer valid: ask for a new one',
    })
    expect((await server.give(otp_id, otp)).status).toBe(403)
  })

  test.each([
    [
      'otp',
      { email: 'alice' },
      400,
      'That is not an e-mail address: it must look like alice@example.com',
    ],
    ['otp', { email: FOO }, 400, 'Demo users have no mailbox: log in with grant_type demo'],
    [
      'otp',
      { scopes: undefined },
      400,
      '"scopes" is missing: send an array of scopes, which may be empty',
    ],
    ['otp', { scopes: ['ROOT'] }, 400, 'These scopes cannot be granted: "ROOT"'],
    ['otp', { intent: 'steal' }, 400, '"intent" must be "login" or "register"'],
    ['otp', { otp: 'K7QM2XWD' }, 400, '"otp_id" is missing or not a string'],
    [
      'otp-email',
      { email: 7 },
      400,
      'That is not an e-mail address: it must look like alice@example.com',
    ],
    ['otp-token', {}, 400, '"otp" is missing or not a string'],
    ['demo', {}, 400, '"demo_user" is missing or not a string'],
    ['demo', { demo_user: FOO, scopes: [7] }, 400, '"scopes" must be an array of strings'],
  ])('of grant_type %s with %p is text: %p', async (grant_type, changes, status, sentence) => {
    await using server = await setupLogin()
    const answer = await server.ask({ grant_type, ...changes })
    expect(answer.status).toBe(status)
    expect(answer.headers.get('content-type')).toStartWith('text/plain')
    expect(await answer.text()).toBe(sentence)
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

describe('protocol.md §2.4: a refusal of a refresh', () => {
  test.each([
    ['a forged signature', { signature: 'AAAA' }],
    ['another time', { time_stamp: 1 }],
    ['an algorithm of other keys', { signing_algorithm: 'ES256' }],
    ['an unknown token', { refresh_token: 'nothing' }],
  ])('with %s is 401 in the words of OAuth, and never says "expired"', async (_, changes) => {
    await using server = await setupLogin()
    const { refreshToken } = await bodyOf(await WAYS.demo(server))
    const request = refreshRequest(refreshToken, server.clock.now())
    const answer = await server.send({ ...request, ...changes })
    expect(answer.status).toBe(401)
    const text = await answer.text()
    expect(JSON.parse(text)).toMatchObject({ error: 'invalid_grant', code: 'INVALID_GRANT' })
    expect(text).not.toContain('expired')
  })

  test('tells a clock that is wrong by a day nothing else (conformance 75)', async () => {
    await using server = await setupLogin()
    const { refreshToken } = await bodyOf(await WAYS.demo(server))
    const refresh = (off: number) =>
      server.send(refreshRequest(refreshToken, server.clock.now() + off))
    expect((await refresh(-DAY)).status).toBe(200)
    expect((await refresh(DAY)).status).toBe(200)
    const late = await refresh(DAY + 1)
    expect(late.status).toBe(401)
    expect(await bodyOf(late)).not.toHaveProperty('type')
  })
})

describe('protocol.md §2.5: what a token claims', () => {
  test('has the address in lower case (conformance 76)', async () => {
    await using server = await setupLogin()
    const { otp_id } = await bodyOf(await server.ask({ email: 'Alice@EXAMPLE.com' }))
    const { otp } = (await server.mail()).variables
    const tokens = await bodyOf(await server.give(otp_id, otp, { email: 'ALICE@example.com' }))
    expect(tokens).toMatchObject({
      claims: { sub: ALICE, email: ALICE, license: 'ok' },
      userId: ALICE,
    })
  })

  test('has the address of a demo user as both (conformance 71)', async () => {
    await using server = await setupLogin()
    expect(await bodyOf(await WAYS.demo(server))).toMatchObject({
      claims: { sub: FOO, email: FOO, license: 'ok' },
      userType: 'demo',
    })
  })

  test('says that the licence is over, at login and at refresh (conformance 77)', async () => {
    await using server = await setupLogin()
    const policy = { seats: null, hookUrl: null }
    const evaluation = { database: 'main', newUsers: 'eval', evalDays: 7, ...policy } as const
    await server.commands.run('policy.set', evaluation)
    const first = await bodyOf(await WAYS['otp in two steps'](server))
    expect(first).toMatchObject({ userType: 'eval', evalDaysLeft: 7, claims: { license: 'ok' } })
    server.clock.advance(7 * DAY)
    const expired = { userType: 'eval', evalDaysLeft: 0, claims: { license: 'expired' } }
    const refresh = refreshRequest(first.refreshToken, server.clock.now())
    expect(await bodyOf(await server.send(refresh))).toMatchObject(expired)
  })

  test('says that its user is deactivated, who then can only refresh (conformance 77)', async () => {
    await using server = await setupLogin()
    const { refreshToken } = await bodyOf(await WAYS.demo(server))
    const user = JSON.stringify({ userId: FOO, deactivated: true })
    const asItWas = { isNew: false, displayName: null, email: null }
    await server.commands.run('user.write', { database: 'main', user, ...asItWas })
    const answer = await server.send(refreshRequest(refreshToken, server.clock.now()))
    expect(answer.status).toBe(200)
    const { accessToken, claims } = await bodyOf(answer)
    expect(claims).toMatchObject({ license: 'deactivated' })
    const headers = { authorization: `Bearer ${accessToken}` }
    expect((await fetch(`${server.main}/my/members`, { headers })).status).toBe(403)
  })
})

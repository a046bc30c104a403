import { describe, expect, test } from 'bun:test'
import { decodeJwt } from 'jose'
import { revokeClient } from '../../../src/domain/database/client'
import { createDevice } from '../device'
import { codeOf, HOUR, MINUTE, refusalOf } from '../setup'
import { ALICE, BOB, setupOtp, wrongCode } from '../otp-setup'

const { public_key } = createDevice()

describe('step 2 (protocol.md §2.2, §2.5)', () => {
  test('gives tokens for the address', async () => {
    await using server = await setupOtp()
    const answer = await server.login()
    expect(answer).toMatchObject({
      type: 'tokens',
      claims: { sub: ALICE, email: ALICE, license: 'ok' },
      accessTokenExpiration: server.clock.now() + HOUR,
      userType: 'prod',
      userId: ALICE,
      data: { email: ALICE },
      scope: 'ACCESS_DB',
    })
    expect(answer.refreshToken).toBeUndefined()
    expect(decodeJwt(answer.accessToken)).toMatchObject({ sub: ALICE, client_id: 'public' })
    expect(await server.verify(answer.accessToken)).toMatchObject({
      subject: ALICE,
      email: ALICE,
    })
  })

  test('calls a known person by their name', async () => {
    await using server = await setupOtp()
    await server.addUser(ALICE, { data: { displayName: 'Alice A.', email: ALICE } })
    expect((await server.login()).claims).toMatchObject({ sub: ALICE, name: 'Alice A.' })
  })

  test('takes the code as it was typed', async () => {
    await using server = await setupOtp()
    const otp_id = await server.ask()
    const { otp } = await server.mail()
    const typed = `${otp.slice(0, 4)}-${otp.slice(4)} `.toLowerCase().replaceAll('0', 'o')
    const request = { grant_type: 'otp', email: ALICE, scopes: ['ACCESS_DB'], otp_id }
    expect((await server.tokens({ ...request, otp: typed })).userId).toBe(ALICE)
  })

  test('gives the scopes of step 1 and no more', async () => {
    await using server = await setupOtp()
    const otp_id = await server.ask({ scopes: [] })
    const { otp } = await server.mail()
    const request = { grant_type: 'otp', email: ALICE, otp_id, otp }
    expect(await codeOf(() => server.send({ ...request, scopes: ['ACCESS_DB'] }))).toBe(
      'INVALID_SCOPE',
    )
    expect((await server.tokens(request)).scope).toBe('')
  })

  test('asks again for a wrong code, five times (conformance 69)', async () => {
    await using server = await setupOtp()
    const otp_id = await server.ask()
    const { otp } = await server.mail()
    const request = { grant_type: 'otp', email: ALICE, scopes: ['ACCESS_DB'], otp_id }
    const messages: string[] = []
    for (let tries = 0; tries < 4; tries++) {
      const refusal = await refusalOf(() => server.send({ ...request, otp: wrongCode(otp) }))
      expect(refusal.code).toBe('INVALID_OTP')
      messages.push(refusal.message)
    }
    expect(messages).toEqual([
      'This code is wrong: you can try 4 more times',
      'This code is wrong: you can try 3 more times',
      'This code is wrong: you can try 2 more times',
      'This code is wrong: you can try once more',
    ])
    expect(await refusalOf(() => server.send({ ...request, otp: wrongCode(otp) }))).toMatchObject({
      code: 'OTP_EXPIRED',
      message: 'This code is no longer valid: ask for a new one',
    })
    expect(await codeOf(() => server.send({ ...request, otp }))).toBe('OTP_EXPIRED')
  })

  test('takes the right code at the last try', async () => {
    await using server = await setupOtp()
    const otp_id = await server.ask()
    const { otp } = await server.mail()
    const request = { grant_type: 'otp', email: ALICE, scopes: ['ACCESS_DB'], otp_id }
    for (let tries = 0; tries < 4; tries++) {
      await codeOf(() => server.send({ ...request, otp: wrongCode(otp) }))
    }
    expect((await server.tokens({ ...request, otp })).userId).toBe(ALICE)
  })

  test('refuses a code that was used, is too old, was never given or is another’s', async () => {
    await using server = await setupOtp()
    const first = { otp_id: await server.ask(), otp: (await server.mail()).otp }
    const second = { otp_id: await server.ask(), otp: (await server.mail()).otp }
    const request = { grant_type: 'otp', email: ALICE, scopes: ['ACCESS_DB'] }
    const refused = (more: object) => codeOf(() => server.send({ ...request, ...more }))
    await server.tokens({ ...request, ...first })
    expect(await refused(first)).toBe('OTP_EXPIRED')
    expect(await refused({ otp_id: second.otp_id, otp: first.otp })).toBe('INVALID_OTP')
    expect(await refused({ otp_id: 'nothing', otp: second.otp })).toBe('OTP_EXPIRED')
    expect(await refused({ ...second, email: BOB })).toBe('INVALID_OTP')
    const third = { otp_id: await server.ask(), otp: (await server.mail()).otp }
    server.clock.advance(10 * MINUTE - 1)
    expect((await server.tokens({ ...request, ...third })).userId).toBe(ALICE)
    server.clock.advance(1)
    expect(await refused(second)).toBe('OTP_EXPIRED')
  })

  test('does not take a code for longer because the clock was set back', async () => {
    await using server = await setupOtp()
    const code = { otp_id: await server.ask(), otp: (await server.mail()).otp }
    server.clock.advance(9 * MINUTE)
    await codeOf(() => server.send({ grant_type: 'otp', otp_id: 'nothing', otp: 'x' }))
    server.clock.advance(-HOUR)
    await codeOf(() => server.send({ grant_type: 'otp', otp_id: 'nothing', otp: 'x' }))
    server.clock.advance(2 * MINUTE)
    const request = { grant_type: 'otp', email: ALICE, scopes: ['ACCESS_DB'], ...code }
    expect(await codeOf(() => server.send(request))).toBe('OTP_EXPIRED')
  })

  test.each([
    [{ otp: '' }, 'INVALID_OTP Type the code from the mail'],
    [{ otp: null }, 'INVALID_REQUEST'],
    [{ otp: 12345678 }, 'INVALID_REQUEST'],
    [{ otp_id: undefined }, 'INVALID_REQUEST "otp_id" is missing or not a string'],
    [
      { grant_type: 'otp-token', otp: undefined },
      'INVALID_REQUEST "otp" is missing or not a string',
    ],
    [{ email: 'alice' }, 'INVALID_REQUEST'],
    [{ public_key: 'mine' }, 'INVALID_REQUEST'],
    [{ intent: 'steal' }, 'INVALID_REQUEST'],
    [{ scopes: 'GLOBAL_WRITE' }, 'INVALID_SCOPE'],
  ])('refuses %p without using up the code', async (changes, refusal) => {
    await using server = await setupOtp()
    const otp_id = await server.ask()
    const { otp } = await server.mail()
    const request = { grant_type: 'otp', email: ALICE, scopes: ['ACCESS_DB'], otp_id, otp }
    for (let times = 0; times < 6; times++) {
      const { code, message } = await refusalOf(() => server.send({ ...request, ...changes }))
      expect(`${code} ${message}`).toStartWith(refusal)
    }
    expect((await server.tokens(request)).userId).toBe(ALICE)
  })
})

test('a magic link logs in without the address (conformance 70)', async () => {
  await using server = await setupOtp()
  await server.ask({}, { origin: 'https://app.example.com' })
  const { link } = await server.mail()
  const { searchParams } = new URL(link)
  const [otp_id, otp] = [searchParams.get('otpId'), searchParams.get('otp')]
  const request = { grant_type: 'otp', otp_id, otp, scopes: ['ACCESS_DB'], public_key }
  const answer = await server.tokens(request)
  expect(answer).toMatchObject({ userId: ALICE, refreshToken: expect.any(String) })
  expect(await codeOf(() => server.send(request))).toBe('OTP_EXPIRED')
})

describe('the words of the SDK (protocol.md §14.1, conformance 38)', () => {
  test('are otp-email and otp-token, without scopes and without an id', async () => {
    await using server = await setupOtp()
    expect(await server.send({ grant_type: 'otp-email', email: ALICE })).toMatchObject({
      type: 'otp-sent',
    })
    const { otp } = await server.mail()
    const answer = await server.tokens({ grant_type: 'otp-token', email: ALICE, otp, public_key })
    expect(answer).toMatchObject({
      userId: ALICE,
      accessToken: expect.any(String),
      refreshToken: expect.any(String),
      scope: 'ACCESS_DB',
    })
    expect(await codeOf(() => server.send({ grant_type: 'otp-token', email: ALICE, otp }))).toBe(
      'OTP_EXPIRED',
    )
  })

  test('find every code that was asked for so', async () => {
    await using server = await setupOtp()
    for (let codes = 0; codes < 2; codes++) {
      await server.send({ grant_type: 'otp-email', email: ALICE })
    }
    const [first, second] = [await server.mail(), await server.mail()]
    const give = (otp: string) => server.send({ grant_type: 'otp-token', email: ALICE, otp })
    expect(await codeOf(() => give(wrongCode(first.otp)))).toBe('INVALID_OTP')
    expect(await give(second.otp)).toMatchObject({ type: 'tokens' })
    expect(await give(first.otp)).toMatchObject({ type: 'tokens' })
    expect(await codeOf(() => give(first.otp))).toBe('OTP_EXPIRED')
  })

  test('are tried five times in ten minutes from one network, which costs no other a try', async () => {
    await using server = await setupOtp()
    await server.send({ grant_type: 'otp-email', email: ALICE })
    const { otp } = await server.mail()
    const give = (otp: string, address: string, email = ALICE) =>
      server.send({ grant_type: 'otp-token', email, otp }, { address })
    const messages: string[] = []
    for (let tries = 0; tries < 5; tries++) {
      const refusal = await refusalOf(() => give(wrongCode(otp), '203.0.113.1'))
      expect(refusal.code).toBe('INVALID_OTP')
      messages.push(refusal.message)
    }
    expect(messages.at(0)).toBe('This code is wrong: you can try 4 more times')
    expect(messages.at(-1)).toBe('This code is wrong: you can try again in 10 minutes')
    expect(await refusalOf(() => give(otp, '203.0.113.1'))).toMatchObject({
      code: 'TOO_MANY_REQUESTS',
      retryAfter: 600,
    })
    // From other networks, and for another address from the same one.
    for (let network = 2; network < 50; network++) {
      expect(await codeOf(() => give(wrongCode(otp), `203.0.113.${network}`))).toBe('INVALID_OTP')
    }
    await server.send({ grant_type: 'otp-email', email: BOB })
    const bob = await server.mail()
    expect(await give(bob.otp, '203.0.113.1', BOB)).toMatchObject({ userId: BOB })
    expect(await give(otp, '198.51.100.9')).toMatchObject({ userId: ALICE })
  })

  test('of the right person do not count', async () => {
    await using server = await setupOtp()
    for (let logins = 0; logins < 7; logins++) {
      await server.send({ grant_type: 'otp-email', email: ALICE })
      const { otp } = await server.mail()
      const answer = await server.send({ grant_type: 'otp-token', email: ALICE, otp })
      expect(answer).toMatchObject({ userId: ALICE })
    }
  })

  test('of an attacker do not end a code that somebody holds by its id', async () => {
    await using server = await setupOtp()
    await server.send({ grant_type: 'otp-email', email: ALICE })
    const otp_id = await server.ask()
    const [, { otp }] = [await server.mail(), await server.mail()]
    const wrong = { grant_type: 'otp-token', email: ALICE, otp: wrongCode(otp) }
    for (let tries = 0; tries < 10; tries++) await codeOf(() => server.send(wrong))
    const request = { grant_type: 'otp', email: ALICE, scopes: ['ACCESS_DB'], otp_id, otp }
    expect((await server.tokens(request)).userId).toBe(ALICE)
  })

  test('of one code cannot be used up by the holders of other ids', async () => {
    await using server = await setupOtp()
    const otp_id = await server.ask()
    const { otp } = await server.mail()
    const give = (code: string) => server.send({ grant_type: 'otp-token', email: ALICE, otp: code })
    expect(await codeOf(() => give(otp))).toBe('OTP_EXPIRED')
    for (let tries = 0; tries < 6; tries++) await codeOf(() => give(wrongCode(otp)))
    const request = { grant_type: 'otp', email: ALICE, scopes: ['ACCESS_DB'], otp_id, otp }
    expect((await server.tokens(request)).userId).toBe(ALICE)
  })
})

describe('one as another (conformance 78)', () => {
  const as = `${ALICE} as ${BOB}`

  test('logs in as a user who exists, with a client that may read and write everything', async () => {
    await using server = await setupOtp()
    await server.addUser(BOB, { data: { displayName: 'Bob', email: BOB } })
    await server.addClient(ALICE, 'ACCESS_DB', 'GLOBAL_READ', 'GLOBAL_WRITE')
    for (const email of [as, `<${ALICE}> as <${BOB}>`, `${ALICE.toUpperCase()}  AS  ${BOB}`]) {
      const otp_id = await server.ask({ email })
      const { otp, ...mail } = await server.mail()
      expect(mail).toMatchObject({ to: ALICE, email: BOB, notice: '' })
      const request = { grant_type: 'otp', email, scopes: ['ACCESS_DB'], otp_id, otp }
      expect(await server.tokens(request)).toMatchObject({
        userId: BOB,
        claims: { sub: BOB, email: BOB, name: 'Bob' },
        scope: 'ACCESS_DB',
      })
    }
  })

  test.each([
    ['u1', { displayName: 'Bob', email: 'Bob@Example.com' }, BOB],
    ['u1', null, undefined],
    [BOB, null, BOB],
  ])('has the address of that user: %p with %j', async (id, data, address) => {
    await using server = await setupOtp()
    await server.addUser(id, { data })
    await server.addClient(ALICE, 'ACCESS_DB', 'GLOBAL_READ', 'GLOBAL_WRITE')
    const { claims } = await server.login({ email: `${ALICE} as ${id}` })
    expect([claims['sub'], claims['email']]).toEqual([id, address])
  })

  test.each([
    ['an unknown client', undefined, []],
    ['a client of another user', BOB, ['GLOBAL_READ', 'GLOBAL_WRITE']],
    ['a client that only reads', ALICE, ['ACCESS_DB', 'GLOBAL_READ', 'IMPERSONATE']],
  ] as const)('is refused with %s, once the address is proven', async (_, owner, scopes) => {
    await using server = await setupOtp()
    await server.addUser(BOB)
    if (owner !== undefined) await server.addClient(owner, ...scopes)
    const otp_id = await server.ask({ email: as })
    const { otp, notice } = await server.mail()
    expect(notice).toContain('Not authorized')
    const request = { grant_type: 'otp', email: as, scopes: ['ACCESS_DB'], otp_id, otp }
    expect(await codeOf(() => server.send(request))).toBe('NOT_AUTHORIZED')
  })

  test.each(['https://evil.example/login', 'evil.example/login', BOB.toUpperCase()])(
    'a mail without permission does not name %p',
    async (other) => {
      await using server = await setupOtp()
      await server.ask({ email: `${ALICE} as ${other}` })
      const { email, text } = await server.mail()
      expect(email).toBe(ALICE)
      expect(text.toLowerCase()).not.toContain(other.toLowerCase())
    },
  )

  test('creates no users, and rejects deactivated ones', async () => {
    await using server = await setupOtp()
    await server.addClient(ALICE, 'GLOBAL_READ', 'GLOBAL_WRITE')
    expect(await codeOf(() => server.login({ email: as }))).toBe('USER_NOT_REGISTERED')
    expect(await server.findUser(BOB)).toBeUndefined()
    await server.mailer.idle()
    await server.addUser(BOB, { deactivated: server.clock.now() })
    expect(await codeOf(() => server.login({ email: as }))).toBe('USER_DEACTIVATED')
  })

  test('is rejected for deactivated users, and ends with the client that allowed it (promise 15)', async () => {
    await using server = await setupOtp()
    await server.addUser(BOB)
    const { clientId } = await server.addClient(ALICE, 'GLOBAL_READ', 'GLOBAL_WRITE')
    const { accessToken } = await server.login({ email: as })
    expect((await server.verify(accessToken)).subject).toBe(BOB)
    await server.addUser(ALICE, { deactivated: server.clock.now() })
    expect(await codeOf(() => server.login({ email: as }))).toBe('USER_DEACTIVATED')
    await server.database.write((tx) => revokeClient(tx, clientId))
    expect(await codeOf(async () => server.verify(accessToken))).toBe('INVALID_TOKEN')
  })

  test('is meant by the code alone: the other half cannot be changed in step 2', async () => {
    await using server = await setupOtp()
    await server.addUser(BOB)
    await server.addClient(ALICE, 'GLOBAL_READ', 'GLOBAL_WRITE')
    const otp_id = await server.ask()
    const { otp } = await server.mail()
    const request = { grant_type: 'otp', scopes: ['ACCESS_DB'], otp_id, otp }
    expect(await codeOf(() => server.send({ ...request, email: as }))).toBe('INVALID_OTP')
    expect((await server.tokens({ ...request, email: `${ALICE} as ${ALICE}` })).userId).toBe(ALICE)
  })
})

test('the intent of step 1 counts when a link is followed (protocol.md §2.3)', async () => {
  await using server = await setupOtp()
  const otp_id = await server.ask({ intent: 'login' })
  const { otp } = await server.mail()
  expect(await codeOf(() => server.send({ grant_type: 'otp', otp_id, otp }))).toBe(
    'USER_NOT_REGISTERED',
  )
})

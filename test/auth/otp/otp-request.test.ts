import { describe, expect, test } from 'bun:test'
import { addOrigin } from '../../../src/domain/database/origin'
import { codeOf, MINUTE, refusalOf } from '../setup'
import { ALICE, BOB, reopen, setupOtp } from '../otp-setup'
import { OTP_BITS, createOtpHash, newOtp, foldOtp } from '../../../src/auth/otp/otp-request'

const NO_ADDRESS = 'That is not an e-mail address: it must look like alice@example.com'

describe('step 1 (protocol.md §2.1, §2.2)', () => {
  test('sends a code and says which one it is', async () => {
    await using server = await setupOtp()
    const otp_id = await server.ask()
    expect(otp_id).toMatch(/^[\w-]{22}$/)
    const mail = await server.mail()
    expect(mail).toMatchObject({ to: ALICE, email: ALICE, otp_id, minutes: 10, notice: '' })
    expect(mail.otp).toMatch(/^[0-9A-HJKMNP-TV-Z]{8}$/)
    expect(mail.text).toContain(mail.otp)
  })

  test('takes the address as the person typed it', async () => {
    await using server = await setupOtp()
    await server.ask({ email: '  Alice@Example.COM ' })
    expect((await server.mail()).to).toBe(ALICE)
    expect((await server.login({ email: 'ALICE@example.com' })).claims['email']).toBe(ALICE)
  })

  test('names the page that asks, and links to it', async () => {
    await using server = await setupOtp()
    const otpId = await server.ask({}, { origin: 'https://app.example.com' })
    const mail = await server.mail()
    expect(mail).toMatchObject({
      originName: 'app.example.com',
      origin: 'https://app.example.com',
      link: `https://app.example.com/?otpId=${otpId}&otp=${mail.otp}`,
    })
    expect(mail.text).toContain(`\n${mail.link}\n`)
  })

  test('names an Electron application by its entry, and anything else by the database', async () => {
    await using server = await setupOtp()
    await server.ask({}, { origin: 'null' })
    expect(await server.mail()).toMatchObject({ originName: 'main', origin: '', link: '' })
    await server.database.write((tx) => addOrigin(tx, server.clock, 'app:My App'))
    await server.ask({}, { origin: 'null' })
    expect(await server.mail()).toMatchObject({ originName: 'My App', origin: '', link: '' })
    await server.ask({}, { origin: 'capacitor://localhost' })
    expect(await server.mail()).toMatchObject({ origin: '', link: '' })
    await server.ask()
    expect(await server.mail()).toMatchObject({ originName: 'main' })
  })

  test.each([
    [{ email: undefined }, 'INVALID_REQUEST'],
    [{ grant_type: 'otp-email', email: 7 }, `INVALID_REQUEST ${NO_ADDRESS}`],
    [{ email: 'alice' }, `INVALID_REQUEST ${NO_ADDRESS}`],
    [{ email: 'alice@example.com, bob@example.com' }, 'INVALID_REQUEST'],
    [{ email: 'alice@example.com\r\nBcc: bob@example.com' }, 'INVALID_REQUEST'],
    [{ email: 'rlmx@example.com' }, 'INVALID_REQUEST'],
    [{ email: `${'a'.repeat(250)}@example.com` }, 'INVALID_REQUEST'],
    [
      { email: 'alice@demo.local' },
      'INVALID_REQUEST Demo users have no mailbox: log in with grant_type demo',
    ],
    [
      { scopes: undefined },
      'INVALID_REQUEST "scopes" is missing: send an array of scopes, which may be empty',
    ],
    [{ scopes: ['ROOT'] }, 'INVALID_SCOPE These scopes cannot be granted: "ROOT"'],
    [{ scopes: ['GLOBAL_READ'] }, 'INVALID_SCOPE'],
    [{ scopes: ['CONNECT_CLIENT', 'ACCESS_DB'] }, 'INVALID_SCOPE'],
    [{ intent: 'steal' }, 'INVALID_REQUEST "intent" must be "login" or "register"'],
  ])('refuses %p', async (changes, refusal) => {
    await using server = await setupOtp()
    const { code, message } = await refusalOf(() => server.ask(changes))
    expect(`${code} ${message}`).toStartWith(refusal)
    await server.mailer.idle()
    expect(server.printed).toEqual([])
  })

  test('says that mail is not configured where it is not', async () => {
    await using server = await setupOtp()
    await using silent = server.open({
      server: {
        address: null,
        sender: null,
        hookSecret: null,
        call: () => Promise.reject(new Error('no hook here')),
        isPrinting: () => false,
        print: () => undefined,
      },
    })
    await using other = await setupOtp({ mailer: silent })
    expect(await refusalOf(() => other.ask())).toMatchObject({
      code: 'MAIL_NOT_CONFIGURED',
      message: expect.stringContaining('Mail is not configured'),
    })
  })
})

describe('how often (promise 21)', () => {
  test('one address is sent ten codes in an hour, for all callers together', async () => {
    await using server = await setupOtp()
    for (let asked = 0; asked < 10; asked++) {
      await server.ask({}, { address: `203.0.113.${asked}` })
      server.clock.advance(MINUTE)
    }
    const refusal = await refusalOf(() => server.ask({}, { address: '203.0.113.99' }))
    expect(refusal).toMatchObject({ code: 'TOO_MANY_REQUESTS', retryAfter: 50 * 60 })
    expect(refusal.message).toBe('Too many login attempts: try again in 50 minutes')
    await server.ask({ email: BOB })
    await server.mailer.idle()
    server.clock.advance(50 * MINUTE)
    await server.ask()
    await server.mailer.idle()
    expect(server.printed).toHaveLength(12)
  })

  test('is not forgotten by a restart', async () => {
    await using server = await setupOtp()
    for (let asked = 0; asked < 10; asked++) await server.ask()
    await using again = await reopen(server)
    expect(await codeOf(() => again.ask())).toBe('TOO_MANY_REQUESTS')
  })

  test('one network tries ids that do not exist, without harm to the codes behind the same address', async () => {
    await using server = await setupOtp()
    const otp_id = await server.ask()
    const { otp } = await server.mail()
    const request = { grant_type: 'otp', email: ALICE, scopes: ['ACCESS_DB'] }
    for (let tries = 0; tries < 400; tries++) {
      const refused = codeOf(() => server.send({ ...request, otp_id: `x${tries}`, otp }))
      expect(await refused).toBe('OTP_EXPIRED')
    }
    expect(await server.send({ ...request, otp_id, otp })).toMatchObject({ type: 'tokens' })
  })
})

describe('a one-time code (promise 21)', () => {
  test('has eight characters, which the login dialog waits for, and 40 bits', () => {
    expect(OTP_BITS).toBe(40)
    for (let i = 0; i < 1000; i++) expect(newOtp()).toMatch(/^[0-9A-HJKMNP-TV-Z]{8}$/)
  })

  test('is as likely as every other, at every place', () => {
    const drawn = 32_000
    const counts = Array.from({ length: 8 }, () => new Map<string, number>())
    for (let i = 0; i < drawn; i++) {
      for (const [place, digit] of Array.from(newOtp()).entries()) {
        counts[place]!.set(digit, (counts[place]!.get(digit) ?? 0) + 1)
      }
    }
    const expected = drawn / 32
    for (const atPlace of counts) {
      expect(atPlace.size).toBe(32)
      // χ² with 31 degrees of freedom is above 130 once in 10¹³ draws.
      const chi = [...atPlace.values()].reduce((sum, n) => sum + (n - expected) ** 2 / expected, 0)
      expect(chi).toBeLessThan(130)
    }
  })

  test('may be typed as it is read', () => {
    expect(foldOtp(' k7qm-2xwd ')).toBe('K7QM2XWD')
    expect(foldOtp('OILoil00')).toBe('01101100')
  })

  test('is kept as something that says nothing without the key and its id', () => {
    const [hash, other] = [createOtpHash(new Uint8Array(32)), createOtpHash(Buffer.alloc(32, 1))]
    expect(hash('id', 'K7QM2XWD')).toBe(hash('id', 'K7QM2XWD'))
    expect(hash('id', 'K7QM2XWD')).toMatch(/^[\w-]{43}$/)
    const all = [hash('id', 'K7QM2XWD'), hash('id2', 'K7QM2XWD'), other('id', 'K7QM2XWD')]
    expect(new Set(all).size).toBe(3)
  })
})

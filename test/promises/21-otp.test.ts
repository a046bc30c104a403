import { expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { OTP_LIMITS } from '../../src/auth/limits'
import { OTP_BITS } from '../../src/auth/otp/otp-request'
import { ALICE, setupOtp, wrongCode } from '../auth/otp-setup'
import { DAY, MINUTE } from '../auth/setup'
import type { SatchelError } from '../../src/domain/value/error'
import { bodyOf, setupLogin } from '../http/login-setup'

type OtpServer = Awaited<ReturnType<typeof setupOtp>>

/** How often each outcome came, of requests at the same time: a type of answer or the code of a refusal. */
async function countOutcomes(requests: Promise<{ readonly type: string }>[]) {
  const outcomes = await Promise.all(
    requests.map((request) =>
      request.then(
        ({ type }) => type,
        (error: SatchelError) => error.code,
      ),
    ),
  )
  const counts = Object.entries(Object.groupBy(outcomes, (outcome) => outcome))
  return Object.fromEntries(counts.map(([outcome, found = []]) => [outcome, found.length]))
}

async function mailedCode(server: OtpServer) {
  const otp_id = await server.ask()
  const { otp } = await server.mail()
  return { grant_type: 'otp', scopes: ['ACCESS_DB'], email: ALICE, otp_id, otp }
}

test('promise 21: a guess at an address succeeds less than once in 10,000 days', () => {
  expect(OTP_BITS).toBeGreaterThanOrEqual(20)
  expect(OTP_LIMITS.life).toBeLessThanOrEqual(10 * MINUTE)
  expect(OTP_LIMITS.tries).toBeLessThanOrEqual(5)
  const { tries, life, perAddress, perNetwork } = OTP_LIMITS
  const chances = 2 ** -OTP_BITS
  expect(tries * perAddress * 24 * chances).toBeLessThan(1e-4)
  // And an attacker who asks for the codes of any addresses from a thousand networks, or who tries from
  // there, without an id, all codes that one address can have at a time.
  expect(1000 * perNetwork * tries * 24 * chances).toBeLessThan(1e-4)
  expect(1000 * tries * (DAY / life) * perAddress * chances).toBeLessThan(1e-4)
})

test('promise 21: of a hundred who bring a code at the same time one gets in', async () => {
  await using server = await setupOtp()
  const code = await mailedCode(server)
  const logins = Array.from({ length: 100 }, () => server.send(code))
  expect(await countOutcomes(logins)).toEqual({ tokens: 1, OTP_EXPIRED: 99 })
})

test('promise 21: a hundred tries at the same time are five, and end the code', async () => {
  await using server = await setupOtp()
  const code = await mailedCode(server)
  const wrong = { ...code, otp: wrongCode(code.otp) }
  const tries = Array.from({ length: 100 }, () => server.send(wrong))
  expect(await countOutcomes(tries)).toEqual({ INVALID_OTP: 4, OTP_EXPIRED: 96 })
  expect(await countOutcomes([server.send(code)])).toEqual({ OTP_EXPIRED: 1 })
})

test('promise 21: the caps hold in development too, however many ask at the same time', async () => {
  await using server = await setupOtp()
  const ask = (email: string) => server.send({ grant_type: 'otp', scopes: ['ACCESS_DB'], email })
  const toAlice = Array.from({ length: 50 }, () => ask(ALICE))
  expect(await countOutcomes(toAlice)).toEqual({ 'otp-sent': 10, TOO_MANY_REQUESTS: 40 })
  const toOthers = Array.from({ length: 320 }, (_, at) => ask(`user${at}@example.com`))
  expect(await countOutcomes(toOthers)).toEqual({
    'otp-sent': 300 - 50,
    TOO_MANY_REQUESTS: 320 - 250,
  })
})

test('promise 21: no code lies in the data folder as it is', async () => {
  await using server = await setupLogin()
  const { otp_id } = await bodyOf(await server.ask())
  const { otp } = (await server.mail()).variables
  const folder = join(server.folder, 'databases', 'main')
  const files = readdirSync(folder).filter((name) => name.startsWith('database.sqlite'))
  const bytes = Buffer.concat(files.map((name) => readFileSync(join(folder, name))))
  expect(bytes.includes(otp_id)).toBe(true)
  expect(bytes.includes(otp)).toBe(false)
})

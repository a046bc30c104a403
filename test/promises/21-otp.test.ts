import { expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { OTP_LIMITS } from '../../src/auth/limits'
import { DAY, MINUTE } from '../auth/setup'
import { wrongCode } from '../auth/otp-setup'
import { startSmtp, type TestSmtp } from '../mail/smtp-server'
import { setupServer, type TestServer } from '../setup'
import { OTP_BITS } from '../../src/auth/otp/otp-request'

const ALICE = 'alice@example.com'

async function setup() {
  await using undo = new AsyncDisposableStack()
  const smtp = undo.use(await startSmtp())
  const smtpUrl = `smtp://127.0.0.1:${smtp.port}`
  const server = undo.use(await setupServer({ smtpUrl, mailFrom: 'app@example.com' }))
  const parts = undo.move()
  return { ...server, smtp, [Symbol.asyncDispose]: () => parts.disposeAsync() }
}

function send(server: TestServer, parameters: object): Promise<Response> {
  return fetch(`${server.main}/token`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ grant_type: 'otp', scopes: ['ACCESS_DB'], ...parameters }),
  })
}

async function askCode(server: TestServer & { readonly smtp: TestSmtp }, email = ALICE) {
  const answer = await send(server, { email })
  const { otp_id } = (await answer.json()) as { otp_id: string }
  const { text } = await server.smtp.next()
  const [, otp = ''] = /^ {4}(\S+)$/m.exec(text) ?? []
  return { email, otp_id, otp }
}

function countStatuses(answers: readonly Response[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1
  return counts
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
  await using server = await setup()
  const code = await askCode(server)
  const answers = await Promise.all(Array.from({ length: 100 }, () => send(server, code)))
  expect(countStatuses(answers)).toEqual({ '200': 1, '403': 99 })
  expect((await send(server, code)).status).toBe(403)
})

test('promise 21: a hundred tries at the same time are five, and end the code', async () => {
  await using server = await setup()
  const code = await askCode(server)
  const tries = Array.from({ length: 100 }, () =>
    send(server, { ...code, otp: wrongCode(code.otp) }),
  )
  expect(countStatuses(await Promise.all(tries))).toEqual({ '401': 4, '403': 96 })
  expect((await send(server, code)).status).toBe(403)
})

test('promise 21: a code is bound to its id and to its address, and over after ten minutes', async () => {
  await using server = await setup()
  const one = await askCode(server)
  const other = await askCode(server)
  expect((await send(server, { ...one, otp: other.otp })).status).toBe(401)
  expect((await send(server, { ...one, email: 'bob@example.com' })).status).toBe(401)
  server.clock.advance(10 * MINUTE - 1)
  expect((await send(server, one)).status).toBe(200)
  server.clock.advance(1)
  expect((await send(server, other)).status).toBe(403)
})

test('promise 21: the caps hold in development too, however many ask at the same time', async () => {
  await using server = await setup()
  const asked = await Promise.all(Array.from({ length: 50 }, () => send(server, { email: ALICE })))
  expect(countStatuses(asked)).toEqual({ '200': 10, '429': 40 })
  const addresses = Array.from({ length: 320 }, (_, at) => `user${at}@example.com`)
  const all: Awaited<ReturnType<typeof send>>[] = []
  // A busy machine refuses requests that waited for seconds.
  while (addresses.length > 0) {
    const several = addresses.splice(0, 32)
    all.push(...(await Promise.all(several.map((email) => send(server, { email })))))
  }
  expect(countStatuses(all)).toEqual({ '200': 300 - 50, '429': 320 - 250 })
})

test('promise 21: no code lies in the data folder as it is', async () => {
  await using server = await setup()
  const { otp, otp_id } = await askCode(server)
  const folder = join(server.folder, 'databases', 'main')
  const files = readdirSync(folder).filter((name) => name.startsWith('database.sqlite'))
  const bytes = Buffer.concat(files.map((name) => readFileSync(join(folder, name))))
  expect(bytes.includes(otp_id)).toBe(true)
  expect(bytes.includes(otp)).toBe(false)
})

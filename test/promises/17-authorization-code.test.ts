import { expect, test } from 'bun:test'
import { DAY, HOUR, MINUTE } from '../auth/setup'
import { public_key, refreshRequest } from '../http/login-setup'
import { codeOfLogin, connectOpenId, logIn, type LoginServer, setupLogins } from '../oauth/setup'

function refresh(server: LoginServer, refreshToken: string) {
  return server.ask(refreshRequest(refreshToken, server.clock.now()))
}

async function statusWith(server: LoginServer, token: unknown): Promise<number> {
  const headers = { authorization: `Bearer ${String(token)}` }
  return (await fetch(`${server.main}/my/realms`, { headers })).status
}

async function setup() {
  const server = await setupLogins()
  await connectOpenId(server, { type: 'google' })
  return server
}

const WITH_KEY = { public_key }

test('promise 17: of a hundred exchanges at once exactly one gets tokens, which end with the second', async () => {
  await using server = await setup()
  const code = await codeOfLogin(server, 'google')
  const exchanges = Array.from({ length: 100 }, () => server.exchange(code, WITH_KEY))
  const answers = await Promise.all(exchanges)
  const good = answers.filter(({ status }) => status === 200)
  expect(good).toHaveLength(1)
  const refused = answers.filter(({ status }) => status !== 200)
  const codes = new Set(refused.map(({ status, body }) => `${status} ${String(body['code'])}`))
  expect([...codes]).toEqual(['401 INVALID_OTP'])
  const { accessToken, refreshToken } = good[0]?.body ?? {}
  expect(await statusWith(server, accessToken)).toBe(401)
  expect((await refresh(server, String(refreshToken))).status).toBe(401)
})

test('promise 17: a code that comes again ends the tokens it gave, and those they gave', async () => {
  await using server = await setup()
  const code = await codeOfLogin(server, 'google')
  const { body } = await server.exchange(code, WITH_KEY)
  const refreshToken = String(body['refreshToken'])
  server.clock.advance(MINUTE)
  const renewed = await refresh(server, refreshToken)
  const tokens = [body['accessToken'], renewed.body['accessToken']]
  for (const token of tokens) expect(await statusWith(server, token)).toBe(200)

  server.clock.advance(40 * MINUTE)
  expect((await server.exchange(code)).status).toBe(401)
  for (const token of tokens) expect(await statusWith(server, token)).toBe(401)
  server.clock.advance(MINUTE)
  expect((await refresh(server, refreshToken)).status).toBe(401)
  // An ended login stays ended after its record is gone: the next login deletes old records.
  server.clock.advance(3 * DAY)
  await logIn(server.visitor(), server.loginUrl('google'))
  expect((await refresh(server, refreshToken)).status).toBe(401)
})

test('promise 17: tokens of other logins of the same person go on', async () => {
  await using server = await setup()
  const first = await codeOfLogin(server, 'google')
  const second = await codeOfLogin(server, 'google')
  const kept = (await server.exchange(second, WITH_KEY)).body
  const ended = (await server.exchange(first, WITH_KEY)).body
  await server.exchange(first)
  expect(await statusWith(server, ended['accessToken'])).toBe(401)
  expect(await statusWith(server, kept['accessToken'])).toBe(200)
  expect((await refresh(server, String(kept['refreshToken']))).status).toBe(200)
})

test('promise 17: a code lives five minutes, and a clock that jumps back gives it no more', async () => {
  await using server = await setup()
  const code = await codeOfLogin(server, 'google')
  server.clock.advance(5 * MINUTE)
  expect((await server.exchange(code)).status).toBe(401)
  server.clock.advance(-HOUR)
  expect((await server.exchange(code)).status).toBe(401)
})

import { describe, expect, test } from 'bun:test'
import { IDP_FAILURES } from '../../src/host/test-mode'
import { testRoutes } from '../../src/control/testing'
import { SLOW_ANSWER_MS } from '../../src/testing/idp'
import { share } from '../setup'
import { setupTestMode } from './setup'

const PAGE = 'http://localhost:5173/app'

/** A server with the login provider for tests. */
async function setupIdp(people?: readonly object[]) {
  await using undo = new AsyncDisposableStack()
  const server = undo.use(await setupTestMode())
  const { body } = await server.call('POST', 'idp', people === undefined ? {} : { people })
  const parts = undo.move()
  return {
    ...server,
    issuer: String(body['issuer']),
    async login(as: string) {
      const asked = { as, redirect_uri: PAGE }
      const { body: answer } = await server.call('POST', 'idp/login', asked)
      const parameter = new URL(String(answer['url'])).searchParams.get('dxc-auth') ?? ''
      return JSON.parse(Buffer.from(parameter, 'base64url').toString()) as {
        code?: string
        error?: string
        provider: string
      }
    },
    exchange: (code: string) =>
      fetch(`${server.main}/token`, {
        method: 'POST',
        body: JSON.stringify({ grant_type: 'authorization_code', code, scopes: ['ACCESS_DB'] }),
      }),
    [Symbol.asyncDispose]: () => parts.disposeAsync(),
  }
}

test('a robot logs in at the provider, also after the clock was moved', async () => {
  await using server = await setupIdp()
  const listed = await (await fetch(`${server.main}/auth-providers`)).json()
  expect(listed).toMatchObject({ providers: [{ name: 'test', displayName: 'Test' }] })
  for (const change of [{}, { advance: '40d' }, { set: '2020-01-01T00:00:00Z' }]) {
    await server.call('POST', 'clock', change)
    const { code, provider } = await server.login('carol@example.com')
    expect(provider).toBe('test')
    const tokens = (await (await server.exchange(code ?? '')).json()) as { userId: string }
    expect(tokens.userId).toBe('carol@example.com')
  }
})

test('a person chooses who to be on a page, which needs no script', async () => {
  await using server = await setupIdp([
    { email: 'Dora@example.com', name: '<Dora>' },
    { email: 'eve@example.com', failure: 'unverified' },
  ])
  const begin = `${server.main}/oauth/login/test?redirect_uri=${encodeURIComponent(PAGE)}`
  const begun = await fetch(begin, { redirect: 'manual' })
  const cookie = begun.headers.get('set-cookie')?.split(';')[0] ?? ''
  const authorize = begun.headers.get('location') ?? ''
  expect(authorize).toStartWith(`${server.issuer}/authorize?`)
  const page = await fetch(authorize)
  expect(page.headers.get('content-security-policy')).toContain("default-src 'none'")
  const text = await page.text()
  expect(text).toContain('&lt;Dora&gt;')
  expect(text).not.toContain('<Dora>')
  const [, link = ''] = /href="([^"]*dora[^"]*)"/.exec(text) ?? []
  const chosen = new URL(link.replaceAll('&amp;', '&'), authorize)
  const back = await fetch(chosen, { redirect: 'manual' })
  const finished = await fetch(back.headers.get('location') ?? '', {
    redirect: 'manual',
    headers: { cookie },
  })
  const app = new URL(finished.headers.get('location') ?? '')
  const { code } = JSON.parse(
    Buffer.from(app.searchParams.get('dxc-auth') ?? '', 'base64url').toString(),
  ) as { code: string }
  expect((await server.exchange(code)).status).toBe(200)
})

describe('a person whose failure is', () => {
  const people = IDP_FAILURES.map((failure) => ({ email: `${failure}@example.com`, failure }))
  const server = share(() => setupIdp(people))

  test.each([
    ['denied', 'access_denied'],
    ['unverified', 'not verified'],
    ['wrong-nonce', 'could not complete it'],
    ['down', 'could not complete it'],
  ] as const)('%s is not logged in', async (failure, message) => {
    const { code, error } = await server().login(`${failure}@example.com`)
    expect(code).toBeUndefined()
    expect(error).toContain(message)
  })

  test('slow is logged in, only later', async () => {
    const order: string[] = []
    // Of two timers in one process the shorter one ends first, however busy the machine is.
    const pause = Bun.sleep(SLOW_ANSWER_MS - 1_500).then(() => order.push('pause'))
    const slow = await server().login('slow@example.com')
    order.push('slow')
    await pause
    expect(order).toEqual(['pause', 'slow'])
    expect((await server().exchange(slow.code ?? '')).status).toBe(200)
  })
})

test('the description of the addresses has every failure', () => {
  const route = testRoutes().find(({ path }) => path === 'idp')
  expect(JSON.stringify(route?.input)).toContain(JSON.stringify(IDP_FAILURES))
})

test('the provider checks its client, its codes and the proof of the caller', async () => {
  await using server = await setupIdp()
  const { issuer } = server
  const token = (form: Readonly<Record<string, string>>) =>
    fetch(`${issuer}/token`, { method: 'POST', body: new URLSearchParams(form) })
  expect((await token({ client_id: 'satchel', client_secret: 'wrong', code: 'x' })).status).toBe(
    401,
  )
  const foreign = new URLSearchParams({
    client_id: 'satchel',
    redirect_uri: 'https://evil.example',
  })
  expect((await fetch(`${issuer}/authorize?${String(foreign)}`)).status).toBe(400)
  expect((await fetch(`${issuer}/userinfo`)).status).toBe(401)
  expect((await fetch(`${issuer}/jwks`)).status).toBe(200)
  expect((await fetch(`${issuer}/.well-known/nothing`)).status).toBe(404)
  const far = { host: 'evil.example' }
  expect((await fetch(`${issuer}/jwks`, { headers: far })).status).toBe(403)
})

test('it is there when a test has opened it, with the people that the test names', async () => {
  await using server = await setupTestMode()
  const { call, main } = server
  expect((await fetch(`${main}/_test/idp/jwks`)).status).toBe(404)
  const login = { as: 'alice@example.com', redirect_uri: PAGE }
  expect((await call('POST', 'idp/login', login)).body['code']).toBe('CONFLICT')
  for (const people of ['alice', [{}], [{ email: 'a@example.com', failure: 'tired' }]]) {
    expect((await call('POST', 'idp', { people })).status).toBe(400)
  }
  await call('POST', 'idp')
  const foreign = { ...login, redirect_uri: 'https://evil.example' }
  expect((await call('POST', 'idp/login', foreign)).body['code']).toBe('ORIGIN_NOT_ALLOWED')
  const unknown = await call('POST', 'idp/login', { ...login, provider: 'none' })
  expect(unknown.body['code']).toBe('UNKNOWN_PROVIDER')
})

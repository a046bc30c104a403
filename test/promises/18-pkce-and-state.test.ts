import { describe, expect, test } from 'bun:test'
import { generateKeyPairSync } from 'node:crypto'
import { hashSecret } from '../../src/domain/value/secret'
import { startGitHub } from '../oauth/github'
import {
  addProvider,
  answerOf,
  connectOpenId,
  type LoginServer,
  logIn,
  type ProviderInput,
  setupLogins,
} from '../oauth/setup'
import { createVisitor } from '../oauth/visitor'

const SIGNING_KEY = generateKeyPairSync('ec', {
  namedCurve: 'P-256',
  publicKeyEncoding: { type: 'spki', format: 'pem' },
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
}).privateKey

const EVERY_TYPE: readonly ProviderInput[] = [
  { type: 'google' },
  { type: 'microsoft' },
  { type: 'microsoft', name: 'tenant', tenant: 'acme.example' },
  { type: 'custom-oauth2', name: 'acme' },
]

async function firstStep(server: LoginServer, provider: string, cookie = '') {
  const response = await fetch(server.loginUrl(provider), {
    redirect: 'manual',
    headers: { cookie },
  })
  return {
    query: new URL(response.headers.get('location') ?? '').searchParams,
    cookie: response.headers.get('set-cookie')?.split(';')[0] ?? '',
  }
}

/** Comes back from a provider with these parameters, in the browser with this cookie. */
async function comeBack(server: LoginServer, query: URLSearchParams, cookie: string) {
  const callback = `${server.main}/oauth/callback/google?${query.toString()}`
  const response = await fetch(callback, { redirect: 'manual', headers: { cookie } })
  return answerOf(response.headers.get('location') ?? '')
}

/** The unused callback address of a completed login. */
async function stolenReturn(server: LoginServer): Promise<URL> {
  const visitor = createVisitor((url) => url.pathname.includes('/oauth/callback/'))
  return new URL((await logIn(visitor, server.loginUrl('google'))).url)
}

describe('promise 18: PKCE with S256', () => {
  test('everywhere, with another verifier each time, which the provider does not see before', async () => {
    await using server = await setupLogins()
    for (const type of EVERY_TYPE) {
      const provider = await connectOpenId(server, type, {
        accounts: { alice: { email: 'alice@example.com', email_verified: true } },
        configuration: { pkce: { required: () => true } },
      })
      const name = type.name ?? type.type
      const seen = new Set<string | null>()
      for (const _ of [1, 2]) {
        const { url } = await logIn(server.visitor(), server.loginUrl(name))
        expect(answerOf(url)['code']).toBeString()
      }
      for (const { path, parameters } of provider.requests) {
        if (path === '/auth') {
          expect(parameters.get('code_challenge_method')).toBe('S256')
          seen.add(parameters.get('code_challenge'))
        }
        const verifier = parameters.get('code_verifier')
        if (verifier !== null) expect(seen).toContain(hashSecret(verifier))
      }
      expect(seen.size).toBe(2)
    }
  })

  test.each([[['plain']], [[]], [undefined]])(
    'never plain, for a provider that offers %j',
    async (methods) => {
      await using server = await setupLogins()
      using provider = Bun.serve({
        hostname: '127.0.0.1',
        port: 0,
        fetch: ({ url }) =>
          Response.json({
            issuer: new URL(url).origin,
            authorization_endpoint: `${new URL(url).origin}/auth`,
            token_endpoint: `${new URL(url).origin}/token`,
            code_challenge_methods_supported: methods,
          }),
      })
      const issuer = `http://127.0.0.1:${provider.port}`
      const apple = { type: 'apple', teamId: 't', keyId: 'k', issuer }
      await addProvider(server, apple, SIGNING_KEY)
      await addProvider(server, { type: 'google', issuer })
      const challengeOf = async (name: string) =>
        (await firstStep(server, name)).query.get('code_challenge_method')
      expect([await challengeOf('apple'), await challengeOf('google')]).toEqual([null, 'S256'])
    },
  )

  test('at GitHub too', async () => {
    await using server = await setupLogins()
    using github = startGitHub([])
    await addProvider(server, {
      type: 'github',
      authorizationUrl: `${github.url}/login/oauth/authorize`,
      tokenUrl: `${github.url}/login/oauth/access_token`,
      userInfoUrl: `${github.url}/user`,
    })
    const { query } = await firstStep(server, 'github')
    expect(query.get('code_challenge_method')).toBe('S256')
  })
})

describe('promise 18: the state', () => {
  test('is another each time and does not hold what proves the login', async () => {
    await using server = await setupLogins()
    await connectOpenId(server, { type: 'google' })
    const [one, two] = [await firstStep(server, 'google'), await firstStep(server, 'google')]
    expect(one.query.get('state')).not.toBe(two.query.get('state'))
    const payload = Buffer.from(one.query.get('state')?.split('.')[1] ?? '', 'base64url').toString()
    const [, secret = ''] = one.cookie.split('=')
    expect(secret).toHaveLength(43)
    expect(payload).not.toContain(secret)
    expect(payload).not.toContain(one.query.get('nonce') ?? '')
  })

  test('is good once, also for a hundred at the same time', async () => {
    await using server = await setupLogins()
    const provider = await connectOpenId(server, { type: 'google' })
    const visitor = server.visitor()
    await logIn(visitor, server.loginUrl('google'))
    const back = visitor.trail.find((url) => url.includes('/oauth/callback/')) ?? ''
    expect(answerOf((await visitor.go(back)).url)['error']).toContain('used already')

    const { query, cookie } = await firstStep(server, 'google')
    const returned = new URLSearchParams({ state: query.get('state') ?? '', code: 'x' })
    const exchanged = () => provider.requests.filter(({ path }) => path === '/token').length
    const before = exchanged()
    await Promise.all(Array.from({ length: 100 }, () => comeBack(server, returned, cookie)))
    // The parameter of the provider is missing (`iss`), so not even the first one gets that far.
    expect(exchanged() - before).toBeLessThanOrEqual(1)
  })

  test('is bound to the browser that began: another one, or none, gets nowhere', async () => {
    await using server = await setupLogins()
    const provider = await connectOpenId(server, { type: 'google' })
    const { searchParams } = await stolenReturn(server)
    const other = await firstStep(server, 'google')
    for (const cookie of ['', 'satchel-login=x', other.cookie]) {
      const { code, error } = await comeBack(server, searchParams, cookie)
      expect(code).toBeUndefined()
      expect(error).toContain('another browser')
    }
    expect(provider.requests.some(({ path }) => path === '/token')).toBe(false)
  })

  test('of one login does not go with the code of another (mix-up)', async () => {
    await using server = await setupLogins()
    await connectOpenId(server, { type: 'google' })
    const stolen = await stolenReturn(server)
    const { query, cookie } = await firstStep(server, 'google')
    stolen.searchParams.set('state', query.get('state') ?? '')
    // The code is the provider's, and our client asks for it: PKCE and the nonce stand in the way.
    const { code, error } = await comeBack(server, stolen.searchParams, cookie)
    expect(code).toBeUndefined()
    expect(error).toContain('could not complete')
  })
})

describe('promise 18: the issuer', () => {
  test.each(['https://accounts.evil.example', ''])(
    '%j in the answer is refused',
    async (issuer) => {
      await using server = await setupLogins()
      const provider = await connectOpenId(server, { type: 'google' })
      const visitor = server.visitor()
      const page = await visitor.go(server.loginUrl('google'))
      const state = new URL(visitor.trail[1] ?? '').searchParams.get('state') ?? ''
      const query = new URLSearchParams({ state, code: 'x', ...(issuer && { iss: issuer }) })
      const { url } = await visitor.go(`${server.main}/oauth/callback/google?${query.toString()}`)
      expect(page.status).toBe(200)
      expect(answerOf(url)['code']).toBeUndefined()
      expect(provider.requests.some(({ path }) => path === '/token')).toBe(false)
      expect(server.lines.join('\n')).toMatch(/\\"iss\\"|issuer/)
    },
  )

  test('of another provider is refused when it discovers itself as ours', async () => {
    await using server = await setupLogins()
    using liar = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      fetch: () =>
        Response.json({
          issuer: 'https://accounts.google.com',
          authorization_endpoint: 'https://evil.example/auth',
          token_endpoint: 'https://evil.example/token',
        }),
    })
    await addProvider(server, { type: 'google', issuer: `http://127.0.0.1:${liar.port}` })
    const response = await fetch(server.loginUrl('google'), { redirect: 'manual' })
    expect(answerOf(response.headers.get('location') ?? '')['error']).toContain(
      'could not complete',
    )
  })
})

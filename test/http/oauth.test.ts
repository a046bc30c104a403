import { describe, expect, test } from 'bun:test'
import { generateKeyPairSync } from 'node:crypto'
import { importSPKI, jwtVerify } from 'jose'
import { MINUTE } from '../auth/setup'
import { startGitHub } from '../oauth/github'
import { CLIENT_ID } from '../oauth/openid'
import {
  addProvider,
  answerOf,
  APP,
  codeOfLogin,
  connectOpenId,
  type LoginServer,
  logIn,
  setupLogins,
} from '../oauth/setup'
import { startPlainProvider } from '../oauth/plain'
import { createVisitor } from '../oauth/visitor'

const { publicKey: PUBLIC_KEY } = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  publicKeyEncoding: { type: 'spki', format: 'pem' },
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
})

async function providersOf(server: LoginServer): Promise<unknown> {
  return (await fetch(`${server.main}/auth-providers`)).json()
}

// protocol.md §3.2, spec.md §2.4; conformance.md 159
describe('GET /auth-providers', () => {
  test('has no providers at first, and the code by e-mail in development', async () => {
    await using server = await setupLogins()
    expect(await providersOf(server)).toEqual({ providers: [], otpEnabled: true })
  })

  test('lists them as they were added, without what is secret', async () => {
    await using server = await setupLogins()
    await addProvider(server, { type: 'github' })
    server.clock.advance(1000)
    const icon = 'https://acme.example/icon.png'
    const acme = { type: 'custom-oauth2', name: 'acme', issuer: 'https://login.acme.example' }
    const scopes = ['openid', 'email', 'groups']
    await addProvider(server, { ...acme, displayName: 'Acme', iconUrl: icon, scopes })
    expect(await providersOf(server)).toEqual({
      providers: [
        {
          type: 'github',
          name: 'github',
          displayName: 'GitHub',
          scopes: ['read:user', 'user:email'],
        },
        { type: 'custom-oauth2', name: 'acme', displayName: 'Acme', iconUrl: icon, scopes },
      ],
      otpEnabled: true,
    })
  })
})

// protocol.md §3.3, spec.md §4.4
describe('GET /oauth/login/:provider', () => {
  test('160: redirects to the provider with state, PKCE and nonce', async () => {
    await using server = await setupLogins()
    const provider = await connectOpenId(server, { type: 'google' })
    const response = await fetch(server.loginUrl('google'), { redirect: 'manual' })
    expect(response.status).toBe(302)
    expect(response.headers.get('cache-control')).toBe('no-store')
    const { origin, pathname, searchParams } = new URL(response.headers.get('location') ?? '')
    expect(origin + pathname).toBe(`${provider.issuer}/auth`)
    expect(Object.fromEntries(searchParams)).toEqual({
      client_id: CLIENT_ID,
      response_type: 'code',
      redirect_uri: `${server.main}/oauth/callback/google`,
      scope: 'openid email profile',
      state: expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+$/),
      nonce: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge_method: 'S256',
    })
    expect(response.headers.get('set-cookie')).toMatch(
      /^satchel-login=[\w-]{43}; Path=\/main\/oauth; Max-Age=1800; HttpOnly; SameSite=Lax$/,
    )
  })

  test('asks for the scopes that the application names, and always for what tells who it is', async () => {
    await using server = await setupLogins()
    const provider = await connectOpenId(server, { type: 'google' })
    const scopesFor = async (scopes: string) => {
      const url = server.loginUrl('google', APP, { scopes })
      const response = await fetch(url, { redirect: 'manual' })
      return new URL(response.headers.get('location') ?? '').searchParams.get('scope')
    }
    expect(await scopesFor('profile https://example.com/files')).toBe(
      'openid email profile https://example.com/files',
    )
    expect(await scopesFor('')).toBe('openid email')
    const refused = await fetch(server.loginUrl('google', APP, { scopes: 'a"b' }))
    expect(refused.status).toBe(400)
    expect(provider.requests.map(({ path }) => path)).toEqual(['/.well-known/openid-configuration'])
  })

  test('168: shows a page when it is not known where to go back to', async () => {
    await using server = await setupLogins()
    await addProvider(server, { type: 'github' })
    const login = `${server.main}/oauth/login/github`
    const cases = [
      ['', 400, 'redirect_uri, is missing'],
      ['?redirect_uri=nowhere', 400, 'redirect_uri, is no address'],
      ['?redirect_uri=https://evil.example/', 403, '&#34;https://evil.example&#34;'],
      ['?redirect_uri=x%3C/p%3E%3Cscript%3Ealert(1)%3C/script%3E:', 400, 'is no address'],
      ['?redirect_uri=x%22%3E%3Cb%3E:%2F', 400, 'is no address'],
    ] as const
    for (const [query, status, message] of cases) {
      const response = await fetch(login + query, { redirect: 'manual' })
      expect({ query, status: response.status }).toEqual({ query, status })
      expect(response.headers.get('content-type')).toBe('text/html;charset=utf-8')
      expect(response.headers.get('content-security-policy')).toContain("default-src 'none'; style")
      const html = await response.text()
      expect(html).toContain(message)
      expect(html).not.toContain('<script')
    }
  })

  test('tells a program that takes JSON alone what is wrong in JSON', async () => {
    await using server = await setupLogins()
    const response = await fetch(server.loginUrl('nobody'), {
      headers: { accept: 'application/json' },
    })
    expect(response.status).toBe(404)
    expect(await response.json()).toMatchObject({ code: 'UNKNOWN_PROVIDER' })
  })

  test('shows a page for a provider and a database that do not exist', async () => {
    await using server = await setupLogins()
    const unknown = await fetch(server.loginUrl('nobody'))
    expect([unknown.status, await unknown.text()]).toEqual([
      404,
      expect.stringContaining('No login provider &#34;nobody&#34;'),
    ])
    const elsewhere = await fetch(`${server.url}/other/oauth/login/google?redirect_uri=${APP}`)
    expect(elsewhere.status).toBe(404)
    expect(elsewhere.headers.get('content-type')).toContain('text/html')
  })

  test('goes back with an error when the provider does not answer, and tells the log why', async () => {
    await using server = await setupLogins()
    const provider = await connectOpenId(server, { type: 'google' })
    provider[Symbol.dispose]()
    const { url } = await server.visitor().go(server.loginUrl('google', `${APP}/?x=1`))
    expect(url).toStartWith(`${APP}/?x=1&dxc-auth=`)
    expect(answerOf(url)).toEqual({
      error: 'The login failed: the login provider could not complete it. Try again later',
      provider: 'google',
      state: expect.stringMatching(/^[\w-]{22}$/),
    })
    const told = server.lines.filter((line) => line.includes('A request failed'))
    expect(told).toHaveLength(1)
    expect(told[0]).toContain('cannot be reached (ECONNREFUSED)')
  })
})

// promises.md 42
test('the log says what a provider did wrong, and holds no token and nothing about a person', async () => {
  await using server = await setupLogins()
  const header = Buffer.from('{"alg":"RS256"}').toString('base64url')
  const claims = Buffer.from('{"sub":"private","email":"private@example.com"}').toString(
    'base64url',
  )
  const answers: readonly [body: string, reason: string][] = [
    ['{"access_token":"private","token_type":"odd"}', 'unsupported'],
    ['{"access_token":"private","token_type":"bearer"}', 'id_token'],
    [
      `{"access_token":"private","token_type":"bearer","id_token":"${header}.${claims}.private"}`,
      'claim missing',
    ],
    ['access_token=private', 'parsing error'],
    ['{"error":"invalid_grant","error_description":"private"}', 'invalid_grant'],
  ]
  let answer = ''
  using provider = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch(request) {
      const issuer = new URL(request.url).origin
      if (request.method === 'POST') {
        return new Response(answer, { headers: { 'content-type': 'application/json' } })
      }
      return Response.json({
        issuer,
        authorization_endpoint: `${issuer}/auth`,
        token_endpoint: `${issuer}/token`,
        jwks_uri: `${issuer}/jwks`,
      })
    },
  })
  await addProvider(server, { type: 'google', issuer: `http://127.0.0.1:${provider.port}` })
  for (const [body, reason] of answers) {
    answer = body
    const begun = await fetch(server.loginUrl('google'), { redirect: 'manual' })
    const state = new URL(begun.headers.get('location') ?? '').searchParams.get('state') ?? ''
    const query = new URLSearchParams({ state, code: 'private' })
    const cookie = begun.headers.get('set-cookie')?.split(';')[0] ?? ''
    const url = `${server.main}/oauth/callback/google?${query.toString()}`
    const back = await fetch(url, { headers: { cookie }, redirect: 'manual' })
    expect(answerOf(back.headers.get('location') ?? '')['error']).toContain('could not complete')
    const told = server.lines.findLast((line) => line.includes('A request failed')) ?? ''
    expect({ body, told }).toEqual({ body, told: expect.stringContaining(reason) })
  }
  expect(server.lines.join('\n')).not.toContain('private')
})

// design.md §2
describe('the public address', () => {
  test('is what the provider hears of, and the browser comes back by', async () => {
    await using server = await setupLogins({ publicUrl: 'https://data.example.com/store' })
    await addProvider(server, { type: 'github' })
    const url = `${server.loginUrl('github')}&moved=1`
    const response = await fetch(url, { redirect: 'manual', headers: { host: 'evil.example' } })
    const { searchParams } = new URL(response.headers.get('location') ?? '')
    const callback = 'https://data.example.com/store/main/oauth/callback/github'
    expect(searchParams.get('redirect_uri')).toBe(callback)
    expect(response.headers.get('set-cookie')).toContain('; Path=/store/main/oauth;')
    expect(response.headers.get('set-cookie')).toEndWith('; SameSite=Lax; Secure')
  })

  test('of a database goes before that of its server', async () => {
    await using server = await setupLogins({ publicUrl: 'https://data.example.com' })
    await addProvider(server, { type: 'github' })
    const set = { name: 'main', url: 'https://todo.example.com/', reset: false }
    expect(await server.commands.run('db.address', set)).toEqual({
      name: 'main',
      address: 'https://todo.example.com',
    })
    const url = `${server.loginUrl('github')}&moved=1`
    const response = await fetch(url, { redirect: 'manual' })
    expect(response.headers.get('location')).toContain('todo.example.com%2Foauth%2Fcallback')
    expect(response.headers.get('set-cookie')).toContain('; Path=/oauth;')
    const reset = { name: 'main', url: null, reset: true }
    expect(await server.commands.run('db.address', reset)).toMatchObject({
      address: 'https://data.example.com/main',
    })
  })

  test('is where a browser goes first that came by another name, once', async () => {
    await using server = await setupLogins()
    const provider = await connectOpenId(server, { type: 'google' })
    const byName = server.loginUrl('google').replace('127.0.0.1', 'localhost')
    const first = await fetch(byName, { redirect: 'manual' })
    expect(first.status).toBe(303)
    expect(first.headers.get('set-cookie')).toBeNull()
    expect(first.headers.get('location')).toBe(`${server.loginUrl('google')}&moved=1`)
    // A proxy that names us otherwise does not make the browser go round in circles.
    const second = await fetch(`${byName}&moved=1`, { redirect: 'manual' })
    expect(second.headers.get('location')).toStartWith(provider.issuer)
  })

  test('is needed beyond this machine: without it a page says so', async () => {
    await using server = await setupLogins({ host: '0.0.0.0' })
    await addProvider(server, { type: 'github' })
    for (const url of [
      server.loginUrl('github'),
      `${server.main}/oauth/callback/github?state=x&code=y`,
    ]) {
      const response = await fetch(url)
      expect(response.status).toBe(503)
      expect(await response.text()).toContain('start it with --public-url')
    }
  })
})

describe('a login', () => {
  test('161, 162: ends at the application with a code in dxc-auth', async () => {
    await using server = await setupLogins()
    await connectOpenId(server, { type: 'google' })
    const page = await logIn(server.visitor(), server.loginUrl('google', `${APP}/a?b=%20c&d#/e?f`))
    expect(page.url).toMatch(/^https:\/\/app\.example\.com\/a\?b=%20c&d&dxc-auth=[\w-]+#\/e\?f$/)
    expect(answerOf(page.url)).toEqual({
      code: expect.stringMatching(/^[\w-]{43}$/),
      provider: 'google',
      state: expect.stringMatching(/^[\w-]{22}$/),
    })
  })

  test('ends at an application with a scheme of its own', async () => {
    await using server = await setupLogins()
    await connectOpenId(server, { type: 'google' })
    await server.commands.run('origin.add', { database: 'main', origin: 'myapp:', force: false })
    const { url } = await logIn(server.visitor(), server.loginUrl('google', 'myapp://'))
    expect(url).toMatch(/^myapp:\/\/\?dxc-auth=[\w-]+$/)
    expect(answerOf(url)['code']).toBeString()
  })

  test('162: says what it says in ASCII, whatever the provider is called', async () => {
    await using server = await setupLogins()
    const name = { type: 'custom-oauth2', name: 'oe', displayName: 'Öffentlich "€"' }
    await connectOpenId(server, name)
    const { url } = await logIn(server.visitor(), server.loginUrl('oe'), 'mallory')
    const encoded = new URL(url).searchParams.get('dxc-auth') ?? ''
    expect(encoded).not.toMatch(/[^\w-]/)
    expect(Buffer.from(encoded, 'base64url').toString('latin1')).not.toMatch(/[^ -~]/)
    expect(answerOf(url)['error']).toContain('Öffentlich "€"')
  })

  test('164: with an address that the provider did not verify ends without a code', async () => {
    await using server = await setupLogins()
    await connectOpenId(server, { type: 'google' })
    for (const account of ['mallory', 'nobody']) {
      const { url } = await logIn(server.visitor(), server.loginUrl('google'), account)
      const { code, error } = answerOf(url)
      expect(code).toBeUndefined()
      expect(error).toMatch(/verif/)
      expect(error).toMatch(/email/)
    }
  })

  test('165: that is cancelled says access_denied', async () => {
    await using server = await setupLogins()
    await connectOpenId(server, { type: 'google' })
    const visitor = server.visitor()
    const page = await visitor.go(server.loginUrl('google'))
    const { url } = await visitor.go(`${page.url}/abort`)
    expect(answerOf(url)).toEqual({
      error: expect.stringContaining('access_denied'),
      provider: 'google',
      state: expect.any(String),
    })
  })

  test('may be begun in two windows at once', async () => {
    await using server = await setupLogins()
    await connectOpenId(server, { type: 'google' })
    const visitor = server.visitor()
    const first = await visitor.go(server.loginUrl('google', `${APP}/first`))
    await logIn(visitor, server.loginUrl('google', `${APP}/second`))
    let page = await visitor.submit(first, { login: 'alice', password: 'any' })
    while (page.html.includes('value="consent"')) page = await visitor.submit(page)
    expect(page.url).toStartWith(`${APP}/first?`)
    expect(answerOf(page.url)['code']).toBeString()
  })

  test('that a script of a page begins which is not listed is refused', async () => {
    await using server = await setupLogins()
    const headers = { origin: 'https://evil.example' }
    const response = await fetch(server.loginUrl('google'), { headers, redirect: 'manual' })
    expect(response.status).toBe(403)
  })
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
        message: 'This login is over or was used already: log in again',
        messageParams: {},
        error: 'invalid_grant',
        error_description: 'This login is over or was used already: log in again',
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

  test('167: leads to the user that has this address, whoever said so first', async () => {
    await using server = await setupLogins()
    await connectOpenId(server, { type: 'google' })
    const token = await server.commands.run('token.issue', {
      database: 'main',
      subject: 'alice@example.com',
      scopes: ['ACCESS_DB'],
      expiresIn: null,
    })
    const { body } = await server.exchange(await codeOfLogin(server, 'google'))
    expect(body['userId']).toBe(token.userId)
    expect(body['claims']).toMatchObject({ sub: token.userId })
  })

  test('169: is where the policy says no, to who was proven to be who they are', async () => {
    await using server = await setupLogins()
    await connectOpenId(server, { type: 'google' })
    const registered = await server.exchange(await codeOfLogin(server, 'google'), {
      intent: 'login',
    })
    expect(registered).toEqual({
      status: 403,
      body: expect.objectContaining({
        code: 'USER_NOT_REGISTERED',
        message: expect.stringContaining('not registered'),
      }),
    })
    const accepted = await server.exchange(await codeOfLogin(server, 'google'), {
      intent: 'register',
    })
    expect(accepted.status).toBe(200)
  })
})

describe('the callback', () => {
  test('168: refuses a state that is over, is none, or is of another provider or database', async () => {
    await using server = await setupLogins()
    await connectOpenId(server, { type: 'google' })
    await addProvider(server, { type: 'github' })
    const begun = await fetch(server.loginUrl('google'), { redirect: 'manual' })
    const state = new URL(begun.headers.get('location') ?? '').searchParams.get('state') ?? ''
    const cookie = begun.headers.get('set-cookie')?.split(';')[0] ?? ''
    const come = (path: string, query: Record<string, string>) =>
      fetch(`${server.url}${path}?${new URLSearchParams(query).toString()}`, {
        headers: { cookie },
        redirect: 'manual',
      })
    const callback = '/main/oauth/callback'
    for (const forged of ['', 'x', `${state}x`, state.replace('.', 'x.')]) {
      const response = await come(`${callback}/google`, { state: forged, code: 'x' })
      expect(response.status).toBe(400)
      expect(await response.text()).toContain('go back to the application')
    }
    const other = await come(`${callback}/github`, { state, code: 'x' })
    expect(answerOf(other.headers.get('location') ?? '')['error']).toContain('another provider')
    await server.commands.run('db.create', { name: 'other' })
    expect((await come('/other/oauth/callback/google', { state, code: 'x' })).status).toBe(400)
    server.clock.advance(30 * MINUTE)
    expect((await come(`${callback}/google`, { state, code: 'x' })).status).toBe(400)
  })

  test('goes back nowhere that was listed when the login began and is not any more', async () => {
    await using server = await setupLogins()
    await connectOpenId(server, { type: 'google' })
    const visitor = server.visitor()
    const page = await visitor.go(server.loginUrl('google'))
    await server.commands.run('origin.remove', { database: 'main', origin: APP })
    let next = await visitor.submit(page, { login: 'alice', password: 'any' })
    while (next.html.includes('value="consent"')) next = await visitor.submit(next)
    expect(next.status).toBe(403)
    expect(next.html).toContain('may not return')
  })

  test('161: takes a form (Apple) and only sends the browser on', async () => {
    await using server = await setupLogins()
    const body = new URLSearchParams({ state: 's', code: 'c', user: '{"name":{}}', evil: 'x' })
    const response = await fetch(`${server.main}/oauth/callback/apple`, {
      method: 'POST',
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        origin: 'https://appleid.apple.com',
      },
      body: body.toString(),
      redirect: 'manual',
    })
    expect(response.status).toBe(303)
    expect(response.headers.get('location')).toBe(
      `${server.main}/oauth/callback/apple?state=s&code=c&user=%7B%22name%22%3A%7B%7D%7D`,
    )
    expect(response.headers.get('access-control-allow-origin')).toBeNull()
    expect(response.headers.get('set-cookie')).toBeNull()
  })

  test('takes nothing but a small form', async () => {
    await using server = await setupLogins()
    const post = (type: string, body: string) =>
      fetch(`${server.main}/oauth/callback/apple`, {
        method: 'POST',
        headers: { 'content-type': type },
        body,
      })
    expect((await post('application/json', '{}')).status).toBe(415)
    const form = 'application/x-www-form-urlencoded'
    expect((await post(form, `state=${'x'.repeat(20_000)}`)).status).toBe(413)
  })
})

describe('the types of providers', () => {
  test('Microsoft: an address is believed from a tenant that was named, or with its word for it', async () => {
    await using server = await setupLogins()
    const accounts = {
      plain: { email: 'alice@example.com' },
      owned: { email: 'alice@example.com', xms_edov: true },
      personal: { email: 'alice@example.com', tid: '9188040d-6c67-4c5b-b112-36a304b66dad' },
    }
    const claims = { openid: ['sub', 'tid', 'xms_edov'], email: ['email', 'email_verified'] }
    const options = { accounts, configuration: { claims } }
    await connectOpenId(server, { type: 'microsoft' }, options)
    const acme = { type: 'microsoft', name: 'acme', tenant: 'acme.example' }
    await connectOpenId(server, acme, options)
    const outcome = async (provider: string, account: string) => {
      const { url } = await logIn(server.visitor(), server.loginUrl(provider), account)
      return answerOf(url)['code'] === undefined ? 'refused' : 'accepted'
    }
    expect(await outcome('microsoft', 'plain')).toBe('refused')
    expect(await outcome('microsoft', 'owned')).toBe('accepted')
    expect(await outcome('microsoft', 'personal')).toBe('accepted')
    expect(await outcome('acme', 'plain')).toBe('accepted')
  })

  test('GitHub: the primary address counts, if it is verified', async () => {
    await using server = await setupLogins()
    using github = startGitHub([
      {
        login: 'alice',
        name: 'Alice',
        emails: [
          { email: 'old@example.com', primary: false, verified: true },
          { email: 'alice@example.com', primary: true, verified: true },
        ],
      },
      {
        login: 'mallory',
        name: null,
        emails: [
          { email: 'mallory@example.com', primary: false, verified: true },
          { email: 'alice@example.com', primary: true, verified: false },
        ],
      },
      { login: 'nobody', name: null, emails: [] },
    ])
    await addProvider(server, {
      type: 'github',
      authorizationUrl: `${github.url}/login/oauth/authorize`,
      tokenUrl: `${github.url}/login/oauth/access_token`,
      userInfoUrl: `${github.url}/user`,
    })
    const loginAs = async (login: string) => {
      const visitor = server.visitor()
      const page = await visitor.go(server.loginUrl('github'))
      return answerOf((await visitor.go(`${page.url}&login=${login}`)).url)
    }
    const { code = '' } = await loginAs('alice')
    const { body } = await server.exchange(code)
    expect(body['claims']).toMatchObject({ sub: 'alice@example.com', name: 'Alice' })
    expect((await loginAs('mallory'))['error']).toMatch(/email .*verif/)
    expect((await loginAs('nobody'))['error']).toMatch(/verif.* email/)
    expect((await loginAs(''))['error']).toContain('access_denied')
    expect((await loginAs('unknown'))['error']).toContain('could not complete')
    expect(github.exchanges[0]?.get('code_verifier')).toMatch(/^[\w-]{43}$/)
  })

  test('Apple: a signed client secret, a form, and a name beside the code', async () => {
    await using server = await setupLogins()
    const keys = generateKeyPairSync('ec', {
      namedCurve: 'P-256',
      publicKeyEncoding: { type: 'spki', format: 'pem' },
      privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    })
    const secrets: unknown[] = []
    const apple = { type: 'apple', teamId: 'TEAM123456', keyId: 'KEY1234567' }
    const provider = await connectOpenId(server, apple, {
      secret: keys.privateKey,
      configuration: {
        scopes: ['openid', 'email', 'name'],
        claims: { openid: ['sub'], email: ['email', 'email_verified'] },
      },
      async isClientSecret(given) {
        const key = await importSPKI(keys.publicKey, 'ES256')
        const { payload, protectedHeader } = await jwtVerify(given, key)
        secrets.push({ payload, protectedHeader })
        return true
      },
    })
    const visitor = server.visitor()
    let page = await logIn(visitor, server.loginUrl('apple'))
    // The provider's page would send itself; a real one adds the name at the first login.
    expect(page.html).toContain('<form')
    page = await visitor.submit(page, {
      user: '{"name":{"firstName":"Ada","lastName":"Lovelace"}}',
    })
    const { body } = await server.exchange(answerOf(page.url)['code'] ?? '')
    expect(body['claims']).toMatchObject({ sub: 'alice@example.com', name: 'Ada Lovelace' })
    const issued = Math.floor(server.clock.now() / 1000)
    expect(secrets).toEqual([
      {
        protectedHeader: { alg: 'ES256', kid: 'KEY1234567' },
        payload: {
          iss: 'TEAM123456',
          sub: CLIENT_ID,
          aud: provider.issuer,
          iat: issued,
          exp: issued + 300,
        },
      },
    ])
    const sent = provider.requests.find(({ path }) => path === '/auth')
    expect(sent?.parameters.get('response_mode')).toBe('form_post')
  })

  test('custom-oauth2: without a discovery document, by OAuth alone', async () => {
    await using server = await setupLogins()
    const sent: string[] = []
    using provider = startPlainProvider((request) => void sent.push(request))
    await addProvider(server, {
      type: 'custom-oauth2',
      name: 'plain',
      authorizationUrl: `${provider.url}/auth`,
      tokenUrl: `${provider.url}/token`,
      userInfoUrl: `${provider.url}/me`,
    })
    const listed = [{ type: 'custom-oauth2', name: 'plain', scopes: ['email'] }]
    expect(await providersOf(server)).toMatchObject({ providers: listed })
    const { url } = await server.visitor().go(server.loginUrl('plain'))
    const { body } = await server.exchange(answerOf(url)['code'] ?? '')
    expect(body['claims']).toMatchObject({ sub: 'alice@example.com', name: 'Alice' })
    const asked = new URL(sent[0] ?? '').searchParams
    expect([asked.get('scope'), asked.has('nonce')]).toEqual(['email', false])
    expect(asked.get('code_challenge_method')).toBe('S256')
    expect(sent.map((request) => new URL(request).pathname)).toEqual(['/auth', '/token', '/me'])

    await server.visitor().go(server.loginUrl('plain', APP, { scopes: '' }))
    expect(new URL(sent[3] ?? '').searchParams.has('scope')).toBe(false)
  })

  test('custom-oauth2: what an OpenID provider says that nobody can check is not in the way', async () => {
    await using server = await setupLogins({ allowPrivateAddresses: '127.0.0.0/8,::1/128' })
    const openid = await connectOpenId(server, { type: 'google' })
    const elsewhere = openid.issuer.replace('127.0.0.1', 'localhost')
    const plain = {
      type: 'custom-oauth2',
      name: 'google',
      authorizationUrl: `${elsewhere}/auth`,
      tokenUrl: `${openid.issuer}/token`,
      userInfoUrl: `${openid.issuer}/me`,
      scopes: ['openid', 'email'],
    }
    await addProvider(server, plain)
    const goTo = async () => {
      const visitor = createVisitor((url) => url.origin === APP)
      return answerOf((await logIn(visitor, server.loginUrl('google'))).url)
    }
    const { code = '' } = await goTo()
    const { body } = await server.exchange(code)
    expect(body['claims']).toMatchObject({ sub: 'alice@example.com' })
    const begun = openid.requests.find(({ path }) => path === '/auth')
    expect(begun?.parameters.has('nonce')).toBe(false)
    // With a name it is held to it.
    await addProvider(server, { ...plain, issuer: elsewhere })
    expect((await goTo())['error']).toContain('could not complete')
  })

  test('custom-oauth2: who does not say whether it verified is believed only when told to', async () => {
    await using server = await setupLogins()
    const accounts = {
      silent: { email: 'alice@example.com' },
      honest: { email: 'alice@example.com', email_verified: false },
    }
    await connectOpenId(
      server,
      { type: 'custom-oauth2', name: 'trusted', trustsEmail: true },
      { accounts },
    )
    await connectOpenId(server, { type: 'custom-oauth2', name: 'other' }, { accounts })
    const errorFor = async (provider: string, account: string) => {
      const { url } = await logIn(server.visitor(), server.loginUrl(provider), account)
      return answerOf(url)['error']
    }
    expect(await errorFor('trusted', 'silent')).toBeUndefined()
    expect(await errorFor('trusted', 'honest')).toContain('not verified')
    expect(await errorFor('other', 'silent')).toContain('not verified')
  })

  test('a public client has no secret, PKCE alone proves it', async () => {
    await using server = await setupLogins()
    const callback = `${server.main}/oauth/callback/spa`
    const spa = { type: 'custom-oauth2', name: 'spa' }
    const client = { token_endpoint_auth_method: 'none' as const }
    const provider = await connectOpenId(server, spa, { callback, client })
    await addProvider(server, { ...spa, issuer: provider.issuer }, null)
    expect(await codeOfLogin(server, 'spa')).toBeString()
  })
})

import { describe, expect, test } from 'bun:test'
import { newSecret } from '../../../src/domain/value/secret'
import { browserCookie, readBrowser } from '../../../src/http/routes/oauth'
import { CLIENT_ID } from '../../oauth/openid'
import {
  addProvider,
  answerOf,
  APP,
  connectOpenId,
  setupLogins,
  providersOf,
} from '../../oauth/setup'

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

// protocol.md §3.2
describe('159: the ways to log in', () => {
  test('are listed for every caller, with any token or none, and for listed pages', async () => {
    await using server = await setupLogins()
    const ask = (headers: Record<string, string>) =>
      fetch(`${server.main}/auth-providers`, { headers })
    const page = await ask({ origin: APP, accept: 'application/json' })
    expect([page.status, page.headers.get('access-control-allow-origin')]).toEqual([200, APP])
    expect(page.headers.get('content-type')).toStartWith('application/json')
    expect((await ask({ authorization: 'Bearer nonsense' })).status).toBe(200)
    expect((await ask({ origin: 'https://evil.example' })).status).toBe(403)
  })

  test('are without the code by e-mail where no mail can be sent', async () => {
    await using server = await setupLogins({ host: '0.0.0.0' })
    expect(await providersOf(server)).toEqual({ providers: [], otpEnabled: false })
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

  test('asks for the scopes that the application names, and always for those that identify the user', async () => {
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
      ['?redirect_uri=nowhere', 400, 'redirect_uri, is not an address'],
      ['?redirect_uri=https://evil.example/', 403, '&#34;https://evil.example&#34;'],
      ['?redirect_uri=x%3C/p%3E%3Cscript%3Ealert(1)%3C/script%3E:', 400, 'is not an address'],
      ['?redirect_uri=x%22%3E%3Cb%3E:%2F', 400, 'is not an address'],
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

  test('speaks to the person, with a way back to the page that sent them', async () => {
    await using server = await setupLogins()
    await connectOpenId(server, { type: 'google' })
    const login = server.loginUrl('google', 'https://unlisted.example/')
    const open = async (url: string, referer: string) => {
      const answer = await fetch(url, { headers: { referer, accept: 'text/html' } })
      return await answer.text()
    }
    const html = await open(login, 'https://unlisted.example/start?a="b"')
    expect(html).toContain('The application that sent you here is not known to this database')
    expect(html).toContain('For the developer: The login may not return to')
    expect(html).toContain('href="https://unlisted.example/start?a=%22b%22"')
    expect(html).toContain('Back to unlisted.example')
    expect(await open(login, 'javascript:alert(1)')).not.toContain('Back to')
    // The provider sends the browser there, which the login did not begin at.
    const callback = `${server.main}/oauth/callback/google`
    expect(await open(callback, 'https://provider.example/')).not.toContain('Back to')
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
    expect(told[0]).toContain('cannot be reached: nothing listens there')
  })
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
    const set = { database: 'main', url: 'https://todo.example.com/', reset: false }
    expect(await server.commands.run('db.address', set)).toEqual({
      name: 'main',
      address: 'https://todo.example.com',
    })
    const url = `${server.loginUrl('github')}&moved=1`
    const response = await fetch(url, { redirect: 'manual' })
    expect(response.headers.get('location')).toContain('todo.example.com%2Foauth%2Fcallback')
    expect(response.headers.get('set-cookie')).toContain('; Path=/oauth;')
    const reset = { database: 'main', url: null, reset: true }
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

describe('the cookie that binds a login to its browser', () => {
  // design.md §6
  test('belongs to the OAuth routes of one database, is Lax, and goes over https alone where there is https', () => {
    expect(browserCookie('http://127.0.0.1:7080/main', 'x')).toBe(
      'satchel-login=x; Path=/main/oauth; Max-Age=1800; HttpOnly; SameSite=Lax',
    )
    expect(browserCookie('https://todo.example.com', 'x')).toBe(
      'satchel-login=x; Path=/oauth; Max-Age=1800; HttpOnly; SameSite=Lax; Secure',
    )
  })

  test('is read among others, and only when it can be ours', () => {
    const secret = newSecret()
    expect(readBrowser(`satchel-login=${secret}`)).toBe(secret)
    expect(readBrowser(`a=b; satchel-login=${secret}; c=d`)).toBe(secret)
    for (const header of [
      null,
      '',
      'satchel-login=',
      'satchel-login=short',
      `satchel-login=${secret}x`,
      `xsatchel-login=${secret}`,
      `satchel-login=${secret.slice(1)}"`,
    ]) {
      expect(readBrowser(header)).toBeUndefined()
    }
  })
})

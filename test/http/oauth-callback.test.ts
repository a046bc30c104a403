import { describe, expect, test } from 'bun:test'
import { MINUTE } from '../auth/setup'
import { addProvider, answerOf, APP, connectOpenId, logIn, setupLogins } from '../oauth/setup'

// protocol.md §3.3
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

  test('166: ends at an application with a scheme of its own, when it is listed', async () => {
    await using server = await setupLogins()
    await connectOpenId(server, { type: 'google' })
    await server.commands.run('origin.add', { database: 'main', origin: 'myapp:', force: false })
    const { url } = await logIn(server.visitor(), server.loginUrl('google', 'myapp://'))
    expect(url).toMatch(/^myapp:\/\/\?dxc-auth=[\w-]+$/)
    expect(answerOf(url)['code']).toBeString()
  })

  test('162: answers in ASCII, for any name of the provider', async () => {
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

  test.each(['server_error', 'temporarily_unavailable', 'invalid_scope', '', 'x'.repeat(2000)])(
    'that the provider ends with the error %j says so without its words',
    async (word) => {
      await using server = await setupLogins()
      await connectOpenId(server, { type: 'google' })
      const visitor = server.visitor()
      await visitor.go(server.loginUrl('google'))
      const state = new URL(visitor.trail[1] ?? '').searchParams.get('state') ?? ''
      const said = { error: word, error_description: 'evil email <verified>', state }
      const query = new URLSearchParams(said).toString()
      const { url } = await visitor.go(`${server.main}/oauth/callback/google?${query}`)
      const { code, error } = answerOf(url)
      expect(code).toBeUndefined()
      expect(error).toBe(
        'The login failed: the login provider could not complete it. Try again later',
      )
      const told = server.lines.filter((line) => line.includes('A request failed'))
      expect(told).toHaveLength(1)
      expect(told[0]).not.toContain('evil')
    },
  )

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

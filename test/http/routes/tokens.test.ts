import { describe, expect, test } from 'bun:test'
import { createLocalJWKSet, decodeJwt, type JSONWebKeySet, jwtVerify } from 'jose'
import { openSession } from '../../../src/control/session'
import { HOUR } from '../../auth/setup'
import { setupServer } from '../../setup'

const alice = { sub: 'alice@example.com', email: 'alice@example.com', name: 'Alice' }

/** The checked parts of any answer. */
interface Body {
  readonly [name: string]: unknown
  readonly accessToken: string
  readonly refreshToken: string
  readonly message: string
}

async function setupTokens() {
  const server = await setupServer()
  const { clientId, clientSecret } = server.client
  const send = (
    body: string | Uint8Array<ArrayBuffer> | URLSearchParams,
    headers: Record<string, string> = {},
  ) => fetch(`${server.main}/token`, { method: 'POST', body, headers })
  return {
    ...server,
    commands: await openSession(server.folder, () => undefined),
    send,
    ask: (parameters: object = {}, headers: Record<string, string> = {}) => {
      const request = {
        grant_type: 'client_credentials',
        client_id: clientId,
        client_secret: clientSecret,
        scopes: ['ACCESS_DB'],
        ...parameters,
      }
      return send(JSON.stringify(request), { 'content-type': 'application/json', ...headers })
    },
    get: (path: string, headers: Record<string, string> = {}) =>
      fetch(server.main + path, { headers }),
  }
}

const bodyOf = async (answer: Response) => (await answer.json()) as Body
const recordOf = async (answer: Response) => (await answer.json()) as Record<string, unknown>

const basic = (id: string, secret: string) => ({
  authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`,
})

describe('POST /token', () => {
  test('answers a client with what spec.md §2.2 lists (conformance 15)', async () => {
    await using server = await setupTokens()
    const answer = await server.ask({ claims: alice })
    expect(answer.status).toBe(200)
    expect(answer.headers.get('cache-control')).toBe('no-store')
    expect(answer.headers.get('content-type')).toStartWith('application/json')
    const body = await bodyOf(answer)
    expect(body).toMatchObject({
      type: 'tokens',
      claims: { ...alice, license: 'ok' },
      accessTokenExpiration: server.clock.now() + HOUR,
      userType: 'prod',
      userId: alice.sub,
      access_token: body.accessToken,
      token_type: 'Bearer',
      expires_in: 3600,
      scope: 'ACCESS_DB',
    })
    expect(decodeJwt(body.accessToken)).toMatchObject(alice)
  })

  test('takes forms, and the client in a Basic header', async () => {
    await using server = await setupTokens()
    const { clientId, clientSecret } = server.client
    const form = new URLSearchParams({
      grant_type: 'client_credentials',
      scope: 'ACCESS_DB GLOBAL_READ',
    })
    const answer = await server.send(form, basic(clientId, clientSecret))
    expect(answer.status).toBe(200)
    expect(await bodyOf(answer)).toMatchObject({ scope: 'ACCESS_DB GLOBAL_READ', userId: clientId })
    form.set('client_id', clientId)
    form.set('client_secret', clientSecret)
    expect((await server.send(form)).status).toBe(200)
    form.append('client_id', clientId)
    expect(await bodyOf(await server.send(form))).toMatchObject({ error: 'invalid_request' })
  })

  test('takes JSON without a content type, as commands send it', async () => {
    await using server = await setupTokens()
    const answer = await server.ask({}, { 'content-type': '' })
    expect(answer.status).toBe(200)
  })

  test('ignores a header that is about something else', async () => {
    await using server = await setupTokens()
    expect((await server.ask({}, { authorization: 'Bearer nonsense' })).status).toBe(200)
  })
})

describe('POST /token refuses in the words of RFC 6749 §5.2', () => {
  test.each([
    [{ grant_type: undefined }, 400, 'invalid_request', 'INVALID_REQUEST'],
    [{ grant_type: 'password' }, 400, 'unsupported_grant_type', 'UNSUPPORTED_GRANT_TYPE'],
    [{ client_id: undefined }, 400, 'invalid_request', 'INVALID_REQUEST'],
    [{ client_id: 'cUnknown' }, 401, 'invalid_client', 'INVALID_CLIENT'],
    [{ client_secret: 'wrong' }, 401, 'invalid_client', 'INVALID_CLIENT'],
    [{ scopes: undefined }, 400, 'invalid_request', 'INVALID_REQUEST'],
    [{ scopes: ['ROOT'] }, 400, 'invalid_scope', 'INVALID_SCOPE'],
    [{ claims: {} }, 400, 'invalid_request', 'INVALID_REQUEST'],
    [{ claims: { sub: 'a', exp: 1 } }, 400, 'invalid_request', 'RESERVED_CLAIM'],
    [{ public_key: 'x' }, 400, 'invalid_request', 'INVALID_REQUEST'],
    [{ expires_in: '2 days' }, 400, 'invalid_request', 'INVALID_REQUEST'],
  ])('%p', async (parameters, status, error, code) => {
    await using server = await setupTokens()
    const answer = await server.ask(parameters)
    expect(answer.status).toBe(status)
    expect(answer.headers.get('cache-control')).toBe('no-store')
    expect(answer.headers.get('www-authenticate')).toBe(status === 401 ? 'Bearer' : null)
    expect(await recordOf(answer)).toEqual({
      error,
      error_description: expect.any(String),
      code,
      message: expect.any(String),
      requestId: answer.headers.get('x-request-id'),
    })
  })

  test('an unknown client exactly as a wrong secret', async () => {
    await using server = await setupTokens()
    const unknown = await recordOf(await server.ask({ client_id: 'cUnknown' }))
    const wrong = await recordOf(await server.ask({ client_secret: 'wrong' }))
    expect({ ...unknown, requestId: '' }).toEqual({ ...wrong, requestId: '' })
  })

  test('with a Basic challenge only if the caller used Basic', async () => {
    await using server = await setupTokens()
    const body = JSON.stringify({ grant_type: 'client_credentials', scopes: [] })
    for (const headers of [basic('cUnknown', 'x'), { authorization: 'Basic !' }]) {
      const answer = await server.send(body, headers)
      expect(answer.status).toBe(401)
      expect(answer.headers.get('www-authenticate')).toStartWith('Basic ')
    }
  })

  test('a malformed request', async () => {
    await using server = await setupTokens()
    const json = { 'content-type': 'application/json' }
    for (const body of ['', '{', 'null', '[]', '42', '"x"', '{"grant_type":']) {
      const answer = await server.send(body, json)
      expect(answer.status).toBe(400)
      expect(await bodyOf(answer)).toMatchObject({ error: 'invalid_request' })
    }
    const binary = new Uint8Array([0x7b, 0xff, 0x7d])
    expect((await server.send(binary, json)).status).toBe(400)
    expect((await server.send('{}', { 'content-type': 'text/plain' })).status).toBe(415)
    expect((await server.send(`${'['.repeat(1000)}${']'.repeat(1000)}`, json)).status).toBe(422)
    expect((await server.ask({ x: 'x'.repeat(64 * 1024) })).status).toBe(413)
  })

  test('in at most 4 KiB, for any input', async () => {
    await using server = await setupTokens()
    const noise = '\u0001用"'.repeat(300)
    for (const parameters of [
      { grant_type: noise },
      { scopes: Array.from({ length: 10 }, (_, i) => noise + i) },
      { claims: { sub: noise } },
      { expires_in: noise },
    ]) {
      const answer = await server.ask(parameters)
      expect(answer.status).toBe(400)
      expect((await answer.bytes()).length).toBeLessThan(4096)
    }
  })

  test('keeps its other errors in the form of every route', async () => {
    await using server = await setupTokens()
    const unknown = await fetch(`${server.url}/nowhere/token`, { method: 'POST', body: '{}' })
    expect(unknown.status).toBe(404)
    expect(await bodyOf(unknown)).toMatchObject({ code: 'UNKNOWN_DATABASE' })
    expect((await server.get('/token')).status).toBe(405)
  })
})

describe('GET /token/validate', () => {
  test('shows the claims of a valid token (conformance 20)', async () => {
    await using server = await setupTokens()
    const { accessToken } = await bodyOf(await server.ask({ claims: { ...alice, role: 'x' } }))
    const answer = await server.get('/token/validate', { authorization: `Bearer ${accessToken}` })
    expect(answer.status).toBe(200)
    expect(await recordOf(answer)).toEqual({
      valid: true,
      claims: { ...decodeJwt(accessToken), ...alice, role: 'x', license: 'ok' },
    })
  })

  test('says that any other is not, with 401', async () => {
    await using server = await setupTokens()
    const { accessToken } = await bodyOf(await server.ask())
    server.clock.advance(HOUR)
    const headers: Record<string, string>[] = [
      {},
      { authorization: 'Bearer' },
      { authorization: 'Bearer x' },
      { authorization: 'Basic x' },
      { authorization: accessToken },
      { authorization: `Bearer ${accessToken}` },
    ]
    for (const header of headers) {
      const answer = await server.get('/token/validate', header)
      expect(answer.status).toBe(401)
      expect(answer.headers.get('www-authenticate')).toBe('Bearer')
      expect(await recordOf(answer)).toEqual({ valid: false, message: expect.any(String) })
    }
  })
})

describe('GET /.well-known/jwks.json', () => {
  test('verifies tokens elsewhere, before and after a rotation', async () => {
    await using server = await setupTokens()
    const before = await bodyOf(await server.ask())
    const answer = await server.get('/.well-known/jwks.json')
    expect(answer.status).toBe(200)
    expect(answer.headers.get('content-type')).toStartWith('application/jwk-set+json')
    expect(answer.headers.get('cache-control')).toBe('public, max-age=300')
    const keySet = createLocalJWKSet((await answer.json()) as JSONWebKeySet)
    await server.commands.run('key.rotate', { database: 'main' })
    const after = await bodyOf(await server.ask())
    for (const { accessToken } of [before, after]) {
      await jwtVerify(accessToken, keySet, { currentDate: new Date(server.clock.now()) })
    }
  })
})

test('conformance 13: a page whose origin is not listed cannot ask for tokens', async () => {
  await using server = await setupTokens()
  const origin = 'https://app.example.com'
  const refused = await server.ask({}, { origin })
  expect(refused.status).toBe(403)
  expect(await bodyOf(refused)).toMatchObject({ code: 'ORIGIN_NOT_ALLOWED' })
  await server.commands.run('origin.add', { database: 'main', origin, force: false })
  const allowed = await server.ask({}, { origin })
  expect(allowed.status).toBe(200)
  expect(allowed.headers.get('access-control-allow-origin')).toBe(origin)
})

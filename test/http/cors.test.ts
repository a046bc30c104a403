import { describe, expect, test } from 'bun:test'
import { ALICE, type Answer, callerOf, type DataServer, setupData } from './setup'

const APP = 'https://app.example.com'

async function listed(...origins: string[]) {
  // A public address: pages of this machine have no privilege.
  const server = await setupData({ publicUrl: 'https://data.example.com' })
  for (const origin of origins) await list(server, origin)
  return server
}

const list = (server: DataServer, origin: string) =>
  server.commands.run('origin.add', { database: 'main', origin, force: true })

const from = (server: DataServer, origin: string, path = '/public/plain') =>
  server.anyone.send('GET', path, { headers: { origin } })

const preflight = (
  server: DataServer,
  origin: string,
  path = '/my/plain',
  method = 'POST',
  requested = 'authorization, content-type',
) =>
  server.anyone.send('OPTIONS', path, {
    headers: {
      origin,
      'access-control-request-method': method,
      'access-control-request-headers': requested,
    },
  })

/** The names of headers that the answer to a preflight allows, besides those that it always does. */
async function allowedFor(server: DataServer, requested: string): Promise<readonly string[]> {
  const names = async (text: string) => {
    const answer = await preflight(server, APP, '/token', 'POST', text)
    expectAllowed(answer, APP)
    expect(answer.headers.get('vary')).toContain('Access-Control-Request-Headers')
    return answer.headers.get('access-control-allow-headers')?.split(', ') ?? []
  }
  const usual = await names('authorization')
  return (await names(requested)).filter((name) => !usual.includes(name))
}

function expectAllowed({ status, headers }: Answer, origin: string): void {
  expect(status).toBeLessThan(300)
  expect(headers.get('access-control-allow-origin')).toBe(origin)
  expect(headers.get('access-control-allow-credentials')).toBe('true')
  expect(headers.get('vary')).toStartWith('Authorization, Origin')
}

function expectRefused({ status, headers, body }: Answer): void {
  expect(status).toBe(403)
  expect(body).toMatchObject({ code: 'ORIGIN_NOT_ALLOWED' })
  const names = [...headers.keys()].filter((name) => name.startsWith('access-control-'))
  expect(names).toEqual([])
  expect(headers.get('vary')).toBe('Authorization, Origin')
}

describe('a page of a listed origin', () => {
  test('may read answers, errors too', async () => {
    await using server = await listed(APP)
    expectAllowed(await from(server, APP), APP)
    for (const [path, status] of [
      ['/public/none', 404],
      ['/my/plain', 401],
      ['/public/%ff', 400],
      ['/no/such/address', 404],
    ] as const) {
      const answer = await from(server, APP, path)
      expect(answer.status).toBe(status)
      expect(answer.headers.get('access-control-allow-origin')).toBe(APP)
      expect(answer.headers.get('access-control-allow-credentials')).toBe('true')
    }
    const exposed = (await from(server, APP)).headers.get('access-control-expose-headers')
    for (const name of ['Link', 'Retry-After', 'X-Request-Id', 'ETag', 'Ratelimit-Limit']) {
      expect(exposed?.split(', ')).toContain(name)
    }
  })

  test('gets every preflight it needs, without a token (conformance 11)', async () => {
    await using server = await listed(APP)
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']) {
      for (const path of ['/my/plain', '/all/plain/a', '/token', '/sync', '/blob/x']) {
        const answer = await preflight(server, APP, path, method)
        expectAllowed(answer, APP)
        expect(answer).toMatchObject({ status: 204, text: '' })
        const { headers } = answer
        expect(headers.get('access-control-allow-methods')?.split(', ')).toContain(method)
        const allowed = headers.get('access-control-allow-headers')?.toLowerCase().split(', ')
        for (const name of ['authorization', 'content-type', 'accept', 'prefer', 'user-agent']) {
          expect(allowed).toContain(name)
        }
        expect(allowed).not.toContain('*')
      }
    }
  })

  test('may send the headers that it names, as old add-ons do with `mode` (conformance 171)', async () => {
    await using server = await listed(APP)
    expect(await allowedFor(server, 'content-type,mode')).toEqual(['mode'])
    expect(await allowedFor(server, 'X-Trace-Id,  baggage,x-trace-id, Accept')).toEqual([
      'x-trace-id',
      'baggage',
    ])
    expect(await allowedFor(server, '')).toEqual([])
  })

  test('is not allowed the headers that no page may set, nor what is no name', async () => {
    await using server = await listed(APP)
    const forbidden = [
      'Accept-Charset',
      'Accept-Encoding',
      'Access-Control-Request-Headers',
      'Access-Control-Request-Method',
      'Connection',
      'Content-Length',
      'Cookie',
      'Cookie2',
      'Date',
      'DNT',
      'Expect',
      'Host',
      'Keep-Alive',
      'Origin',
      'Referer',
      'Set-Cookie',
      'TE',
      'Trailer',
      'Transfer-Encoding',
      'Upgrade',
      'Via',
      'Proxy-Authorization',
      'Sec-Fetch-Site',
    ]
    const noNames = ['*', 'a b', 'a:b', '<b>', '"a"', '\u00e4', 'a/b']
    for (const name of [...forbidden, ...noNames]) {
      expect({ name, allowed: await allowedFor(server, `x-one, ${name}, x-two`) }).toEqual({
        name,
        allowed: ['x-one', 'x-two'],
      })
    }
  })

  test('is allowed 1 KB of names, whole ones only', async () => {
    await using server = await listed(APP)
    const names = Array.from({ length: 1_000 }, (_, at) => `x-${String(at).padStart(5, '0')}`)
    // Each takes eight characters with its comma.
    expect(await allowedFor(server, names.join(','))).toEqual(names.slice(0, 128))
  })

  test('of a packaged application is listed as its browser writes it', async () => {
    await using server = await listed()
    for (const [given, origin] of [
      ['app://my.app', 'app://my.app'],
      ['app://./index.html', 'app://.'],
      ['capacitor://localhost', 'capacitor://localhost'],
      ['ionic://localhost', 'ionic://localhost'],
      ['tauri://localhost/', 'tauri://localhost'],
      ['chrome-extension://abcdefgh', 'chrome-extension://abcdefgh'],
    ] as const) {
      expectRefused(await from(server, origin))
      await list(server, given)
      expectAllowed(await from(server, origin), origin)
      expectAllowed(await preflight(server, origin), origin)
      await server.commands.run('origin.remove', { database: 'main', origin: given })
      expectRefused(await from(server, origin))
    }
    expectRefused(await from(server, 'null'))
  })

  test('may write with a token', async () => {
    await using server = await listed(APP)
    const alice = await server.as(ALICE)
    const answer = await alice.post('/my/plain', { id: 'a' }, { origin: APP })
    expectAllowed(answer, APP)
  })

  test('is known within a second of being listed, and forgotten as fast', async () => {
    await using server = await listed()
    expectRefused(await from(server, APP))
    await list(server, APP)
    expectAllowed(await from(server, APP), APP)
    await server.commands.run('origin.remove', { database: 'main', origin: APP })
    expectRefused(await from(server, APP))
    expectRefused(await preflight(server, APP))
  })

  test('is listed for one database only', async () => {
    await using server = await listed(APP)
    await server.commands.run('db.create', { name: 'other' })
    const other = callerOf(`${server.url}/other`)
    expectRefused(await other.send('GET', '/public/realms', { headers: { origin: APP } }))
  })
})

describe('a page of any other origin', () => {
  test('is refused before anything happens, for every route (conformance 13)', async () => {
    await using server = await listed(APP)
    const alice = await server.as(ALICE)
    const evil = { origin: 'https://evil.example' }
    expectRefused(await preflight(server, evil.origin))
    for (const path of [
      '/public/plain',
      '/my/plain',
      '/token/validate',
      '/.well-known/jwks.json',
    ]) {
      expectRefused(await alice.send('GET', path, { headers: evil }))
    }
    expectRefused(await alice.post('/my/plain', { id: 'a' }, evil))
    expectRefused(await alice.send('POST', '/token', { body: '{}', headers: evil }))
    expect((await alice.get('/my/plain')).text).toBe('[]')
    expect((await alice.post('/my/plain', { id: 'a' })).status).toBe(200)
    expectRefused(await alice.send('DELETE', '/my/plain/a', { headers: evil }))
    expect((await alice.get('/my/plain/a')).status).toBe(200)
  })

  test('may not call the service either', async () => {
    await using server = await listed(APP)
    const service = callerOf(server.url)
    for (const path of ['/', '/health', '/ready', '/nothing/x']) {
      const answer = await service.send('GET', path, { headers: { origin: 'https://x.example' } })
      expect([403, 404]).toContain(answer.status)
      expect(answer.headers.get('access-control-allow-origin')).toBeNull()
    }
  })
})

describe('our own pages', () => {
  test('are those of the address of a database too, for that database', async () => {
    await using server = await listed()
    const own = 'https://todo.example.com'
    await server.commands.run('db.create', { name: 'other' })
    await server.commands.run('db.address', { database: 'main', url: own, reset: false })
    expectAllowed(await from(server, own), own)
    const other = await fetch(`${server.url}/other/public/realms`, { headers: { origin: own } })
    expect(other.status).toBe(403)
    expectAllowed(await from(server, 'https://data.example.com'), 'https://data.example.com')
  })

  test('may call, at the public address and where the server listens', async () => {
    await using server = await listed()
    for (const origin of ['https://data.example.com', server.url]) {
      expectAllowed(await from(server, origin), origin)
      expectAllowed(await preflight(server, origin), origin)
    }
  })
})

describe('in development', () => {
  const LOCAL = [
    'http://localhost:5173',
    'https://127.0.0.1',
    'http://[::1]:1',
    'http://a.localhost',
  ]

  test('pages of this machine may call without being listed', async () => {
    await using server = await setupData()
    for (const origin of LOCAL) {
      expectAllowed(await from(server, origin), origin)
      expectAllowed(await preflight(server, origin), origin)
    }
    expectRefused(await from(server, APP))
    const lost = await callerOf(`${server.url}/nothing`).send('GET', '/public/x', {
      headers: { origin: LOCAL[0]! },
    })
    expect(lost.status).toBe(404)
    expect(lost.headers.get('access-control-allow-origin')).toBe(LOCAL[0]!)
  })

  test.each([
    ['a public address', { publicUrl: 'https://data.example.com' }],
    ['a trusted proxy', { trustProxy: '10.0.0.0/8' }],
    ['another bind', { host: '0.0.0.0' }],
  ])('but not with %s', async (_, flags) => {
    await using server = await setupData(flags)
    for (const origin of LOCAL) expectRefused(await from(server, origin))
  })

  test.each(['x-forwarded-for', 'forwarded', 'x-forwarded-host', 'x-forwarded-proto'])(
    'and not once a request came with %s: a proxy is in between',
    async (name) => {
      await using server = await setupData()
      expectAllowed(await from(server, LOCAL[0]!), LOCAL[0]!)
      await server.anyone.send('GET', '/public/plain', { headers: { [name]: '1.2.3.4' } })
      expectRefused(await from(server, LOCAL[0]!))
      expect(server.lines.some((line) => line.includes('A proxy forwards requests'))).toBe(true)
    },
  )
})

test('the list does not apply to a request without an origin (conformance 13)', async () => {
  await using server = await listed()
  const answer = await server.anyone.get('/public/plain')
  expect(answer.status).toBe(200)
  expect(answer.headers.get('access-control-allow-origin')).toBeNull()
  expect(answer.headers.get('vary')).toBe('Authorization, Origin')
})

test('OPTIONS that is no preflight tells the methods, not what a preflight does', async () => {
  await using server = await listed(APP)
  const answer = await server.anyone.send('OPTIONS', '/my/plain', { headers: { origin: APP } })
  expect(answer.status).toBe(204)
  expect(answer.headers.get('allow')).toBe('GET, HEAD, POST, OPTIONS')
  expect(answer.headers.get('access-control-allow-methods')).toBeNull()
})

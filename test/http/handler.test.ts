import { describe, expect, test } from 'bun:test'
import { connect } from 'node:net'
import { clientAddress } from '../../src/http/handler'
import { parseNetworks } from '../../src/net/networks'
import { until } from '../timing'
import { ALICE, callerOf, exchange, readAnswer, setupData } from './setup'

const FILLED = { id: 'a', title: 'x' }

async function filled(flags = {}) {
  const server = await setupData(flags)
  await server.root.post('/public/plain', FILLED)
  return server
}

const get = (path: string, host = 'localhost') =>
  `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`

describe('addresses', () => {
  test('may have repeated slashes anywhere (conformance 3)', async () => {
    await using server = await filled()
    const { host } = new URL(server.url)
    for (const path of [
      '//main/public/plain/a',
      '/main//public/plain/a',
      '/main/public///plain//a',
      '//main//public//plain/a?x=//',
    ]) {
      const { text } = await exchange(server.url, get(path, host))
      expect(text).toStartWith('HTTP/1.1 200')
      expect(text).toEndWith('{"id":"a","title":"x","realmId":"rlm-public","owner":null}')
    }
    const often = await exchange(server.url, get('////main//public//plain//a', host))
    expect(often.statuses).toEqual([400])
    expect(often.text).toContain('The address repeats slashes too often')
    const list = await callerOf(`${server.url}//main/`).get('/public/plain?title=x//y')
    expect(list).toMatchObject({ status: 200, text: '[]' })
    const posted = await callerOf(`${server.main}/`, server.root.token).post('/all/plain', {
      id: 'b',
      realmId: 'rlm-public',
    })
    expect(posted.status).toBe(200)
    expect((await server.root.send('DELETE', '//public///plain/b')).status).toBe(204)
  })

  test('may be short, long, or without a host as in HTTP/1.0', async () => {
    await using server = await filled()
    for (const host of ['x', 'localhost', '[::1]:80', '', 'a-very-long-name.example.com:12345']) {
      const { statuses } = await exchange(server.url, get('/main/public/plain/a', host))
      expect({ host, statuses }).toEqual({ host, statuses: [200] })
    }
    const old = await exchange(server.url, 'GET /main/public/plain/a HTTP/1.0\r\n\r\n')
    expect(old.text).toContain('200 OK')
    expect(old.isClosed).toBe(true)
  })

  test('have one host, and no path in it', async () => {
    await using server = await filled()
    for (const host of [
      'localhost, other',
      'localhost,other',
      'x/main/public/plain',
      'x/main?',
      'user@x',
      'x#',
      'a b',
      '%2f',
      '[::1',
    ]) {
      const { statuses } = await exchange(server.url, get('/main/public/plain/a', host))
      expect({ host, statuses }).toEqual({ host, statuses: [400] })
    }
    const twice = 'GET /health HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n'
    const { text } = await exchange(server.url, twice)
    expect(text).toStartWith('HTTP/1.1 400')
    expect(text).toContain('"INVALID_REQUEST"')
  })
})

describe('a path that means another one when it is resolved', () => {
  test('is refused', async () => {
    await using server = await setupData()
    await server.root.post('/public/plain', { id: 'a' })
    for (const path of [
      '/main/my/../public/plain/a',
      '/main/my/%2e%2e/public/plain/a',
      '/main/my/%2E./public/plain/a',
      '/main/./public/plain/a',
      '/main/%2e/public/plain/a',
      '/main\\public/plain/a',
      '/main/public\\plain\\a',
      '/x\\main/../public/plain\\a',
      '/main/public/plain/a/.',
      '/main/public/plain/a/b/..',
      '/..',
      '/a/b/c/d/e/f/g/h/../../../../../../../../main/public/plain/a',
      '/main//my/../public/plain/a',
      '//main/my/%2e%2e/public/plain',
      '////main//my/../public/plain/a',
      '/main/my//../public/plain/a',
      '/main/public/plain//./a',
      '/main//public\\plain/a',
    ]) {
      const { text, statuses } = await exchange(server.url, get(path))
      expect({ path, statuses }).toEqual({ path, statuses: [400] })
      expect(text).toContain('"INVALID_REQUEST"')
    }
  })

  test('is not one with dots inside a segment or an encoded backslash', async () => {
    await using server = await setupData()
    for (const id of ['a\\b', 'john.doe', '..a', 'a..', '...', 'ä/b', 'a%b']) {
      await server.root.post('/public/plain', { id })
      const found = await server.anyone.get(`/public/plain/${encodeURIComponent(id)}`)
      expect({ id, status: found.status }).toEqual({ id, status: 200 })
    }
    expect(
      (await exchange(server.url, get('/main/public/plain/a%5cb?x=/../y\\'))).statuses,
    ).toEqual([200])
    expect((await exchange(server.url, get('/main/public/plain/john%2edoe'))).statuses).toEqual([
      200,
    ])
    expect((await exchange(server.url, get('/main/public/plain/%zz'))).statuses).toEqual([400])
  })
})

test('the access log shortens a long path', async () => {
  await using server = await setupData()
  await exchange(server.url, get(`/main/public/plain/${'x'.repeat(8_000)}`))
  const line = server.lines.find((each) => each.includes('xxxx'))
  expect(line).toContain(`"path":"/main/public/plain/${'x'.repeat(981)}…"`)
  expect(line!.length).toBeLessThan(1_300)
})

describe('the access log of a stream', () => {
  async function setupList() {
    const server = await setupData()
    const text = 'x'.repeat(10_000)
    const objects = Array.from({ length: 1_000 }, () => ({ text }))
    await server.root.post('/public/items', objects, { prefer: 'return=minimal' })
    const lines = () =>
      server.lines
        .map((line) => JSON.parse(line) as Record<string, unknown>)
        .filter(({ method, path }) => method !== 'POST' && path === '/main/public/items')
    return { ...server, lists: lines }
  }

  test('has its status when it was sent to the end', async () => {
    await using server = await setupList()
    expect((await server.anyone.get('/public/items')).status).toBe(200)
    await until(() => server.lists().length === 1)
    expect(server.lists()).toMatchObject([{ status: 200 }])
    expect(server.lists()[0]).not.toHaveProperty('brokenOff')
  })

  test('says that it broke off when its reader left, and not 200', async () => {
    await using server = await setupList()
    const { hostname, port } = new URL(server.url)
    const socket = connect(Number(port), hostname)
    socket.write('GET /main/public/items HTTP/1.1\r\nHost: x\r\n\r\n')
    await new Promise((resolve) => socket.once('data', resolve))
    expect(server.lists()).toEqual([])
    socket.destroy()
    await until(() => server.lists().length === 1)
    expect(server.lists()).toMatchObject([{ status: 499, brokenOff: 'the reader disconnected' }])
  })

  test('has the answer to HEAD at once', async () => {
    await using server = await setupList()
    expect((await server.anyone.send('HEAD', '/public/items')).status).toBe(200)
    expect(server.lists()).toMatchObject([{ method: 'HEAD', status: 200 }])
  })
})

describe('with --domain', () => {
  const at = (host: string, path: string, method = 'GET', rest = '\r\n') =>
    `${method} ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n${rest}`

  test('a database answers at its own host as at its path (conformance 1)', async () => {
    await using server = await filled({ domain: 'example.com' })
    for (const host of ['main.example.com', 'MAIN.Example.COM', 'main.example.com:8443']) {
      for (const path of ['/public/plain/a', '//public//plain/a']) {
        const { text } = await exchange(server.url, at(host, path))
        expect(text).toEndWith('{"id":"a","title":"x","realmId":"rlm-public","owner":null}')
      }
    }
    const body = JSON.stringify({ id: 'b' })
    const rest =
      `Authorization: Bearer ${server.root.token}\r\nContent-Type: application/json\r\n` +
      `Content-Length: ${body.length}\r\n\r\n${body}`
    const posted = await exchange(server.url, at('main.example.com', '/public/plain', 'POST', rest))
    expect(posted.text).toEndWith('{"id":"b","realmId":"rlm-public","owner":null}')
    expect((await server.anyone.get('/public/plain/b')).status).toBe(200)
    const page = await exchange(server.url, at('main.example.com', '/public/plain?$limit=1'))
    expect(page.text).toMatch(/\r\nLink: <\?\$limit=1&\$after=\w+>; rel="next"\r\n/)
  })

  test('other hosts reach databases by path alone', async () => {
    await using server = await filled({ domain: 'example.com' })
    for (const host of [
      'example.com',
      'other.org',
      'main.example.org',
      'xexample.com',
      'localhost',
    ]) {
      expect((await exchange(server.url, at(host, '/main/public/plain/a'))).statuses).toEqual([200])
      expect((await exchange(server.url, at(host, '/public/plain/a'))).statuses).toEqual([404])
      expect((await exchange(server.url, at(host, '/health'))).statuses).toEqual([200])
    }
    for (const host of ['other.example.com', 'a.main.example.com', 'health.example.com']) {
      const { statuses } = await exchange(server.url, at(host, '/public/plain/a'))
      expect({ host, statuses }).toEqual({ host, statuses: [404] })
    }
    const plain = await setupData()
    const { statuses } = await exchange(plain.url, at('main.example.com', '/public/plain'))
    expect(statuses).toEqual([404])
    await plain[Symbol.asyncDispose]()
  })
})

describe('HEAD', () => {
  test('answers as GET does, without the body', async () => {
    await using server = await filled()
    const alice = await server.as(ALICE)
    for (const [caller, path] of [
      [callerOf(server.url), '/health'],
      [callerOf(server.url), '/ready'],
      [callerOf(server.url), '/'],
      [server.anyone, '/.well-known/jwks.json'],
      [server.anyone, '/public/plain'],
      [server.anyone, '/public/plain?$limit=1&title=x'],
      [server.anyone, '/public/plain/a'],
      [server.anyone, '/public/plain/none'],
      [server.anyone, '/public/none'],
      [server.anyone, '/my/plain'],
      [alice, '/my/plain'],
      [alice, '/all/plain'],
      [alice, '/token/validate'],
      [server.anyone, '/public/%ff'],
      [server.anyone, '/nothing'],
    ] as const) {
      const expected = await caller.get(path)
      const head = await caller.send('HEAD', path)
      expect({ path, status: head.status, text: head.text }).toEqual({
        path,
        status: expected.status,
        text: '',
      })
      const headers = Object.fromEntries(expected.headers)
      for (const name of ['x-request-id', 'date', 'content-length']) delete headers[name]
      expect(Object.fromEntries(head.headers)).toMatchObject(headers)
      const length = Math.abs(
        Number(head.headers.get('content-length')) - Buffer.byteLength(expected.text),
      )
      // The request id has its own length.
      expect(length).toBeLessThan(3)
    }
    expect((await server.anyone.send('HEAD', '/token')).status).toBe(405)
  })

  test('keeps the connection in order', async () => {
    await using server = await filled()
    const head = 'HEAD /main/public/plain HTTP/1.1\r\nHost: x\r\n\r\n'
    const { statuses, text } = await exchange(
      server.url,
      head +
        get('/health').replace('close', 'keep-alive') +
        get('/main/public/plain').replace('GET', 'HEAD'),
    )
    expect(statuses).toEqual([200, 200, 200])
    expect(text.match(/\{/g)).toBeArrayOfSize(1)
  })
})

describe('OPTIONS', () => {
  test('lists the methods of an address, also for anonymous callers', async () => {
    await using server = await filled()
    for (const [path, allowed] of [
      ['/main/public/plain', 'GET, HEAD, POST, OPTIONS'],
      ['/main/my/none/a', 'GET, HEAD, PUT, DELETE, OPTIONS'],
      ['/main/none', 'GET, HEAD, POST, OPTIONS'],
      ['/main/token', 'POST, OPTIONS'],
      ['/health', 'GET, HEAD, OPTIONS'],
    ] as const) {
      const answer = await callerOf(server.url).send('OPTIONS', path)
      expect({ path, status: answer.status, text: answer.text }).toEqual({
        path,
        status: 204,
        text: '',
      })
      expect(answer.headers.get('allow')).toBe(allowed)
      expect(answer.headers.get('x-request-id')).toMatch(/^[\w-]{8,}$/)
    }
    const nothing = await server.anyone.send('OPTIONS', '/no/such/address')
    expect(nothing).toMatchObject({ status: 404, body: { code: 'UNKNOWN_ROUTE' } })
    const origin = 'https://elsewhere.example'
    const stranger = await server.anyone.send('OPTIONS', '/token', { headers: { origin } })
    expect(stranger).toMatchObject({ status: 403, body: { code: 'ORIGIN_NOT_ALLOWED' } })
  })
})

describe('every answer', () => {
  test('has its id, forbids guessing types and keeping it', async () => {
    await using server = await filled()
    const alice = await server.as(ALICE)
    const answers = [
      await alice.get('/my/plain'),
      await alice.post('/my/plain', { id: 'z' }),
      await alice.remove('/my/plain/z'),
      await alice.get('/my/plain/none'),
      await server.anyone.get('/public/plain'),
      await callerOf(server.url).get('/health'),
      await callerOf(server.url).get('/nothing/at/all'),
      await server.anyone.send('PATCH', '/my/plain'),
      await readAnswer(await fetch(`${server.main}/public/%`)),
    ]
    for (const { headers } of answers) {
      expect(headers.get('x-request-id')).toMatch(/^[\w-]{8,}$/)
      expect(headers.get('x-content-type-options')).toBe('nosniff')
      expect(headers.get('referrer-policy')).toBe('no-referrer')
      expect(headers.get('cache-control')).toMatch(/no-store/)
      expect(headers.get('vary')).toBe('Authorization, Origin')
      expect(headers.get('server')).toBeNull()
      expect(headers.get('x-powered-by')).toBeNull()
      expect(headers.get('access-control-allow-origin')).toBeNull()
    }
    expect(new Set(answers.map(({ headers }) => headers.get('x-request-id'))).size).toBe(
      answers.length,
    )
  })

  test('has one line in the access log, without the query', async () => {
    await using server = await filled()
    const alice = await server.as(ALICE)
    const before = server.lines.length
    const answers = [
      await alice.get('/my/plain?title=secret&$limit=1'),
      await alice.post('/my/plain', { id: 'b', title: 'secret' }),
      await server.anyone.get('/my/plain?x=secret'),
      await server.anyone.get('/public/none'),
      await server.anyone.get('/public/%zz'),
      await server.anyone.send('HEAD', '/public/plain'),
    ]
    const entries = server.lines.slice(before).map((line) => JSON.parse(line) as object)
    const base = { logger: 'access', level: 'info', ms: expect.any(Number) as number }
    expect(entries).toMatchObject([
      { ...base, method: 'GET', path: '/main/my/plain', status: 200, subject: ALICE },
      { ...base, method: 'POST', path: '/main/my/plain', status: 200, subject: ALICE },
      { ...base, method: 'GET', path: '/main/my/plain', status: 401, code: 'INVALID_TOKEN' },
      { ...base, method: 'GET', path: '/main/public/none', status: 404, code: 'UNKNOWN_TABLE' },
      { ...base, method: 'GET', path: '/main/public/%zz', status: 400, code: 'INVALID_REQUEST' },
      { ...base, method: 'HEAD', path: '/main/public/plain', status: 200 },
    ])
    expect(entries.map((entry) => (entry as { requestId: string }).requestId)).toEqual(
      answers.map(({ headers }) => headers.get('x-request-id') ?? ''),
    )
    expect(server.lines.slice(before).join('\n')).not.toContain('secret')
  })
})

const PROXIES = parseNetworks('10.0.0.0/8,fd00::/8')!
const PROXY = '10.1.2.3'

const through = (forwarded: string, peer = PROXY, proxies: typeof PROXIES | null = PROXIES) =>
  clientAddress(peer, new Headers({ 'x-forwarded-for': forwarded }), proxies)

describe('the address of a caller (design.md §2)', () => {
  test('is that of the socket, in one form', () => {
    const none = new Headers()
    expect(clientAddress('198.51.100.7', none, null)).toBe('198.51.100.7')
    expect(clientAddress('::ffff:198.51.100.7', none, PROXIES)).toBe('198.51.100.7')
    expect(clientAddress('2001:DB8::1', none, PROXIES)).toBe('2001:db8::1')
    expect(clientAddress(undefined, none, PROXIES)).toBe('')
  })

  test('is never what a caller that is no trusted proxy says', () => {
    expect(through('203.0.113.9', '198.51.100.7')).toBe('198.51.100.7')
    expect(through('203.0.113.9', PROXY, null)).toBe(PROXY)
  })

  test('is the last one that the chain of trusted proxies vouches for', () => {
    expect(through('203.0.113.9')).toBe('203.0.113.9')
    expect(through('203.0.113.9, 10.9.9.9')).toBe('203.0.113.9')
    expect(through('1.1.1.1, 203.0.113.9')).toBe('203.0.113.9')
    expect(through('1.1.1.1, 203.0.113.9, 10.9.9.9', '::ffff:10.1.2.3')).toBe('203.0.113.9')
    expect(through('203.0.113.9, fd00::5', 'fd00::1')).toBe('203.0.113.9')
  })

  test.each([
    ['203.0.113.9:4711', '203.0.113.9'],
    ['[2001:db8::9]:4711', '2001:db8::9'],
    ['[2001:DB8::9]', '2001:db8::9'],
    ['2001:db8::9', '2001:db8::9'],
    ['::ffff:203.0.113.9', '203.0.113.9'],
  ])('is read from %s', (forwarded, address) => {
    expect(through(forwarded)).toBe(address)
  })

  test.each(['', ' ', 'unknown', '_hidden', '203.0.113.999', '203.0.113.9 evil', '<script>', ','])(
    'is that of the proxy when it says %p',
    (forwarded) => {
      expect(through(forwarded)).toBe(PROXY)
    },
  )

  test('is that of the outermost proxy when all are trusted', () => {
    expect(through('10.5.5.5, 10.6.6.6')).toBe('10.5.5.5')
  })
})

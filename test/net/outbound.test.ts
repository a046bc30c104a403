import { describe, expect, test } from 'bun:test'
import { parseNetworks } from '../../src/net/networks'
import { createOutbound, OutboundError, type OutboundRequest } from '../../src/net/outbound'

const LOOPBACK = parseNetworks('127.0.0.0/8')!

type Handler = (request: Request) => Response | Promise<Response>

/** A web server on loopback that counts its visitors. */
function setupServer(answer: Handler = () => new Response('hello')) {
  let visits = 0
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch(request) {
      visits += 1
      return answer(request)
    },
  })
  return {
    port: server.port,
    url: `http://127.0.0.1:${server.port}`,
    get visits() {
      return visits
    },
    [Symbol.dispose]: () => void server.stop(true),
  }
}

/** The sentence a request is refused with. */
async function refusalOf(work: Promise<Response>): Promise<string> {
  try {
    await work
  } catch (error) {
    if (error instanceof OutboundError) return error.message
    throw error
  }
  throw new Error('this was not refused')
}

const named = (...addresses: string[]) => ({
  resolve: async () =>
    addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
})

test('sends method, headers and body, and gives status, headers and body back', async () => {
  using server = setupServer(async (request) =>
    Response.json(
      { method: request.method, type: request.headers.get('x-kind'), body: await request.text() },
      { status: 418, headers: { 'x-answer': 'yes' } },
    ),
  )
  const outbound = createOutbound({ allowed: LOOPBACK })
  const request: OutboundRequest = { method: 'POST', headers: { 'x-kind': 'test' }, body: 'text' }
  const response = await outbound(`${server.url}/path`, request)
  expect(response.status).toBe(418)
  expect(response.headers.get('x-answer')).toBe('yes')
  expect(await response.json()).toEqual({ method: 'POST', type: 'test', body: 'text' })
})

// promises.md 32
describe('promise 32: a configured address reaches no private network', () => {
  test.each([
    'http://127.0.0.1:PORT',
    'http://localhost:PORT',
    'http://LOCALHOST:PORT',
    'http://127.1:PORT',
    'http://0x7f000001:PORT',
    'http://2130706433:PORT',
    'http://0177.0.0.1:PORT',
    'http://0:PORT',
    'http://①②⑦.0.0.1:PORT',
    'http://[::1]:PORT',
    'http://[::]:PORT',
    'http://[::ffff:127.0.0.1]:PORT',
    'http://[::ffff:7f00:1]:PORT',
    'http://[::127.0.0.1]:PORT',
    'http://[64:ff9b::127.0.0.1]:PORT',
    'http://[2002:7f00:1::]:PORT',
    'http://10.0.0.1:PORT',
    'http://172.16.0.1:PORT',
    'http://192.168.0.1:PORT',
    'http://100.64.0.1:PORT',
    'http://169.254.169.254:PORT/latest/meta-data',
    'http://[fe80::1]:PORT',
    'http://[fd00:ec2::254]:PORT',
    'https://127.0.0.1:PORT',
  ])('%s', async (address) => {
    using server = setupServer()
    const outbound = createOutbound({ allowed: null })
    const url = address.replace('PORT', String(server.port))
    expect(await refusalOf(outbound(url))).toContain('--allow-private-addresses')
    expect(server.visits).toBe(0)
  })

  test('a name for a private address, also among public ones', async () => {
    using server = setupServer()
    const url = `http://login.example.com:${server.port}`
    for (const addresses of [
      ['127.0.0.1'],
      ['::1'],
      ['::ffff:127.0.0.1'],
      ['8.8.8.8', '10.0.0.1'],
    ]) {
      const outbound = createOutbound({ allowed: null, ...named(...addresses) })
      const refusal = await refusalOf(outbound(url.replace('http:', 'https:')))
      expect(refusal).toContain(`(${addresses.at(-1)}) is not a public address`)
    }
    expect(server.visits).toBe(0)
  })

  test.each(['file:///etc/passwd', 'ftp://example.com/', 'data:text/plain,x', 'gopher://x/', 'x'])(
    '%s, which is not of the web',
    async (url) => {
      expect(await refusalOf(createOutbound({ allowed: LOOPBACK })(url))).toMatch(
        /not supported|not a valid URL/,
      )
    },
  )

  test('a user name in the address', async () => {
    const outbound = createOutbound({ allowed: LOOPBACK })
    expect(await refusalOf(outbound('http://a:b@127.0.0.1/'))).toContain('user name')
  })
})

test('calls what is allowed, by address and by name, by plain http too', async () => {
  using server = setupServer()
  const allowed = createOutbound({ allowed: LOOPBACK, ...named('127.0.0.1') })
  expect(await (await allowed(server.url)).text()).toBe('hello')
  expect(await (await allowed(`http://intranet.example:${server.port}`)).text()).toBe('hello')
  const other = createOutbound({ allowed: parseNetworks('10.0.0.0/8')!, ...named('127.0.0.1') })
  expect(await refusalOf(other(server.url))).toContain('not a public address')
})

test('calls the open internet by https alone', async () => {
  const outbound = createOutbound({ allowed: LOOPBACK, ...named('8.8.8.8') })
  expect(await refusalOf(outbound('http://example.com/'))).toBe(
    'example.com must be called by https',
  )
})

test('tells temporary from permanent failures', async () => {
  using elsewhere = setupServer(() => Response.redirect('https://example.com', 301))
  using silent = setupServer(() => new Promise<never>(() => {}))
  const outbound = createOutbound({ allowed: LOOPBACK })
  const isTransient = async (work: Promise<Response>) => {
    const error = await work.catch((reason: unknown) => reason)
    return error instanceof OutboundError ? error.isTransient : undefined
  }
  expect(await isTransient(outbound(elsewhere.url))).toBe(false)
  expect(await isTransient(outbound('http://10.0.0.1'))).toBe(false)
  expect(await isTransient(outbound('http://a:b@127.0.0.1'))).toBe(false)
  expect(await isTransient(outbound(silent.url, { timeout: 50 }))).toBe(true)
  silent[Symbol.dispose]()
  expect(await isTransient(outbound(silent.url))).toBe(true)
})

test('gives up on slow servers, in the answer too', async () => {
  const never = new Promise<never>(() => {})
  using silent = setupServer(() => never)
  using stalled = setupServer(() => new Response(new ReadableStream({ pull: () => never })))
  const outbound = createOutbound({ allowed: LOOPBACK })
  for (const { url } of [silent, stalled]) {
    expect(await refusalOf(outbound(url, { timeout: 100 }))).toContain(
      'did not answer within 0.1 s',
    )
  }
  const lost = createOutbound({ allowed: LOOPBACK, resolve: () => new Promise(() => {}) })
  expect(await refusalOf(lost('https://example.com', { timeout: 50 }))).toContain('within 0.05 s')
})

test('reports that no server answers, and limits the size of answers', async () => {
  const outbound = createOutbound({ allowed: LOOPBACK })
  const server = setupServer()
  server[Symbol.dispose]()
  expect(await refusalOf(outbound(server.url))).toContain(
    'cannot be reached: nothing listens there',
  )
  using talker = setupServer(() => new Response('x'.repeat(2 * 1024 * 1024)))
  expect(await refusalOf(outbound(talker.url))).toContain('sent too much data')
  using brief = setupServer(() => new Response('x'.repeat(101)))
  expect(await refusalOf(outbound(brief.url, { longest: 100 }))).toContain('sent too much data')
  expect((await outbound(brief.url, { longest: 101 })).status).toBe(200)
})

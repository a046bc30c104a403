import { describe, expect, test } from 'bun:test'
import { type DataServer, exchange, setupData } from '../http/setup'

/**
 * Promise 40: an origin is allowed when it is exactly one that is listed; `null`, suffixes, prefixes
 * and other spellings are refused (ASVS 3.4.2). WebSockets come with live sync.
 */

const LISTED = 'https://app.example.com'

const TRICKS = [
  'null',
  'file://',
  '*',
  '',
  ' ',
  'https://app.example.com.evil.com',
  'https://app.example.comevil.com',
  'https://evilapp.example.com',
  'https://evil.app.example.com',
  'https://example.com',
  'https://.app.example.com',
  'https://app.example.com.',
  'https://app.example.com:443',
  'https://app.example.com:8443',
  'https://app.example.com:',
  'http://app.example.com',
  'HTTPS://app.example.com',
  'https://APP.example.com',
  'https://app.example.com/',
  'https://app.example.com/path',
  'https://app.example.com?',
  'https://app.example.com#',
  'https://app.example.com@evil.com',
  'https://evil.com@app.example.com',
  'https://evil.com#app.example.com',
  'https://evil.com?app.example.com',
  'https://evil.com/app.example.com',
  'https://evil.com\\app.example.com',
  'https://app.example.com%00',
  'https://app.example.com%60.evil.com',
  'https://app.example.com`.evil.com',
  'https://app.example.com_.evil.com',
  'https://app-example.com',
  'https://appxexample.com',
  'https://app.example.com, https://evil.com',
  'https://evil.com, https://app.example.com',
  'https://app.example.com https://evil.com',
  'https:app.example.com',
  '//app.example.com',
  'app.example.com',
  'https://xn--app-8cd.example.com',
  'chrome-extension://app.example.com',
  'capacitor://app.example.com',
  'data:text/html,x',
  'https://localhost',
  'http://localhost:5173',
  'http://127.0.0.1',
  'http://127.0.0.1:7080',
  'http://[::1]',
]

async function listed(...origins: string[]) {
  const server = await setupData({ publicUrl: 'https://data.example.com' })
  for (const origin of origins) {
    await server.commands.run('origin.add', { database: 'main', origin, force: true })
  }
  return server
}

/** Sent as it is: programs tidy headers up. Returns the answers to a request and its preflight. */
async function callFrom(server: DataServer, ...origins: string[]) {
  const headers = origins.map((origin) => `Origin: ${origin}\r\n`).join('')
  const end = `Host: x\r\nConnection: close\r\n${headers}`
  const ask = `OPTIONS /main/my/plain HTTP/1.1\r\n${end}Access-Control-Request-Method: POST\r\n\r\n`
  return [
    await exchange(server.url, `GET /main/public/plain HTTP/1.1\r\n${end}\r\n`),
    await exchange(server.url, ask),
  ]
}

async function expectRefused(server: DataServer, ...origins: string[]): Promise<void> {
  for (const { text, statuses } of await callFrom(server, ...origins)) {
    expect({ origins, statuses }).toEqual({ origins, statuses: [403] })
    expect(text).not.toMatch(/^access-control-/im)
    expect(text).toContain('ORIGIN_NOT_ALLOWED')
  }
}

describe('promise 40', () => {
  test('the listed origin itself may call, and is echoed, never "*" (conformance 10)', async () => {
    await using server = await listed(LISTED)
    for (const { text, statuses } of await callFrom(server, LISTED)) {
      expect([[200], [204]]).toContainEqual([...statuses])
      expect(text).toContain(`\r\nAccess-Control-Allow-Origin: ${LISTED}\r\n`)
      expect(text).toContain('\r\nAccess-Control-Allow-Credentials: true\r\n')
      expect(text).toMatch(/\r\nVary: [^\r]*Origin/)
      expect(text).not.toContain('*\r\n')
    }
  })

  test('nothing like it may', async () => {
    await using server = await listed(LISTED)
    for (const origin of TRICKS) {
      // An empty header is one that the runtime does not report, and no page sends it.
      if (origin.trim() !== '') await expectRefused(server, origin)
    }
    await expectRefused(server, LISTED, 'https://evil.com')
    await expectRefused(server, 'https://evil.com', LISTED)
    await expectRefused(server, LISTED, LISTED)
  })

  test('"null" may when an application is listed, and then without credentials', async () => {
    await using server = await listed(LISTED)
    await expectRefused(server, 'null')
    await server.commands.run('origin.add', {
      database: 'main',
      origin: 'app:My App',
      force: false,
    })
    for (const { text, statuses } of await callFrom(server, 'null')) {
      expect([[200], [204]]).toContainEqual([...statuses])
      expect(text).toContain('\r\nAccess-Control-Allow-Origin: null\r\n')
      expect(text).not.toContain('Allow-Credentials')
    }
    for (const origin of ['app:My App', 'app://My App', 'https://my app', 'NULL', 'https://null']) {
      await expectRefused(server, origin)
    }
  })

  test('an application’s own scheme may, and no other', async () => {
    await using server = await listed('capacitor://localhost')
    for (const { statuses } of await callFrom(server, 'capacitor://localhost')) {
      expect([[200], [204]]).toContainEqual([...statuses])
    }
    for (const origin of ['ionic://localhost', 'capacitor://localhost.evil.com', 'capacitor://x']) {
      await expectRefused(server, origin)
    }
  })

  test('a pattern cannot be listed', async () => {
    await using server = await listed()
    for (const origin of ['*', 'https://*', 'https://*.example.com', 'null', 'file://', '']) {
      const attempt = listing(server, origin)
      expect({ origin, outcome: await attempt }).toEqual({ origin, outcome: 'refused' })
    }
  })

  test('in development, nothing that only looks like this machine may', async () => {
    await using server = await setupData()
    for (const origin of [
      'http://localhost.evil.com',
      'http://localhostevil.com',
      'http://127.0.0.1.evil.com',
      'http://127.0.0.1.nip.io',
      'http://127.1',
      'http://2130706433',
      'http://0x7f.1',
      'http://0.0.0.0',
      'http://10.0.0.1',
      'http://localhost@evil.com',
      'http://evil.com#localhost',
      'http://localhost:5173/',
      'http://LOCALHOST',
      'http://[::1].evil.com',
      'http://[::ffff:7f00:1]',
      'ws://localhost',
      'ftp://localhost',
      'null',
    ]) {
      await expectRefused(server, origin)
    }
  })
})

const listing = (server: DataServer, origin: string) =>
  server.commands.run('origin.add', { database: 'main', origin, force: true }).then(
    () => 'listed',
    () => 'refused',
  )

import { describe, expect, test } from 'bun:test'
import { adminAssets } from '../../../src/admin/assets'
import { KEY_HEADER } from '../../../src/http/admin/halves'
import { share } from '../../setup'
import { exchange } from '../setup'
import { keep, openBrowser, refusal, setupAdmin } from './setup'

const shared = share(setupAdmin)

describe('the page for administrators', () => {
  test('is shown to any browser on this machine, and holds nothing of the data', async () => {
    const answer = await shared().browser().send('GET', '')
    expect(answer.status).toBe(200)
    expect(answer.headers.get('content-type')).toContain('text/html')
    expect(await answer.text()).not.toContain('main"')
  })

  test('may run no script but its own, and be in no frame', async () => {
    const answer = await shared().browser().send('GET', '')
    const policy = answer.headers.get('content-security-policy') ?? ''
    for (const part of [
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self'",
      "connect-src 'self'",
      "frame-src 'self'",
      "img-src 'self' blob:",
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
      "require-trusted-types-for 'script'",
      'trusted-types ',
    ]) {
      expect(policy).toContain(part)
    }
    expect(policy).not.toMatch(/unsafe|\*|https?:|data:/)
    expect(answer.headers.get('cross-origin-opener-policy')).toBe('same-origin')
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff')
    expect(answer.headers.get('referrer-policy')).toBe('no-referrer')
    expect(answer.headers.get('cache-control')).toBe('no-cache')
  })

  test('is sent with its files, compressed where the browser accepts that', async () => {
    const html = await (await shared().browser().send('GET', '')).text()
    const [, name = ''] = /assets\/([\w.-]+\.js)/.exec(html) ?? []
    const assets = await adminAssets()
    const { bytes } = assets.file(name)!
    const get = (accepted: string) =>
      fetch(`${shared().url}/admin/assets/${name}`, {
        headers: { 'accept-encoding': accepted },
        decompress: false,
      })
    const zipped = await get('br, gzip')
    expect(zipped.headers.get('content-encoding')).toBe('gzip')
    expect(zipped.headers.get('cache-control')).toContain('immutable')
    expect(await zipped.bytes()).toEqual(bytes)
    const plain = await get('identity')
    expect(plain.headers.get('content-encoding')).toBeNull()
    expect(await plain.bytes()).toEqual(Bun.gunzipSync(bytes))
  })

  test('has one address, which its files are relative to', async () => {
    const answer = await shared().browser().send('GET', '/')
    expect([answer.status, answer.headers.get('location')]).toEqual([308, '/admin'])
  })

  test('has no other files', async () => {
    const names = ['none.js', '..%2findex.html', '__proto__', 'constructor', 'a/b']
    for (const name of names) {
      const answer = await shared().browser().send('GET', `/assets/${name}`)
      expect([name, answer.ok]).toEqual([name, false])
    }
  })

  test('runs operations for a browser that has logged in', async () => {
    const browser = await shared().logIn()
    expect(await browser.result('db.list')).toEqual([{ name: 'main', url: shared().main }])
  })

  test('lists them with their effects', async () => {
    const browser = await shared().logIn()
    const operations = await (await browser.send('GET', '/operations')).json()
    expect(operations).toContainEqual({
      name: 'db.list',
      summary: expect.any(String),
      effect: 'read',
      isFollowing: false,
      confirms: [],
      input: expect.objectContaining({ type: 'object' }),
    })
  })
})

describe('without a login', () => {
  /** All addresses of the gate; a change needs no body to be refused. */
  const ADDRESSES = [
    ['GET', '/session', 401],
    ['DELETE', '/session', 401],
    ['POST', '/session', 400],
    ['GET', '/operations', 401],
    ['POST', '/api/db.list', 401],
    ['POST', '/api/user.list', 401],
    ['POST', '/api/none', 401],
    ['POST', '/upload/import', 401],
    ['POST', '/ticket', 401],
    ['GET', '/file/none', 404],
    ['GET', '/mail/none', 404],
  ] as const

  test('no address gives anything', async () => {
    for (const [method, path, status] of ADDRESSES) {
      const answer = await shared().browser().send(method, path)
      expect([method, path, answer.status]).toEqual([method, path, status])
      const text = await answer.text()
      expect(text).not.toContain('main')
      expect(answer.headers.get('set-cookie')).toBeNull()
    }
  })

  test('there is nothing else', async () => {
    const others = ['/api', '/api/', '/api/a/b', '/session/x', '/operations/x', '/none', '/Session']
    for (const path of [...others, '/file', '/mail', '/index.html', '/assets']) {
      const answers = await Promise.all(
        ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'].map((method) =>
          shared().browser().send(method, path),
        ),
      )
      for (const answer of answers) expect([path, answer.status]).toEqual([path, 404])
    }
  })

  test('half of a session is not enough, nor the halves of two', async () => {
    const [one, other] = [await shared().logIn(), await shared().logIn()]
    const status = async (cookie?: string, key?: string) => {
      const browser = openBrowser(shared().url)
      Object.assign(browser, { cookie, key })
      return await refusal(await browser.send('POST', '/api/db.list', { body: {} }))
    }
    const ended = [401, 'SESSION_ENDED'] as const
    expect(await status(one.cookie)).toEqual(ended)
    expect(await status(undefined, one.key)).toEqual(ended)
    expect(await status(one.cookie, other.key)).toEqual(ended)
    expect(await status(`${one.cookie}x`, one.key)).toEqual(ended)
    expect(await status(one.cookie, '')).toEqual(ended)
    expect(await status(one.cookie?.replace(/\.[^.]*$/, '.'), one.key)).toEqual(ended)
    expect((await one.send('GET', '/session')).status).toBe(200)
  })

  test('a cookie that another program has set keeps nobody out', async () => {
    const browser = await shared().logIn()
    const [name] = browser.cookie!.split('=')
    const other = await shared().logIn()
    const cookie = `${name}=x; a=b; ${other.cookie}; ${browser.cookie}`
    expect((await browser.send('GET', '/session', { headers: { cookie } })).status).toBe(200)
  })

  test('a refusal invites nobody to send a token', async () => {
    const answer = await shared().browser().send('GET', '/session')
    expect(answer.headers.get('www-authenticate')).toBeNull()
    expect(answer.headers.get('content-security-policy')).toContain("default-src 'none'")
  })
})

describe('a request from elsewhere', () => {
  test('is misdirected under a foreign name', async () => {
    const { port } = new URL(shared().url)
    for (const path of ['/admin', '/admin/session', '/admin/operations']) {
      const request = `GET ${path} HTTP/1.1\r\nHost: evil.example:${port}\r\nConnection: close\r\n\r\n`
      expect([path, (await exchange(shared().url, request)).statuses]).toEqual([path, [421]])
    }
    const twice = `GET /admin HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nHost: evil.example\r\nConnection: close\r\n\r\n`
    expect((await exchange(shared().url, twice)).statuses).toEqual([400])
    expect((await exchange(shared().url, 'GET /admin HTTP/1.0\r\n\r\n')).statuses).toEqual([421])
  })

  test('gets no CORS headers, also where a database would give them', async () => {
    const browser = await shared().logIn()
    const origin = 'http://localhost:5173'
    const allowed = await fetch(`${shared().main}/all/items`, { headers: { origin } })
    expect(allowed.headers.get('access-control-allow-origin')).toBe(origin)
    for (const [method, path] of [
      ['OPTIONS', '/api/db.list'],
      ['OPTIONS', ''],
      ['POST', '/api/db.list'],
      ['GET', '/session'],
      ['GET', '/operations'],
      ['POST', '/session'],
    ] as const) {
      const headers = {
        origin,
        'sec-fetch-site': 'same-site',
        'access-control-request-method': 'POST',
        'access-control-request-headers': KEY_HEADER,
      }
      const answer = await browser.send(method, path, { headers })
      expect([method, path, answer.status]).toEqual([method, path, 403])
      const names = [...answer.headers.keys()]
      expect(names.filter((name) => name.startsWith('access-control-'))).toEqual([])
    }
  })

  test('changes nothing with a form of another page, which carries the cookie', async () => {
    const browser = await shared().logIn()
    const answer = await fetch(`${browser.origin}/admin/api/db.list`, {
      method: 'POST',
      headers: {
        origin: 'http://127.0.0.1:9999',
        cookie: browser.cookie!,
        'content-type': 'text/plain',
      },
      body: '{}',
    })
    expect(await refusal(answer)).toEqual([403, 'ORIGIN_NOT_ALLOWED'])
  })

  test('finds nothing through a proxy that is not trusted', async () => {
    const browser = await shared().logIn()
    const headers = { 'x-forwarded-for': '198.51.100.7' }
    for (const path of ['', '/session', '/operations']) {
      const answer = await browser.send('GET', path, { headers })
      expect(await refusal(answer)).toEqual([404, 'UNKNOWN_ROUTE'])
    }
  })
})

describe('the settings', () => {
  test('turn the page off: --no-admin', async () => {
    await using server = await setupAdmin({ noAdmin: true })
    for (const path of ['', '/session', '/operations', '/assets/main.js', '/api/db.list']) {
      for (const method of ['GET', 'POST']) {
        const answer = await server.browser().send(method, path)
        expect([path, answer.status]).toEqual([path, 404])
      }
    }
  })

  test('have it off at a public address with a path, until it has one of its own', async () => {
    const publicUrl = 'https://example.com/data'
    await using off = await setupAdmin({ publicUrl })
    expect((await off.browser().send('GET', '')).status).toBe(404)
    await using on = await setupAdmin({ publicUrl, adminUrl: 'https://admin.example.com' })
    expect((await on.browser().send('GET', '')).status).toBe(200)
  })

  test('name the networks that it answers: --admin-networks', async () => {
    await using server = await setupAdmin({ adminNetworks: '192.0.2.0/24' })
    expect((await server.browser().send('GET', '')).status).toBe(404)
  })
})

describe('the link', () => {
  const linkOf = async (flags: Readonly<Record<string, unknown>>) => {
    await using server = await setupAdmin(flags)
    const { url } = await server.commands.run('session.link', {})
    return url.replace(server.url, 'here').split('#')[0]
  }

  test('leads to this machine unless others may open the page', async () => {
    const publicUrl = 'https://data.example.com'
    const adminUrl = 'https://admin.example.com'
    const adminNetworks = '0.0.0.0/0'
    expect(await linkOf({})).toBe('here/admin')
    expect(await linkOf({ publicUrl })).toBe('here/admin')
    expect(await linkOf({ publicUrl, adminUrl })).toBe('here/admin')
    expect(await linkOf({ publicUrl, adminNetworks })).toBe(`${publicUrl}/admin`)
    expect(await linkOf({ publicUrl, adminUrl, adminNetworks })).toBe(`${adminUrl}/admin`)
    expect(await linkOf({ adminUrl: 'http://127.0.0.1:8080' })).toBe('http://127.0.0.1:8080/admin')
  })
})

describe('behind a trusted proxy', () => {
  const PUBLIC = 'https://data.example.com'
  const flags = {
    publicUrl: PUBLIC,
    trustProxy: '127.0.0.1/32',
    adminNetworks: '198.51.100.0/24',
  }
  const forwarded = {
    origin: PUBLIC,
    host: 'data.example.com',
    'x-forwarded-for': '198.51.100.7',
    'x-forwarded-proto': 'https',
  }

  test('a login has a cookie that no other name and no plain http gets', async () => {
    await using server = await setupAdmin(flags)
    const { url } = await server.commands.run('session.link', {})
    expect(url).toStartWith(`${PUBLIC}/admin#`)
    const browser = server.browser()
    const body = { code: url.split('#')[1]! }
    const answer = await browser.send('POST', '/session', { body, headers: forwarded })
    expect(answer.status).toBe(200)
    const cookie = answer.headers.get('set-cookie') ?? ''
    expect(cookie).toMatch(
      /^__Host-satchel-admin=[\w.-]+; Path=\/; HttpOnly; SameSite=Strict; Secure$/,
    )
    await keep(browser, answer)
    expect((await browser.send('GET', '/session', { headers: forwarded })).status).toBe(200)
    expect(await server.commands.run('session.list', {})).toMatchObject([
      { address: '198.51.100.7' },
    ])
  })

  test('other networks, other names and the page of another origin are refused', async () => {
    await using server = await setupAdmin(flags)
    const get = async (headers: Record<string, string>) =>
      await refusal(await server.browser().send('GET', '/session', { headers }))
    const other = { ...forwarded, 'x-forwarded-for': '198.51.100.7, 192.0.2.1' }
    expect(await get(other)).toEqual([404, 'UNKNOWN_ROUTE'])
    expect(await get({ ...forwarded, host: 'example.com' })).toEqual([421, 'MISDIRECTED'])
    const evil = { ...forwarded, origin: 'https://evil.example' }
    expect(await get(evil)).toEqual([403, 'ORIGIN_NOT_ALLOWED'])
    expect(await get(forwarded)).toEqual([401, 'SESSION_ENDED'])
  })
})

test('on this machine a login has a cookie for the page alone, named by the port', async () => {
  const { url } = await shared().commands.run('session.link', {})
  const answer = await shared().browser().post(url.split('#')[1]!)
  const { port } = new URL(shared().url)
  const named = new RegExp(
    `^satchel-admin-${port}=[\\w.-]+; Path=/admin; HttpOnly; SameSite=Strict$`,
  )
  expect(answer.headers.get('set-cookie')).toMatch(named)
})

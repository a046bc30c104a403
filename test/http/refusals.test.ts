import { describe, expect, test } from 'bun:test'
import { ALICE, type Answer, callerOf, exchange, setupData } from './setup'

interface ErrorBody {
  readonly code: string
  readonly message: string
  readonly requestId: string
  readonly reason?: string
}

/** Checks the common parts of a refusal. Returns its body. */
function expectRefusal(answer: Answer, status: number, code: string): ErrorBody {
  expect({ status: answer.status, body: answer.body }).toMatchObject({ status, body: { code } })
  const body = answer.body as ErrorBody
  expect(Object.keys(body).filter((name) => name !== 'reason')).toEqual([
    'code',
    'message',
    'requestId',
  ])
  expect(body.message).toMatch(/^[\x20-\uffff]{10,}$/)
  expect(body.requestId).toBe(answer.headers.get('x-request-id') ?? '')
  expect(Buffer.byteLength(answer.text)).toBeLessThanOrEqual(4096)
  expect(answer.headers.get('content-type')).toStartWith('application/json')
  expect(answer.headers.get('cache-control')).toBe('no-store')
  expect(answer.headers.get('x-content-type-options')).toBe('nosniff')
  expect(answer.headers.get('www-authenticate')).toBe(status === 401 ? 'Bearer' : null)
  return body
}

describe('a missing object or address', () => {
  test('an unknown database', async () => {
    await using server = await setupData()
    for (const name of ['nothing', 'MAIN', 'main2', '_control', '.well-known', 'x'.repeat(200)]) {
      for (const path of ['/all/items', '/public/items', '/my/items/a']) {
        const answer = await callerOf(`${server.url}/${name}`).get(path)
        expectRefusal(answer, 404, 'UNKNOWN_DATABASE')
      }
    }
  })

  test('an unknown table, which is named and cut', async () => {
    await using server = await setupData()
    const { root } = server
    for (const name of ['nothing', 'Items', 'users', 'x'.repeat(500), '$jobs', '*', "a'--"]) {
      const path = encodeURIComponent(name)
      for (const answer of [
        await root.get(`/all/${path}`),
        await root.get(`/my/${path}/key`),
        await root.remove(`/all/${path}/key`),
        await root.post(`/all/${path}`, { id: 'a', realmId: 'rlm-public' }),
      ]) {
        const body = expectRefusal(answer, 404, 'UNKNOWN_TABLE')
        expect(body.message).toContain(JSON.stringify(name).slice(1, -1).slice(0, 100))
        expect(body.message).toContain('satchel schema push')
      }
    }
  })

  // RFC 3986 §6.2.2.2: an escaped letter is the letter.
  test('an address with escaped letters has the rights of the plain one', async () => {
    await using server = await setupData()
    const alice = await server.as(ALICE)
    for (const path of ['/all/items', '/%61ll/items']) {
      expectRefusal(await alice.get(path), 403, 'NOT_AUTHORIZED')
    }
  })

  test('an unknown address', async () => {
    await using server = await setupData()
    const database = ['', '/', '/all', '/all/', '/all/items/a/b', '/users/x/y', '/token/x/y']
    const taken = ['/blob', '/$x', '/.x', '/.well-known/x', '/%24x/y']
    for (const path of [...database, ...taken]) {
      expectRefusal(await server.root.get(path), 404, 'UNKNOWN_ROUTE')
    }
    const service = callerOf(server.url)
    for (const path of [
      '/nothing',
      '/health/x',
      '/openapi/x',
      '/favicon.ico',
      '/../etc/passwd',
      '/metrics',
      '/metrics/x/y',
    ]) {
      expect((await service.get(path)).status).toBe(404)
    }
  })

  test('a method that the address does not know, and which it does', async () => {
    await using server = await setupData()
    for (const [method, path, allowed] of [
      ['GET', '/sync', ['POST', 'OPTIONS']],
      ['PUT', '/all/items', ['GET', 'HEAD', 'POST', 'OPTIONS']],
      ['PATCH', '/my/items', ['GET', 'HEAD', 'POST', 'OPTIONS']],
      ['DELETE', '/public/items', ['GET', 'HEAD', 'POST', 'OPTIONS']],
      ['POST', '/all/items/key', ['GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS']],
      ['PATCH', '/all/items/key', ['GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS']],
      ['DELETE', '/items', ['GET', 'HEAD', 'POST', 'OPTIONS']],
      ['POST', '/items/key', ['GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS']],
      ['POST', '/auth-providers', ['GET', 'HEAD', 'OPTIONS']],
      ['PUT', '/token/validate', ['GET', 'HEAD', 'OPTIONS']],
      ['DELETE', '/token', ['POST', 'OPTIONS']],
      ['GET', '/token', ['POST', 'OPTIONS']],
      ['POST', '/token/validate', ['GET', 'HEAD', 'OPTIONS']],
    ] as const) {
      const answer = await server.root.send(method, path)
      const body = expectRefusal(answer, 405, 'METHOD_NOT_ALLOWED')
      expect(answer.headers.get('allow')?.split(', ')).toEqual([...allowed])
      for (const name of allowed.filter((name) => !/HEAD|OPTIONS/.test(name))) {
        expect(body.message).toContain(name)
      }
    }
  })

  test('an object: nothing about it is said', async () => {
    await using server = await setupData()
    for (const path of [
      '/all/plain/secret-key',
      '/my/plain/secret-key',
      '/public/plain/secret-key',
    ]) {
      for (const method of ['GET', 'DELETE']) {
        const answer = await server.root.send(method, path)
        expectRefusal(answer, 404, 'UNKNOWN_OBJECT')
        expect(answer.text).not.toContain('secret-key')
      }
    }
  })

  test('an address with malformed percent-escapes', async () => {
    await using server = await setupData()
    for (const raw of ['%', '%2', '%zz', '%ff', '%c0%ae', '%ed%a0%80', '%f8%a1%a1%a1%a1', 'a%']) {
      for (const path of [`/public/${raw}`, `/public/plain/${raw}`]) {
        expectRefusal(await server.anyone.get(path), 400, 'INVALID_REQUEST')
      }
      expectRefusal(await callerOf(`${server.url}/${raw}`).get('/public/x'), 400, 'INVALID_REQUEST')
    }
  })

  test('a key in the address that cannot be one', async () => {
    await using server = await setupData()
    for (const key of ['%00', 'a%0D%0Ab', '%C2%85', '%7f', 'x'.repeat(1025)]) {
      const line = `GET /main/public/plain/${key} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`
      const { text, statuses } = await exchange(server.url, line)
      expect({ key, statuses }).toEqual({ key, statuses: [400] })
      expect(text).toContain('"INVALID_REQUEST"')
    }
  })
})

describe('a caller without permission', () => {
  test('without a token, or with none of ours: 401', async () => {
    await using server = await setupData()
    for (const [method, path] of [
      ['GET', '/all/plain'],
      ['GET', '/my/plain'],
      ['GET', '/my/plain/a'],
      ['POST', '/all/plain'],
      ['POST', '/my/plain'],
      ['POST', '/public/plain'],
      ['DELETE', '/all/plain/a'],
      ['DELETE', '/my/plain/a'],
      ['DELETE', '/public/plain/a'],
    ] as const) {
      const options = method === 'POST' ? { body: { id: 'a' } } : {}
      expectRefusal(await server.anyone.send(method, path, options), 401, 'INVALID_TOKEN')
      for (const authorization of ['', 'Bearer', 'Bearer x', 'Basic eDp5', 'x.y.z']) {
        const answer = await server.anyone.send(method, path, {
          ...options,
          headers: { authorization },
        })
        expectRefusal(answer, 401, 'INVALID_TOKEN')
      }
    }
    for (const path of ['/public/plain', '/public/plain/a']) {
      const answer = await server.anyone.send('GET', path, {
        headers: { authorization: 'Bearer x' },
      })
      expectRefusal(answer, 401, 'INVALID_TOKEN')
    }
  })

  test('without the scope: 403, which is named; before the body is looked at', async () => {
    await using server = await setupData()
    const all = ['ACCESS_DB', 'GLOBAL_READ', 'GLOBAL_WRITE']
    for (const [method, path, needed] of [
      ['GET', '/all/plain', ['ACCESS_DB', 'GLOBAL_READ']],
      ['GET', '/all/plain/a', ['ACCESS_DB', 'GLOBAL_READ']],
      ['POST', '/all/plain', all],
      ['DELETE', '/all/plain/a', all],
      ['GET', '/my/plain', ['ACCESS_DB']],
      ['GET', '/my/plain/a', ['ACCESS_DB']],
      ['POST', '/my/plain', ['ACCESS_DB']],
      ['DELETE', '/my/plain/a', ['ACCESS_DB']],
      ['GET', '/public/plain', []],
      ['GET', '/public/plain/a', []],
      ['POST', '/public/plain', all],
      ['DELETE', '/public/plain/a', all],
    ] as const) {
      const options = method === 'POST' ? { body: '{"broken' } : {}
      for (const missing of needed) {
        const scopes = all.filter((scope) => scope !== missing)
        const answer = await (await server.as(ALICE, scopes)).send(method, path, options)
        const body = expectRefusal(answer, 403, 'NOT_AUTHORIZED')
        expect(body.reason).toBe(`scope ${missing}`)
        expect(body.message).toStartWith('Not authorized')
      }
      const enough = await (await server.as(ALICE, needed)).send(method, path, options)
      expect([200, 400, 404]).toContain(enough.status)
    }
  })

  test('with IMPERSONATE and MANAGE_DB alone nothing of the data', async () => {
    await using server = await setupData()
    const token = await server.token({ scopes: ['IMPERSONATE', 'MANAGE_DB', 'DELETE_DB'] })
    const manager = callerOf(server.main, token)
    for (const path of ['/all/plain', '/my/plain', '/my/realms']) {
      expectRefusal(await manager.get(path), 403, 'NOT_AUTHORIZED')
    }
    expect((await manager.get('/public/plain')).status).toBe(200)
  })

  test('a refusal of a permission says which, and nothing of the object', async () => {
    await using server = await setupData()
    const alice = await server.as(ALICE)
    await server.root.post('/public/plain', { id: 'a', title: 'untouchable' })
    const changed = await alice.post('/my/plain', { id: 'a', title: 'mine now' })
    const body = expectRefusal(changed, 403, 'NOT_AUTHORIZED')
    expect(body.reason).toBe('update plain.title')
    expect(changed.text).not.toContain('untouchable')
    expect(changed.text).not.toContain('mine now')
    await server.root.post('/all/plain', { id: 'b', realmId: 'bob', title: 'hers alone' })
    const taken = await alice.post('/my/plain', { id: 'b', title: 'x' })
    expect(expectRefusal(taken, 403, 'NOT_AUTHORIZED').reason).toBe('id')
    expect(taken.text).not.toContain('hers')
    expect(taken.text).not.toContain('bob')
  })
})

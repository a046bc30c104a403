import { describe, expect, test } from 'bun:test'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { SatchelError } from '../../src/domain/value/error'
import { errorAnswer, publicError } from '../../src/http/answer'
import type { Call } from '../../src/http/call'
import { STATUS } from '../../src/openapi/status'
import { fill, setupDocument } from '../openapi/setup'
import { ALICE, setupData } from './setup'

const GLOBAL = ['ACCESS_DB', 'GLOBAL_READ', 'GLOBAL_WRITE']
/** Routes that the document does not list. */
const HIDDEN = [
  { method: 'GET', path: '/{database}/oauth/callback/{provider}' },
  { method: 'POST', path: '/{database}/oauth/callback/{provider}' },
]
const NOWHERE = [
  { method: 'GET', path: '/nowhere/at/all/of/it' },
  { method: 'DELETE', path: '/main/my/todoItems' },
  { method: 'GET', path: '/main/my/todoItems/%zz' },
  { method: 'GET', path: '/main/my/todoItems?$limit=none' },
]

// design.md §6: there is one function that makes responses, and nothing else answers.
test('every answer of every route has the headers of all answers', async () => {
  await using server = await setupDocument({ rateLimits: 'on' })
  const succeeded = new Set<string>()

  async function check(method: string, path: string, headers: Record<string, string>) {
    const withBody = method === 'POST' || method === 'PUT'
    const body = withBody ? JSON.stringify({ title: 'Buy milk' }) : null
    const origin = server.url
    const response = await fetch(server.url + path, {
      method,
      redirect: 'manual',
      headers: { origin, ...(withBody ? { 'content-type': 'application/json' } : {}), ...headers },
      body,
    })
    await response.arrayBuffer()
    const { headers: answered } = response
    const isPreflight = 'access-control-request-method' in headers
    // The origin of a provider's form is not checked, so no page may read what comes back.
    const isProviderForm = method === 'POST' && path.includes('/oauth/callback/')
    expect({
      method,
      path,
      id: answered.get('x-request-id') !== null,
      type: answered.get('x-content-type-options'),
      referrer: answered.get('referrer-policy'),
      isCachingSaid: answered.has('cache-control'),
      vary: answered.get('vary'),
      origin: answered.get('access-control-allow-origin'),
    }).toEqual({
      method,
      path,
      id: true,
      type: 'nosniff',
      referrer: 'no-referrer',
      isCachingSaid: true,
      vary: isPreflight
        ? 'Authorization, Origin, Access-Control-Request-Headers'
        : 'Authorization, Origin',
      origin: isProviderForm ? null : origin,
    })
    if (response.ok) succeeded.add(`${method} ${path}`)
  }

  for (const { method, path } of [...server.operations, ...HIDDEN, ...NOWHERE]) {
    await check(method, fill(path), {})
    await check(method, fill(path.replace('{database}', 'elsewhere')), {})
    await check('OPTIONS', fill(path), {})
    const preflight = { 'access-control-request-method': method }
    await check('OPTIONS', fill(path), preflight)
    // One of the routes deletes its caller.
    const token = await server.token({ sub: ALICE, scopes: GLOBAL })
    const authorization = `Bearer ${token}`
    const address = fill(path)
    await check(method, address, { authorization })
    if (method === 'PUT') {
      const read = address.replace('/blob/nothing', '/blob/1:nothing')
      await check('GET', read, { authorization })
      await check('GET', read, { authorization, range: 'bytes=0-0' })
      await check('GET', read, { authorization, range: 'bytes=0-0,2-3' })
      await check('GET', read, { authorization, range: 'bytes=900-' })
      await check('HEAD', read, { authorization })
    }
    if (method === 'GET') await check('HEAD', address, { authorization })
  }
  expect(succeeded.size).toBeGreaterThan(server.operations.length)
})

describe('an error body', () => {
  const call = { id: 'r-1', headers: {} } as unknown as Call

  test('has the status of its code, and every code has one', async () => {
    for (const [code, status] of Object.entries(STATUS)) {
      const error = new SatchelError(code as keyof typeof STATUS, 'A sentence')
      const answer = errorAnswer({ ...call }, error)
      expect(answer.status).toBe(status)
      expect(await answer.json()).toEqual({ code, message: 'A sentence', requestId: 'r-1' })
    }
  })

  test('stays within 4 KiB and one line that a terminal may show', async () => {
    for (const unit of ['x', '"', '\\', '用', '😀', '\u0000', '\u009b', '\u2028', '\ud800']) {
      const text = unit.repeat(10_000)
      const error = new SatchelError('UNPROCESSABLE', text, { reason: text })
      const shown = await errorAnswer({ ...call }, error).text()
      expect(Buffer.byteLength(shown)).toBeLessThanOrEqual(4096)
      expect(shown).toMatch(/^[\x20-\x7e\xa0-\u2027\u202a-\uffff]+$/)
      const { message, reason } = JSON.parse(shown) as { message: string; reason?: string }
      expect(text).toStartWith(message.replace(/[\ud800-\udbff]$/, ''))
      expect(text).toStartWith(reason?.replace(/[\ud800-\udbff]$/, '') ?? '?')
      expect(message.length).toBeGreaterThan(300)
    }
  })

  test('does not tell the cause of an internal error', async () => {
    const failures: unknown[] = []
    const door = { failure: (...failure: unknown[]) => void failures.push(failure) }
    const words = 'SELECT secret FROM users -- /var/data'
    const inside: [Error, string, number][] = [
      [new Error(words), 'INTERNAL', 500],
      [new SatchelError('INTERNAL', words), 'INTERNAL', 500],
      [new SatchelError('STORAGE_FAILED', words), 'STORAGE_FAILED', 500],
      [new SatchelError('NEWER_DATA', words), 'NEWER_DATA', 500],
      [new SatchelError('READ_ONLY', words), 'READ_ONLY', 503],
      [new SatchelError('STORAGE_FULL', words), 'STORAGE_FULL', 507],
      [new SatchelError('WEBHOOK_ERROR', 'x', { cause: new Error(words) }), 'WEBHOOK_ERROR', 403],
    ]
    for (const [error, code, status] of inside) {
      const answer = errorAnswer({ ...call }, publicError(door, call, error))
      expect(answer.status).toBe(status)
      const text = await answer.text()
      expect(text).not.toMatch(/SELECT|secret|var/)
      expect(JSON.parse(text)).toMatchObject({ code, requestId: 'r-1' })
    }
    expect(failures).toEqual(inside.map(([error]) => ['r-1', error]))
  })

  test('leaves out of the log what its caller is told whole', () => {
    const door = { failure: () => expect.unreachable() }
    const cause = new Error('jose says so')
    for (const error of [
      new SatchelError('UNKNOWN_TABLE', 'No such table'),
      new SatchelError('INVALID_TOKEN', 'Not valid', { cause }),
    ]) {
      expect(publicError(door, call, error)).toBe(error)
    }
  })

  test('names no file of the server when a database cannot be opened, which the log does', async () => {
    await using server = await setupData()
    const folder = join(server.folder, 'databases', 'broken')
    mkdirSync(folder)
    writeFileSync(join(folder, 'database.sqlite'), 'no database'.repeat(1000))
    const paths = ['/my/plain', '/auth-providers', '/oauth/login/google', '/oauth/callback/google']
    for (const path of paths) {
      const response = await fetch(`${server.url}/broken${path}`)
      expect({ path, status: response.status }).toEqual({ path, status: 500 })
      const text = await response.text()
      expect(text).not.toContain(server.folder)
      expect(text).toContain('see the log of the server')
    }
    const token = await fetch(`${server.url}/broken/token`, { method: 'POST', body: '{}' })
    expect([token.status, await token.text()]).toEqual([500, expect.not.stringContaining('/')])
    const told = server.lines.filter((line) => line.includes('A request failed'))
    expect(told).toHaveLength(paths.length + 1)
    for (const line of told) expect(line).toContain(`${folder}/database.sqlite`)
  })

  test('says when to come back', () => {
    const error = new SatchelError('BUSY', 'Busy', { retryAfter: 3 })
    expect(errorAnswer({ ...call }, error).headers.get('retry-after')).toBe('3')
  })

  test('never repeats values, tokens or bodies that came in', async () => {
    await using server = await setupData()
    const canary = 'c4n4ry'
    const alice = await server.as(ALICE)
    const bodies = [
      `{"id":"a","x":${canary}}`,
      `{"id":"${canary}\\u0000"}`,
      `{"id":"a","realmId":"${canary}"}`,
      `{"id":"a","owner":"${canary}\\n"}`,
      `{"id":["${canary}"]}`,
      `{"id":"a","big":1e999,"x":"${canary}"}`,
      `{"id":"a","v":"${canary}`,
      `"${canary}"`,
    ]
    for (const body of bodies) {
      const answer = await alice.send('POST', '/my/plain', { body })
      expect(answer.status).toBeGreaterThanOrEqual(400)
      expect(answer.text).not.toContain(canary)
    }
    for (const path of [
      `/my/plain/${canary}`,
      `/my/plain?$limit=${canary}`,
      `/my/pairs/${canary}`,
    ]) {
      expect((await alice.get(path)).text).not.toContain(canary)
    }
    for (const authorization of [`Bearer ${canary}`, canary, `Basic ${canary}`]) {
      const answer = await server.anyone.send('GET', '/my/plain', { headers: { authorization } })
      expect(answer.status).toBe(401)
      expect(answer.text).not.toContain(canary)
    }
  })
})

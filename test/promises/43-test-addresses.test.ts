import { expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readConfig } from '../../src/config/config'
import { testRoutes } from '../../src/control/testing'
import { setupServer, temporaryFolder } from '../setup'
import { setupTestMode } from '../testing/setup'

test('the addresses for tests need the token, a loopback host and no foreign origin', async () => {
  await using server = await setupTestMode()
  const { call, main, url, testToken } = server
  for (const { method, path } of testRoutes()) {
    const address = path.replace(':id', 'x')
    const ask = async (headers: Readonly<Record<string, string>>) => {
      const { status, body } = await call(method, address, undefined, headers)
      return `${status} ${String(body['code'])}`
    }
    const token = `Bearer ${await server.token()}`
    expect(await ask({ authorization: token })).toBe('401 INVALID_TOKEN')
    expect(await ask({ authorization: '' })).toBe('401 INVALID_TOKEN')
    expect(await ask({ authorization: `Bearer ${testToken}x` })).toBe('401 INVALID_TOKEN')
    for (const origin of ['http://localhost:3000', 'https://evil.example', 'null']) {
      expect(await ask({ origin })).toBe('403 ORIGIN_NOT_ALLOWED')
    }
    for (const host of ['evil.example', '10.0.0.1', 'satchel', 'localhost.evil.example']) {
      expect(await ask({ host })).toBe('403 ORIGIN_NOT_ALLOWED')
    }
  }
  expect((await call('GET', 'mail', undefined, { origin: url })).status).toBe(200)
  expect((await call('GET', 'mail', undefined, { host: 'localhost' })).status).toBe(200)
  const anonymous = await fetch(`${main}/_test/mail`)
  expect(anonymous.status).toBe(401)
})

test('without test mode they do not exist, and the description of the interface never has them', async () => {
  await using plain = await setupServer()
  const response = await fetch(`${plain.main}/_test/reset`, { method: 'POST' })
  expect(response.status).toBe(404)
  await using server = await setupTestMode()
  const normal = await (await fetch(`${server.url}/openapi/json`)).text()
  expect(normal).not.toContain('_test')
  const { body } = await server.call('GET', 'openapi')
  const described = Object.entries(body['paths'] as Record<string, object>).flatMap(
    ([path, methods]) => Object.keys(methods).map((method) => `${method} ${path}`),
  )
  const routes = testRoutes().map(
    ({ method, path }) =>
      `${method.toLowerCase()} /{database}/_test/${path.replace(':id', '{id}')}`,
  )
  expect(described.toSorted()).toEqual(routes.toSorted())
})

test.each([
  [{ memory: false }, '--test needs --memory'],
  [{ publicUrl: 'https://data.example.com' }, 'cannot be combined with --public-url'],
  [{ trustProxy: '10.0.0.0/8' }, 'cannot be combined with --public-url or --trust-proxy'],
  [{ host: '0.0.0.0' }, '--test on --host 0.0.0.0 needs --test-token-file'],
  [{ host: '192.168.1.1' }, 'needs --test-token-file'],
])('test mode refuses %p', (flags, message) => {
  const all = { test: true, memory: true, ...flags }
  expect(() => readConfig({ environment: {}, flags: all })).toThrow(message)
})

test.each([
  [{ seed: 'seed.json' }, '--seed needs --test'],
  [{ testTokenFile: 'token' }, '--test-token-file needs --test'],
])('only test mode allows %p', (flags, message) => {
  expect(() => readConfig({ environment: {}, flags })).toThrow(message)
})

test('a container gets its token from a file, and answers to its name in a private network', async () => {
  using folder = temporaryFolder()
  const testTokenFile = join(folder.path, 'token')
  writeFileSync(testTokenFile, 'a-token-for-my-tests\n')
  await using server = await setupTestMode({ host: '0.0.0.0', testTokenFile })
  expect(server.testToken).toBe('a-token-for-my-tests')
  const ask = async (host: string) => (await server.call('GET', 'mail', undefined, { host })).status
  expect([await ask('satchel:7080'), await ask('10.1.2.3'), await ask('localhost')]).toEqual([
    200, 200, 200,
  ])
  expect([await ask('evil.example'), await ask('8.8.8.8')]).toEqual([403, 403])
  writeFileSync(testTokenFile, 'short')
  const start = setupServer({ memory: true, test: true, testTokenFile })
  expect(start).rejects.toThrow('must hold a token')
  const missing = join(folder.path, 'missing')
  const without = setupServer({ memory: true, test: true, testTokenFile: missing })
  expect(without).rejects.toThrow('cannot be read')
})

import { expect, test } from 'bun:test'
import { listenForCommands } from '../../src/control/listener'
import { callHolder, isAnswering } from '../../src/control/session'
import type { Holder } from '../../src/host/holder'
import { codeOf, refusalOf } from '../auth/setup'
import { setupDataFolder } from './setup'

const TOKEN = 'the-control-token'

async function setup() {
  await using undo = new AsyncDisposableStack()
  const folder = undo.use(await setupDataFolder())
  const listener = listenForCommands(folder, TOKEN)
  undo.defer(() => listener.stop(true))
  const holder: Holder = { pid: 1, host: 'here', address: listener.address, token: TOKEN }
  const parts = undo.move()
  return {
    folder,
    holder,
    address: listener.address,
    post: (path: string, headers: Record<string, string> = {}) =>
      fetch(listener.address + path, {
        method: 'POST',
        headers: { authorization: `Bearer ${TOKEN}`, ...headers },
      }),
    [Symbol.asyncDispose]: () => parts.disposeAsync(),
  }
}

test('does what the holder of the token asks', async () => {
  await using server = await setup()
  const created = await callHolder(server.holder, 'db.create', { name: 'todo' }, {})
  expect(created).toMatchObject({ name: 'todo', client: { clientSecret: expect.any(String) } })
  expect(await server.folder.hosts.list()).toEqual(['todo'])
})

test('refuses a wrong token, an Origin header and a foreign Host, and does nothing', async () => {
  await using server = await setup()
  const path = `/_control/db.create?input=${encodeURIComponent('{"name":"todo"}')}`
  const refusals = [
    [await server.post(path, { authorization: 'Bearer wrong' }), 401],
    [await server.post(path, { authorization: '' }), 401],
    [await server.post(path, { authorization: TOKEN }), 401],
    [await server.post(path, { origin: server.address }), 403],
    [await server.post(path, { origin: 'null' }), 403],
    [await server.post(path, { host: 'evil.example' }), 403],
    [await server.post(path, { host: `localhost:${new URL(server.address).port}` }), 403],
  ] as const
  for (const [response, status] of refusals) {
    expect(response.status).toBe(status)
    expect(await response.text()).not.toContain(TOKEN)
  }
  expect(await server.folder.hosts.list()).toEqual([])
})

test('knows its operations only, and only by POST', async () => {
  await using server = await setup()
  for (const name of ['nothing', '', 'constructor', '__proto__', 'toString', '../hello']) {
    expect((await server.post(`/_control/${name}`)).status).toBe(404)
  }
  const got = await fetch(`${server.address}/_control/hello`, {
    headers: { authorization: `Bearer ${TOKEN}` },
  })
  expect(got.status).toBe(404)
})

test('an error arrives with its code, sentence and reason', async () => {
  await using server = await setup()
  await callHolder(server.holder, 'db.create', { name: 'todo' }, {})
  const again = await refusalOf(() => callHolder(server.holder, 'db.create', { name: 'todo' }, {}))
  expect(again.code).toBe('CONFLICT')
  expect(again.message).toContain('todo')
  expect(await codeOf(() => callHolder(server.holder, 'db.create', { name: 'admin' }, {}))).toBe(
    'UNPROCESSABLE',
  )
})

test('input of the wrong type is refused by name', async () => {
  await using server = await setup()
  for (const input of [{}, { name: 1 }, { name: null }, [], null]) {
    const refusal = await refusalOf(() => callHolder(server.holder, 'db.create', input, {}))
    expect(refusal.code).toBe('INVALID_REQUEST')
    expect(refusal.message).toBe('name must be a string')
  }
})

test('is answering only for the token of this start', async () => {
  await using server = await setup()
  expect(await isAnswering(server.holder)).toBe(true)
  expect(await isAnswering({ ...server.holder, token: 'of an earlier start' })).toBe(false)
  expect(await isAnswering({ ...server.holder, address: null })).toBe(false)
  expect(await isAnswering({ ...server.holder, address: 'http://127.0.0.1:1' })).toBe(false)
})

test('does not go through the proxy that the environment names', async () => {
  await using server = await setup()
  const before = process.env['http_proxy']
  process.env['http_proxy'] = 'http://127.0.0.1:1'
  try {
    expect(await isAnswering(server.holder)).toBe(true)
  } finally {
    if (before === undefined) delete process.env['http_proxy']
    else process.env['http_proxy'] = before
  }
})

import { expect, test } from 'bun:test'
import { setupTestMode } from './setup'

test('requests fail as a test says, until the next reset or restore', async () => {
  await using server = await setupTestMode()
  const { call, main } = server
  const alice = await server.login('alice@example.com')
  const headers = { authorization: `Bearer ${alice}`, 'content-type': 'application/json' }
  const add = async (realmId: string) => {
    const body = JSON.stringify({ realmId, name: realmId })
    return await fetch(`${main}/my/realms`, { method: 'POST', headers, body }).then(
      (response) => response.status,
      () => 'broken',
    )
  }
  const names = async () => {
    const response = await fetch(`${main}/my/realms`, { headers })
    return ((await response.json()) as { name: string }[]).map(({ name }) => name)
  }
  const none = { latency: 0, errorRate: 0, offline: false, loseReplies: false }
  expect((await call('POST', 'fault')).body).toEqual(none)

  expect((await call('POST', 'fault', { offline: true })).body).toEqual({ ...none, offline: true })
  expect(await add('rlmOffline')).toBe('broken')
  await call('POST', 'fault', { offline: false, loseReplies: true })
  expect(await add('rlmLost')).toBe('broken')
  await call('POST', 'fault', { loseReplies: false, errorRate: 1 })
  expect(await add('rlmRefused')).toBe(503)
  const origin = 'http://localhost:3000'
  const fromPage = await fetch(`${main}/my/realms`, { headers: { origin } })
  expect(fromPage.headers.get('access-control-allow-origin')).toBe(origin)
  await call('POST', 'fault', { errorRate: 0, latency: '100ms' })
  const order: string[] = []
  // Of two timers in one process the shorter one ends first, however busy the machine is.
  const pause = Bun.sleep(50).then(() => order.push('pause'))
  order.push(...(await names()))
  await pause
  expect(order).toEqual(['pause', 'rlmLost'])
  await call('POST', 'fault', { latency: '20s' })
  const patience = Bun.sleep(15_000).then(() => 'slow')
  const others = fetch(`${server.url}/health`).then(() => 'others')
  expect(await Promise.race([others, patience])).toBe('others')
  await call('POST', 'reset')
  expect((await call('POST', 'fault')).body).toEqual(none)
  const { body: snapshot } = await call('POST', 'snapshot')
  await call('POST', 'fault', { offline: true })
  await call('POST', `restore/${String(snapshot['id'])}`)
  expect((await call('POST', 'fault')).body).toEqual(none)
})

test('an offline server closes live connections', async () => {
  await using server = await setupTestMode()
  const { call, main } = server
  const token = await server.login('alice@example.com')
  const query = new URLSearchParams({ v: '2', rev: '', realmsHash: '', clientId: 'one', token })
  const connect = () => new WebSocket(`${main.replace('http', 'ws')}/changes?${String(query)}`)
  const socket = connect()
  await new Promise((resolve) => socket.addEventListener('open', resolve))
  const closed = new Promise((resolve) => socket.addEventListener('close', resolve))
  await call('POST', 'fault', { offline: true })
  await closed
  const second = connect()
  const refused = new Promise((resolve) => second.addEventListener('error', resolve))
  await refused
  expect(second.readyState).not.toBe(WebSocket.OPEN)
})

test.each([
  [{ latency: '1h' }, 'latency must be at most 20s'],
  [{ latency: 'long' }, 'like 31d'],
  [{ errorRate: 2 }, 'errorRate must be a number from 0 to 1'],
  [{ offline: 'yes' }, 'offline must be true or false'],
])('refuses %p', async (fault, message) => {
  await using server = await setupTestMode()
  const { status, body } = await server.call('POST', 'fault', fault)
  expect({ status, message: body['message'] }).toMatchObject({
    status: 400,
    message: expect.stringContaining(message) as string,
  })
})

import { expect, test } from 'bun:test'
import { codeOf } from '../auth/setup'
import { ALICE, BOB, type Caller, setupData } from '../http/setup'
import { until } from '../timing'
import { callerWith, setupOperations } from './setup'

const MAIN = { database: 'main' }

async function sync(caller: Caller, clientIdentity: string): Promise<void> {
  const schema = { plain: { markedForSync: true } }
  expect((await caller.post('/sync', { v: 3, clientIdentity, schema })).status).toBe(200)
}

test('devices are listed with their user, their tables and when they were seen', async () => {
  await using server = await setupData()
  const [alice, bob] = [await server.as(ALICE), await server.as(BOB)]
  await sync(alice, 'phone')
  await sync(alice, '<b>"\u202e')
  await sync(bob, 'phone')
  const offline = { isConnected: false, origin: null, phase: null, revision: null, behind: null }
  const shown = { seen: server.clock.now(), tables: ['plain'], ...offline }
  const { devices, cursor } = await server.commands.run('device.list', MAIN)
  expect(devices).toEqual([
    { device: 'phone', userId: ALICE, ...shown },
    { device: '<b>"\u202e', userId: ALICE, ...shown },
    { device: 'phone', userId: BOB, ...shown },
  ])
  expect(cursor).toBeNull()
  const own = await server.commands.run('device.list', { ...MAIN, user: BOB.toUpperCase() })
  expect(own.devices.map(({ userId }) => userId)).toEqual([BOB])
  const none = await server.commands.run('device.list', { ...MAIN, user: 'nobody' })
  expect(none.devices).toEqual([])
})

test('a device with a live connection is connected, from a page or a program', async () => {
  await using server = await setupData()
  const alice = await server.as(ALICE)
  await sync(alice, 'phone')
  const address = new URL(`${server.url.replace('http', 'ws')}/main/changes`)
  address.search = `v=3&realmsHash=old&clientId=phone&dxcv=4.4.14&token=${alice.token}`
  const socket = new WebSocket(address, { headers: { Origin: 'http://localhost:5173' } })
  const list = async () => (await server.commands.run('device.list', MAIN)).devices
  await until(async () => (await list())[0]?.isConnected === true)
  expect(await list()).toMatchObject([
    { device: 'phone', isConnected: true, origin: 'http://localhost:5173', behind: 0 },
  ])
  socket.close()
  await until(async () => (await list())[0]?.isConnected === false)
})

test('a cursor is that of a page, and the list is for callers who may read', async () => {
  await using server = await setupOperations()
  const list = (input: object) => server.run('device.list', input)
  for (const cursor of ['', '-1', 'x', '1e3']) {
    expect(await codeOf(() => list({ cursor }))).toBe('INVALID_REQUEST')
  }
  expect(await list({ cursor: '0' })).toEqual({ devices: [], cursor: null })
  const stranger = () => server.run('device.list', {}, callerWith('ACCESS_DB'))
  expect(await codeOf(stranger)).toBe('NOT_AUTHORIZED')
})

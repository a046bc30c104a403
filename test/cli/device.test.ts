import { expect, test } from 'bun:test'
import { ALICE, setupData } from '../http/setup'
import { runJson, runSatchel } from './setup'

test('device list shows who syncs what from where', async () => {
  await using server = await setupData()
  const list = ['device', 'list', '--data', server.folder]
  expect((await runSatchel(list)).stdout).toBe('No device has synced yet\n')
  const alice = await server.as(ALICE)
  const schema = { plain: { markedForSync: true } }
  await alice.post('/sync', { v: 3, clientIdentity: 'phone\u001b', schema })
  const { stdout } = await runSatchel(list)
  expect(stdout).toMatch(/phone\\u001b +alice@example\.com +2030-01-01 12:00 +plain/)
  const { data } = await runJson<{ data: object[] }>([...list, '--user', ALICE])
  expect(data).toMatchObject([{ userId: ALICE, seen: '2030-01-01T12:00:00.000Z' }])
})

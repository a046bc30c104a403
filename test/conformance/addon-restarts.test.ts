import { expect, test } from 'bun:test'
import { restartBesideClients } from '../lab/restarts'

/**
 * Promise 45: the published add-on beside a server that is stopped in order and started again, as by an upgrade. The lab
 * does it with twenty devices (`bun run lab --only 45`).
 */
test('promise 45: ten restarts lose nothing that was acknowledged, and show no error to clients that write', async () => {
  const setting = { devices: 3, every: 100, pause: 50, isAwaiting: false }
  const { problems } = await restartBesideClients(10, setting)
  expect(problems).toEqual([])
}, 240_000)

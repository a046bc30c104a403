import { expect, test } from 'bun:test'
import { type Served, serve } from '../binary/setup'
import { callerOf } from '../http/setup'
import { type Application, openDevice, setupServed } from './addon/setup'
import { pull, rows, untilSent } from './addon/sync'
import { beginWriting, endWriting } from './addon/writing'

/** Promise 45: the published add-on beside a server that is stopped in order and started again, as by an upgrade. */

const ALICE = 'alice@example.com'
const RESTARTS = 10
const DEVICES = 3
const LIVE = { isEager: true, cloud: { disableWebSocket: false } }

test('promise 45: ten restarts lose nothing that was acknowledged, and show no error to clients that write', async () => {
  await using served = await setupServed()
  const { port } = new URL(served.main)
  await using undo = new AsyncDisposableStack()
  const devices: Application[] = []
  for (let n = 0; n < DEVICES; n += 1) {
    const device = undo.use(await openDevice(served, ALICE, LIVE))
    await device.run(beginWriting, { n, pause: 50 })
    devices.push(device)
  }
  const { accessToken = '' } = await devices[0]!.user()
  const alice = callerOf(served.main, accessToken)
  const acknowledged: string[] = []
  const refusals = new Set<number>()
  let server: Pick<Served, 'kill' | 'exited'> = served
  for (let round = 0; round < RESTARTS; round += 1) {
    let isRunning = true
    async function post(): Promise<void> {
      for (let n = 0; isRunning; n += 1) {
        const id = `itmR${round}-${n}`
        // The connection may be refused or cut: then nothing is said about the object.
        const answer = await alice.post('/my/items', [{ id }]).catch(() => undefined)
        if (answer?.status === 200) acknowledged.push(id)
        else if (answer !== undefined) refusals.add(answer.status)
        await Bun.sleep(5)
      }
    }
    const posting = post()
    await Bun.sleep(100 + round * 7)
    server.kill('SIGTERM')
    expect(await server.exited).toBe(0)
    server = undo.use(await serve(served.surroundings, ['--port', port]))
    isRunning = false
    await posting
  }
  const ends = await Promise.all(devices.map((device) => device.run(endWriting)))
  for (const device of devices) await untilSent(device)
  const written = [...acknowledged, ...ends.flatMap(({ ids }) => ids)]
  for (const device of devices) {
    await pull(device)
    const found = new Set((await rows(device)).map(({ id }) => id))
    expect(written.filter((id) => !found.has(id))).toEqual([])
  }
  for (const { errors, statuses } of ends) {
    expect({ errors, statuses }).toEqual({ errors: [], statuses: [200] })
  }
  expect(ends.every(({ ids }) => ids.length > RESTARTS)).toBe(true)
  expect([...refusals].filter((status) => status !== 503)).toEqual([])
}, 240_000)

import { type Served, serve } from '../binary/setup'
import { type Application, openDevice, setupServed } from '../conformance/addon/setup'
import { pull, rows, untilSent } from '../conformance/addon/sync'
import { beginWriting, endWriting } from '../conformance/addon/writing'
import { callerOf } from '../http/setup'
import { until } from '../timing'
import type { Finding } from './experiment'

/** Devices of one user; more codes in an hour are refused. */
const DEVICES_OF_USER = 4
const LONGEST_WAIT_MS = 3_000
const LIVE = { isEager: true, cloud: { disableWebSocket: false } }

interface Setting {
  readonly devices: number
  /** From the start of a server to its end, ms. */
  readonly every: number
  /** From one write of a device to the next, ms. */
  readonly pause: number
  /** Each device waits until a write is acknowledged, which does not take long. */
  readonly isAwaiting: boolean
}

const CROWD: Setting = { devices: 20, every: 6_000, pause: 500, isAwaiting: true }

/**
 * Published add-ons that write, each with a live connection, and a caller of the REST interface beside a server that is
 * stopped in order and started again and again: no object is missing and no error is shown.
 */
export async function restartBesideClients(rounds: number, setting = CROWD): Promise<Finding> {
  const { every, pause, isAwaiting } = setting
  await using served = await setupServed()
  const { port } = new URL(served.main)
  await using undo = new AsyncDisposableStack()
  const devices: { readonly app: Application; readonly user: string }[] = []
  for (let n = 0; n < setting.devices; n += 1) {
    const user = `user${Math.floor(n / DEVICES_OF_USER)}@example.com`
    devices.push({ user, app: undo.use(await openDevice(served, user, LIVE)) })
  }
  await Promise.all(devices.map(({ app }, n) => app.run(beginWriting, { n, pause, isAwaiting })))
  const { app: first, user: firstUser } = devices[0]!
  const { accessToken = '' } = await first.user()
  const caller = callerOf(served.main, accessToken)
  // A device makes the table known with its first sync.
  await until(async () => (await caller.post('/my/items', { id: 'itmR' })).status === 200)
  const problems: string[] = []
  const acknowledged: string[] = []
  let server: Pick<Served, 'kill' | 'exited'> = served
  const restarts: number[] = []
  for (let round = 0; round < rounds; round += 1) {
    let isRunning = true
    async function post(): Promise<void> {
      for (let n = 0; isRunning; n += 1) {
        const id = `itmR${round}-${n}`
        // The connection may be refused or cut: then nothing is said about the object.
        const answer = await caller.post('/my/items', [{ id }]).catch(() => undefined)
        if (answer?.status === 200) acknowledged.push(id)
        else if (answer !== undefined && answer.status !== 503) problems.push(answer.text)
        await Bun.sleep(pause / 10)
      }
    }
    const posting = post()
    await Bun.sleep(every + round * 7)
    const begun = performance.now()
    server.kill('SIGTERM')
    const code = await server.exited
    if (code !== 0) problems.push(`the server ended with ${code}`)
    server = undo.use(await serve(served.surroundings, ['--port', port]))
    restarts.push(performance.now() - begun)
    isRunning = false
    await posting
  }
  const ends = await Promise.all(devices.map(({ app }) => app.run(endWriting)))
  for (const { app } of devices) await untilSent(app)
  for (const { app, user } of devices) {
    await pull(app)
    const found = new Set((await rows(app)).map(({ id }) => id))
    const written = ends.filter((_, n) => devices[n]?.user === user).flatMap(({ ids }) => ids)
    if (user === firstUser) written.push(...acknowledged)
    const missing = written.filter((id) => !found.has(id))
    if (missing.length > 0) problems.push(`${user} misses ${missing.length} objects`)
  }
  for (const { ids, errors, statuses } of ends) {
    problems.push(...errors, ...statuses.filter((status) => status !== 200).map(String))
    if (ids.length <= rounds) problems.push(`a device wrote ${ids.length} objects`)
  }
  const waits = ends.flatMap((end) => end.waits).toSorted((a, b) => a - b)
  const part = (share: number) => Math.round(waits[Math.floor(share * (waits.length - 1))] ?? 0)
  if (isAwaiting && part(0.99) > LONGEST_WAIT_MS) {
    problems.push(`p99 of the wait is ${part(0.99)} ms`)
  }
  const longest = Math.round(Math.max(...restarts))
  return {
    facts: `${waits.length} writes of ${devices.length} devices waited ${part(0.5)} ms (p50), ${part(0.99)} ms (p99), ${part(1)} ms at most; a restart took up to ${longest} ms`,
    problems,
  }
}

import { type Served, serve } from '../binary/setup'
import { type Application, openDevice, setupServed } from '../conformance/addon/setup'
import { pull, rows, untilSent } from '../conformance/addon/sync'
import { beginWriting, endWriting } from '../conformance/addon/writing'
import type { Finding } from './experiment'

const DEVICES = 20
/** Of one user; more codes in an hour are refused. */
const DEVICES_OF_USER = 4
const RESTART_EVERY_MS = 6_000
const LONGEST_WAIT_MS = 3_000
const LIVE = { isEager: true, cloud: { disableWebSocket: false } }

/**
 * Twenty published add-ons that write, each with a live connection, beside a server that is stopped in order and started
 * again every six seconds: no object is missing, no error is shown, and writes do not wait long.
 */
export async function restartBesideClients(rounds: number): Promise<Finding> {
  await using served = await setupServed()
  const { port } = new URL(served.main)
  await using undo = new AsyncDisposableStack()
  const devices: { readonly app: Application; readonly user: string }[] = []
  for (let n = 0; n < DEVICES; n += 1) {
    const user = `user${Math.floor(n / DEVICES_OF_USER)}@example.com`
    devices.push({ user, app: undo.use(await openDevice(served, user, LIVE)) })
  }
  await Promise.all(
    devices.map(({ app }, n) => app.run(beginWriting, { n, pause: 500, isAwaiting: true })),
  )
  let server: Pick<Served, 'kill' | 'exited'> = served
  const restarts: number[] = []
  for (let round = 0; round < rounds; round += 1) {
    await Bun.sleep(RESTART_EVERY_MS)
    const begun = performance.now()
    server.kill('SIGTERM')
    await server.exited
    server = undo.use(await serve(served.surroundings, ['--port', port]))
    restarts.push(performance.now() - begun)
  }
  const ends = await Promise.all(devices.map(({ app }) => app.run(endWriting)))
  for (const { app } of devices) await untilSent(app)
  const problems: string[] = []
  for (const { app, user } of devices) {
    await pull(app)
    const found = new Set((await rows(app)).map(({ id }) => id))
    const written = ends.filter((_, n) => devices[n]?.user === user).flatMap(({ ids }) => ids)
    const missing = written.filter((id) => !found.has(id))
    if (missing.length > 0) problems.push(`${user} misses ${missing.length} objects`)
  }
  for (const { errors, statuses } of ends) {
    problems.push(...errors, ...statuses.filter((status) => status !== 200).map(String))
  }
  const waits = ends.flatMap((end) => end.waits).toSorted((a, b) => a - b)
  const part = (share: number) => Math.round(waits[Math.floor(share * (waits.length - 1))] ?? 0)
  if (part(0.99) > LONGEST_WAIT_MS) problems.push(`p99 of the wait is ${part(0.99)} ms`)
  const longest = Math.round(Math.max(...restarts))
  return {
    facts: `${waits.length} writes of ${DEVICES} devices waited ${part(0.5)} ms (p50), ${part(0.99)} ms (p99), ${part(1)} ms at most; a restart took up to ${longest} ms`,
    problems,
  }
}

import { setupExecutable, type Executable } from '../promises/setup'
import type { Finding } from './experiment'

const DRIPPERS = 1_000
const KINDS = 3
const MOST_SECONDS = 35
const MOST_SLOWER = 2

/**
 * Promise 34 in full: a thousand callers who send their headers byte by byte, a thousand who send the bodies of
 * objects so, and a thousand without a token those of syncs. They run in a process of their own.
 */
export async function dripAway(rounds: number): Promise<Finding> {
  const problems: string[] = []
  const facts: string[] = []
  await using executable = await setupExecutable()
  const honest = await executable.as('honest@example.com')
  await honest.post('/my/plain', { id: 'a' })
  for (let round = 1; round <= rounds; round += 1) {
    const alone = await timesOf(() => honest.get('/my/plain/a'), 10_000)
    await using drippers = startDrippers(executable, honest.token ?? '')
    await drippers.connected
    const beside = await timesOf(() => honest.get('/my/plain/a'), 10_000)
    const { cut, slowest } = await drippers.ended
    const factor = p99Of(beside) / p99Of(alone)
    facts.push(`p99 × ${factor.toFixed(2)}, ${cut} cut, the last after ${slowest.toFixed(0)} s`)
    if (factor >= MOST_SLOWER) {
      problems.push(`round ${round}: p99 ${p99Of(alone)} ms alone, ${p99Of(beside)} ms beside`)
    }
    if (cut < KINDS * DRIPPERS)
      problems.push(`round ${round}: ${KINDS * DRIPPERS - cut} were not cut`)
    if (slowest > MOST_SECONDS) problems.push(`round ${round}: one was cut after ${slowest} s`)
  }
  return { facts: facts.join('; '), problems }
}

/** How long each of many requests in turn takes, ms, for `duration` ms. */
async function timesOf(send: () => Promise<unknown>, duration: number): Promise<number[]> {
  const times: number[] = []
  const end = performance.now() + duration
  while (performance.now() < end) {
    const begun = performance.now()
    await send()
    times.push(performance.now() - begun)
  }
  return times
}

function p99Of(times: readonly number[]): number {
  return times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.99)] ?? Number.NaN
}

function startDrippers({ url }: Executable, token: string) {
  const connected = Promise.withResolvers<void>()
  const ended = Promise.withResolvers<{ cut: number; slowest: number }>()
  const child = Bun.spawn([process.execPath, '-e', DRIP], {
    env: { ...process.env, DRIP_URL: url, DRIP_TOKEN: token, DRIP_COUNT: String(DRIPPERS) },
    stdin: 'ignore',
    stdout: 'inherit',
    stderr: 'inherit',
    ipc(message: { readonly cut: number; readonly slowest: number } | 'connected') {
      if (message === 'connected') connected.resolve()
      else ended.resolve(message)
    },
  })
  return {
    connected: connected.promise,
    ended: ended.promise,
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL')
      await child.exited
    },
  }
}

/** Every socket sends one more byte each second, until it is closed or a minute has passed. */
const DRIP = `
const { connect } = require('node:net')
const { DRIP_URL, DRIP_TOKEN, DRIP_COUNT } = process.env
const { hostname, port } = new URL(DRIP_URL)
const count = Number(DRIP_COUNT)
const head = 'POST /main/my/plain HTTP/1.1\\r\\nHost: x\\r\\n'
const body = head + 'Authorization: Bearer ' + DRIP_TOKEN + '\\r\\nContent-Length: 1000\\r\\n\\r\\n{"id":"'
const sync = 'POST /main/sync HTTP/1.1\\r\\nHost: x\\r\\nContent-Length: 1000\\r\\n\\r\\n{"v'
const begins = [head, body, sync].flatMap((begin) => Array(count).fill([begin, 'x']))
const begun = performance.now()
let [open, cut, slowest, connected] = [begins.length, 0, 0, 0]
const seconds = () => (performance.now() - begun) / 1000
const sockets = begins.map(([begin, byte]) => {
  const socket = connect(Number(port), hostname)
  socket.on('connect', () => {
    socket.write(begin)
    if (++connected === begins.length) process.send('connected')
  })
  socket.on('error', () => {})
  socket.on('data', () => {})
  socket.on('close', () => {
    cut += 1
    slowest = Math.max(slowest, seconds())
    if (--open === 0) tell()
  })
  return { socket, byte }
})
const timer = setInterval(() => {
  for (const { socket, byte } of sockets) if (!socket.destroyed) socket.write(byte)
  if (seconds() > 60) tell()
}, 1000)
function tell() {
  clearInterval(timer)
  process.send({ cut, slowest }, () => process.exit())
}
`

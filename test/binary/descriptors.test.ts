import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { temporaryFolder } from '../setup'
import { until } from '../timing'
import { satchel, serve } from './setup'

const LIMIT = 128

/** The CPU time of the process so far, in ticks of 10 ms. */
function ticksOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  return Number(fields[11]) + Number(fields[12])
}

const BEGINNING = 'GET /main/public/realms HTTP/1.1\r\nHost: x\r\nConnection: cl'

/** Begins a request, and does not end it. Resolves to undefined when the connection is refused. */
function begin(port: number): Promise<Socket | undefined> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.on('connect', () => {
      socket.write(BEGINNING)
      resolve(socket)
    })
    socket.on('error', () => resolve(undefined))
  })
}

test.if(process.platform === 'linux')(
  'a server without file descriptors refuses connections, finishes those it has, and does not spin',
  async () => {
    using folder = temporaryFolder()
    const wrapper = ['/bin/sh', '-c', `ulimit -n ${LIMIT}; exec "$@"`, 'sh']
    await using server = await serve({ cwd: folder.path, wrapper })
    const { url } = server.ready
    const port = Number(new URL(url).port)
    const kept = (await begin(port))!
    await fetch(`${url}/health`)
    const others = await Promise.all(Array.from({ length: 2 * LIMIT }, () => begin(port)))
    await server.logged((line) => line.includes('Too many files and connections are open'))
    await until(async () => (await begin(port)) === undefined)

    const before = ticksOf(server.pid)
    await Bun.sleep(1_000)
    // A busy loop would take about a hundred.
    expect(ticksOf(server.pid) - before).toBeLessThan(20)

    const answered = new Promise<string>((resolve) =>
      kept.once('data', (data) => resolve(data.toString())),
    )
    kept.write('ose\r\n\r\n')
    expect(await answered).toStartWith('HTTP/1.1 200')

    for (const socket of others) socket?.destroy()
    await server.logged((line) => line.includes('New connections are accepted again'))
    expect((await fetch(`${url}/health`)).status).toBe(200)
    server.kill('SIGTERM')
    expect(await server.exited).toBe(0)
  },
)

test.if(process.platform === 'linux')(
  'nor does the listener for metrics spin, or let in more connections',
  async () => {
    using folder = temporaryFolder()
    const wrapper = ['/bin/sh', '-c', `ulimit -n ${LIMIT}; exec "$@"`, 'sh']
    const args = ['--metrics', '127.0.0.1:0']
    await using server = await serve({ cwd: folder.path, wrapper }, args)
    const line = await server.logged((each) => each.includes('Metrics are served'))
    const { url } = JSON.parse(line) as { readonly url: string }
    const port = Number(new URL(url).port)
    const sockets = await Promise.all(Array.from({ length: 2 * LIMIT }, () => begin(port)))
    await until(async () => (await begin(port)) === undefined)
    const before = ticksOf(server.pid)
    await Bun.sleep(1_000)
    expect(ticksOf(server.pid) - before).toBeLessThan(20)
    for (const socket of sockets) socket?.destroy()
    await until(async () => (await fetch(url).catch(() => undefined))?.status === 200)
  },
  60_000,
)

test.if(process.platform === 'linux')(
  'satchel doctor finds a low limit, which is that of the server',
  async () => {
    using folder = temporaryFolder()
    const wrapper = ['/bin/sh', '-c', `ulimit -n 1024; exec "$@"`, 'sh']
    await using _ = await serve({ cwd: folder.path, wrapper })
    const { exitCode, stdout } = await satchel(['doctor'], { cwd: folder.path })
    expect(stdout).toContain('descriptors: The server may open only 1024 files and connections')
    expect(exitCode).toBe(1)
  },
)

import { describe, expect, test } from 'bun:test'
import { readdirSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { until } from '../timing'
import { ALICE } from '../http/setup'
import { type Executable, setupExecutable } from './setup'

/**
 * Promise 34: callers who send their headers or bodies byte by byte take nothing from others. That
 * they are cut, and the times of the others, are measured by `bun run lab`.
 */

const DRIPPERS = 200
const MIB = 1024 * 1024

const HEAD = 'POST /main/my/plain HTTP/1.1\r\nHost: x\r\n'
/** As long a body as there may be: its dripper has sent a few bytes of it. */
const bodyOf = (token: string) =>
  `${HEAD}Authorization: Bearer ${token}\r\nContent-Length: ${16 * MIB}\r\n\r\n{"id":"`
/** Anybody may sync, with a connection that is idle for long. */
const SYNC = 'POST /main/sync HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{"v'
const CHUNKED = (token: string) =>
  `${HEAD}Authorization: Bearer ${token}\r\nTransfer-Encoding: chunked\r\n\r\n7\r\n{"id":"\r\n`

describe('promise 34: while 200 callers drip', () => {
  test.each([
    ['headers', () => HEAD, 'x'],
    ['bodies of 16 MiB', bodyOf, 'x'],
    ['bodies in chunks', CHUNKED, '1\r\nx\r\n'],
    ['bodies of syncs', () => SYNC, 'x'],
  ])('%s, others are served, and nothing stays afterwards', async (_, beginOf, more) => {
    await using executable = await setupExecutable()
    const honest = await executable.as('honest@example.com')
    const { token = '' } = await executable.as(ALICE)
    await honest.post('/my/plain', { id: 'a' })
    const before = descriptorsOf(executable)
    const sockets = await Promise.all(
      Array.from({ length: DRIPPERS }, () => begin(executable, beginOf(token))),
    )
    const dripping = setInterval(() => {
      for (const socket of sockets) socket.write(more)
    }, 100)
    try {
      const large = { id: 'large', text: 'x'.repeat(2 * MIB) }
      const statuses = new Set<number>()
      for (let n = 0; n < 20; n += 1) {
        statuses.add((await honest.get('/my/plain/a')).status)
        statuses.add((await honest.post('/my/plain', { id: 'b', n })).status)
      }
      statuses.add((await honest.post('/my/plain', large)).status)
      expect([...statuses]).toEqual([200])
      expect(sockets.filter(({ destroyed }) => destroyed)).toEqual([])
    } finally {
      clearInterval(dripping)
      for (const socket of sockets) socket.destroy()
    }
    await until(() => descriptorsOf(executable) <= before + 2)
    expect((await honest.get('/my/plain/large')).status).toBe(200)
  })
})

async function begin({ url }: Executable, text: string): Promise<Socket> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  socket.on('error', () => undefined)
  socket.resume()
  await new Promise((resolve) => socket.once('connect', resolve))
  socket.write(text)
  return socket
}

function descriptorsOf({ served }: Executable): number {
  return readdirSync(`/proc/${served.pid}/fd`).length
}

import { expect, test } from 'bun:test'
import { connect } from 'node:net'
import { ALICE } from '../http/setup'
import { type Executable, setupExecutable } from './setup'

/**
 * Promise 35 for blobs: 100 parallel uploads of maximal size and 100 readers who take nothing stay
 * below 512 MB, and what somebody sends faster than it can be stored waits in the network.
 */

const MIB = 1024 * 1024
const LARGEST = 16 * MIB
const MANY = 100
const CEILING = 512
const PART = Buffer.alloc(MIB / 4, 'x')

/** Uploads `LARGEST` bytes, as fast as the server takes them. Resolves to the status. */
function upload(executable: Executable, path: string, token: string): Promise<number> {
  const { hostname, port } = new URL(executable.url)
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname)
    let sent = 0
    const send = () => {
      while (sent < LARGEST) {
        sent += PART.length
        if (!socket.write(PART)) return
      }
    }
    socket.on('connect', () => {
      socket.write(
        `PUT ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nContent-Length: ${LARGEST}\r\n\r\n`,
      )
      send()
    })
    socket.on('drain', send)
    socket.on('data', (data) => {
      socket.destroy()
      resolve(Number(data.toString('latin1', 9, 12)))
    })
    socket.on('error', () => resolve(0))
    socket.on('close', () => resolve(0))
  })
}

// The second form is one that has to be brought into the first.
test.each(['/main/blob/', '//main/blob/'])(
  'promise 35: 100 uploads at once of the largest size to %s stay below 512 MB',
  async (address) => {
    const environment = { SATCHEL_MAX_BLOB: String(LARGEST) }
    await using executable = await setupExecutable({ environment })
    const { token = '' } = await executable.as(ALICE)
    const statuses = await Promise.all(
      Array.from({ length: MANY }, (_, n) => upload(executable, `${address}b${n}`, token)),
    )
    expect(new Set(statuses)).toEqual(new Set([200]))
    expect(executable.memory().peak).toBeLessThan(CEILING)
  },
  120_000,
)

test('promise 35: 100 readers of a blob who take nothing hold no memory and nobody up', async () => {
  await using executable = await setupExecutable()
  const { token = '' } = await executable.as(ALICE)
  expect(await upload(executable, '/main/blob/large', token)).toBe(200)
  const calm = executable.memory().now
  const { hostname, port } = new URL(executable.url)
  const kinds = [
    '',
    'Range: bytes=5-\r\n',
    'Range: bytes=0-9,20-7000000\r\n',
    'If-Range: "x"\r\nRange: bytes=0-9\r\n',
  ]
  const sockets = Array.from({ length: MANY }, (_, n) => {
    const socket = connect(Number(port), hostname)
    socket.on('error', () => undefined)
    socket.pause()
    socket.write(
      `GET /main/blob/1:large HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n${kinds[n % kinds.length]}\r\n`,
    )
    return socket
  })
  await Bun.sleep(1_000)
  const begun = performance.now()
  expect(await upload(executable, '/main/blob/other', token)).toBe(200)
  expect(performance.now() - begun).toBeLessThan(2_000)
  expect(executable.memory().now - calm).toBeLessThan(128)
  for (const socket of sockets) socket.destroy()
}, 60_000)

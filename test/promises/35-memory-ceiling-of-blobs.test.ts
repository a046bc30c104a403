import { expect, test } from 'bun:test'
import { connect } from 'node:net'
import process from 'node:process'
import { ALICE } from '../http/setup'
import { shortestTime, until } from '../timing'
import { type Executable, setupExecutable, sendUnread } from './setup'

/**
 * Promise 35 for blobs: 100 parallel uploads of maximal size and 100 readers who take nothing stay
 * below 512 MB, and uploads that are faster than the disk wait in the network.
 */

const MIB = 1024 * 1024
const LARGEST = 16 * MIB
/** In the lab as much as the promise names; 40 of these uploads are more than the ceiling too. */
const [MANY, LONGEST] =
  process.env['SATCHEL_RUNS'] === undefined ? [40, 256 * MIB] : [100, 1024 * MIB]
const CEILING = 512
const PART = Buffer.alloc(MIB / 4, 'x')
const LENGTH = `Content-Length: ${LARGEST}`

/** Uploads `LARGEST` bytes, as fast as the server takes them. Resolves to the status. */
const upload = (executable: Executable, path: string, token: string) =>
  send(executable, `PUT ${path}`, token, LENGTH, Array(LARGEST / PART.length).fill(PART))

/** Sends a body in parts, as fast as the server takes them. Resolves to the status. */
function send(
  executable: Executable,
  to: string,
  token: string,
  form: string,
  parts: readonly Buffer[],
): Promise<number> {
  const { hostname, port } = new URL(executable.url)
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname)
    const rest = parts.values()
    const goOn = () => {
      for (const part of rest) if (!socket.write(part)) return
    }
    socket.on('connect', () => {
      socket.write(`${to} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n${form}\r\n\r\n`)
      goOn()
    })
    socket.on('drain', goOn)
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
  'promise 35: many uploads at once of the largest size to %s stay below 512 MB',
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
)

test('a blob that is much larger adds less than 64 MB, though it comes in small chunks of unknown number', async () => {
  await using executable = await setupExecutable()
  const { token = '' } = await executable.as(ALICE)
  for (let n = 0; n < 4; n += 1) {
    expect(await upload(executable, `/main/blob/small-${n}`, token)).toBe(200)
  }
  const calm = executable.memory().now
  const chunk = Buffer.from(`4000\r\n${'x'.repeat(0x4000)}\r\n`)
  const chunks = [...Array<Buffer>(LONGEST / 0x4000).fill(chunk), Buffer.from('0\r\n\r\n')]
  const form = 'Transfer-Encoding: chunked'
  expect(await send(executable, 'PUT /main/blob/large', token, form, chunks)).toBe(200)
  expect(executable.memory().peak - calm).toBeLessThan(64)
})

test('promise 35: many readers of a blob who take nothing use no memory and delay no other caller', async () => {
  await using executable = await setupExecutable()
  const { token = '' } = await executable.as(ALICE)
  const store = async (name: string) =>
    expect(await upload(executable, `/main/blob/${name}`, token)).toBe(200)
  const alone = await shortestTime(1, () => store('large'))
  const calm = executable.memory().now
  const kinds = [
    '',
    'Range: bytes=5-\r\n',
    'Range: bytes=0-9,20-7000000\r\n',
    'If-Range: "x"\r\nRange: bytes=0-9\r\n',
  ]
  const request = `GET /main/blob/1:large HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n`
  const sockets = Array.from({ length: MANY }, (_, n) =>
    sendUnread(executable.url, `${request}${kinds[n % kinds.length]}\r\n`),
  )
  await Bun.sleep(1_000)
  let n = 0
  await until(async () => (await shortestTime(1, () => store(`other${(n += 1)}`))) / alone < 20)
  expect(executable.memory().now - calm).toBeLessThan(128)
  for (const socket of sockets) socket.destroy()
})

import { connect, type Socket } from 'node:net'
import { setupExecutable } from '../promises/setup'
import { beside, harmOf, MOST_WRITE } from './beside'
import type { Finding } from './experiment'

const SOCKETS = 60
/** Of each frame so many MiB are sent, of the 64 that its head announces. */
const SENT = 60
const PIECE = Buffer.alloc(1024 * 1024)
/** The limit of unfinished frames, the process itself, and the traffic of two seconds, MiB. */
const MOST_MEMORY = 2_300
const WAIT_MS = 12_000

/** Anonymous sockets of one network send almost all of a frame, and wait: 3.5 GB in all. */
export async function holdFrames(): Promise<Finding> {
  await using executable = await setupExecutable()
  const { port } = new URL(executable.url)
  const sockets: Socket[] = []
  const found = await beside(executable, async () => {
    for (let n = 0; n < SOCKETS; n += 1) sockets.push(hold(Number(port)))
    await Bun.sleep(WAIT_MS)
  })
  const closed = sockets.filter((socket) => socket.destroyed).length
  for (const socket of sockets) socket.destroy()
  const { now, peak } = executable.memory()
  const facts = `${closed} of ${SOCKETS} closed, at most ${Math.round(peak)} MiB, then ${Math.round(now)}; writes ${found.write} ms, reads ${found.read} ms`
  const problems = harmOf('held frames', found, { write: MOST_WRITE, read: MOST_WRITE })
  if (peak > MOST_MEMORY) problems.push(`the process took ${Math.round(peak)} MiB`)
  return { facts, problems }
}

function hold(port: number): Socket {
  const socket = connect(port, '127.0.0.1')
  let sent = 0
  const send = () => {
    while (sent < SENT && socket.writable) {
      sent += 1
      if (!socket.write(PIECE)) return
    }
  }
  socket.on('error', () => undefined)
  socket.on('drain', send)
  socket.once('data', () => {
    socket.write(HEAD)
    send()
  })
  socket.write(HANDSHAKE)
  return socket
}

const HANDSHAKE = [
  'GET /main/changes?clientId=held HTTP/1.1',
  'Host: localhost',
  'Upgrade: websocket',
  'Connection: Upgrade',
  'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
  'Sec-WebSocket-Version: 13',
  '\r\n',
].join('\r\n')
/** Of a binary frame of 64 MiB less one byte, masked with zeros (RFC 6455 §5.2). */
const HEAD = Buffer.from([0x82, 0xff, 0, 0, 0, 0, 0x03, 0xff, 0xff, 0xff, 0, 0, 0, 0])

import { connect } from 'node:net'

/**
 * Floods live connections as fast as it can until it is killed: `bun flooder.ts <port> <sockets> <frame>`,
 * with `junk`, `ping`, `empty` or `binary` frames. A socket that is closed is opened again at once.
 */
const [port, count] = process.argv.slice(2, 4).map(Number)
const kind = process.argv[4] ?? ''
const BYTES = 256 * 1024

const FRAMES: Readonly<Record<string, readonly [opcode: number, text: string]>> = {
  junk: [1, 'x'.repeat(15)],
  ping: [1, '{"type":"ping"}'],
  empty: [1, ''],
  binary: [2, 'x'.repeat(100)],
}

/** Masked with zeros, as a client must mask (RFC 6455 §5.3). */
function frameOf([opcode, text]: readonly [number, string]): Buffer {
  return Buffer.concat([
    Buffer.from([0x80 | opcode, 0x80 | text.length, 0, 0, 0, 0]),
    Buffer.from(text),
  ])
}

const frame = frameOf(FRAMES[kind] ?? [1, 'x'])
const chunk = Buffer.concat(Array.from({ length: Math.ceil(BYTES / frame.length) }, () => frame))
const HANDSHAKE = [
  'GET /main/changes?clientId=flood HTTP/1.1',
  'Host: localhost',
  'Upgrade: websocket',
  'Connection: Upgrade',
  'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
  'Sec-WebSocket-Version: 13',
  '\r\n',
].join('\r\n')

function flood(): void {
  const socket = connect(port ?? 0, '127.0.0.1')
  let isOver = false
  const again = () => {
    if (!isOver) setTimeout(flood, PAUSE_MS)
    isOver = true
    socket.destroy()
  }
  const send = () => {
    while (socket.writable && socket.write(chunk));
  }
  socket.on('error', again)
  socket.on('close', again)
  socket.once('data', (answer) => {
    if (!String(answer).startsWith('HTTP/1.1 101')) return again()
    socket.on('data', () => undefined)
    socket.on('drain', send)
    send()
  })
  socket.write(HANDSHAKE)
}

/** Between two attempts: the experiment measures frames, not refused requests. */
const PAUSE_MS = 100

for (let n = 0; n < (count ?? 0); n += 1) flood()

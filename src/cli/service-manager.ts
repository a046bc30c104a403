import { dlopen, FFIType } from 'bun:ffi'
import process from 'node:process'
import { serverLog } from '../log/log'

/** The manager that started this process as a service, which is told its state: sd_notify(3). */
export interface ServiceManager extends Disposable {
  /** The server answers, for the first time or again. `status` is shown to administrators. */
  ready(status: string): void
  /** `ready` follows. */
  reloading(): void
  stopping(): void
}

/** How often a start that takes long asks for more time, and for how much. */
const EXTEND_EVERY_MS = 10_000
const EXTENSION_MS = 60_000

/**
 * The manager that `NOTIFY_SOCKET` names. From now on the event loop shows that it turns: by more time for the
 * start, and for a watchdog by a sign in each third of its time.
 */
export function connectServiceManager(
  address: string,
  { WATCHDOG_USEC: microseconds, WATCHDOG_PID: watched }: Readonly<NodeJS.ProcessEnv> = process.env,
): ServiceManager {
  const channel = openChannel(address)
  const extend = () => channel.send(`EXTEND_TIMEOUT_USEC=${EXTENSION_MS * 1000}`)
  const start = setInterval(extend, EXTEND_EVERY_MS).unref()
  const isWatched = watched === undefined || Number(watched) === process.pid
  const everyMs = isWatched ? Number(microseconds ?? 0) / 3000 : 0
  const watchdog =
    everyMs > 0 ? setInterval(() => channel.send('WATCHDOG=1'), everyMs).unref() : undefined
  return {
    ready(status) {
      clearInterval(start)
      channel.send(`READY=1\nSTATUS=${status}`)
    },
    reloading: () => channel.send('RELOADING=1\nSTATUS=Reading the settings again'),
    stopping: () => channel.send('STOPPING=1\nSTATUS=Completing open requests'),
    [Symbol.dispose]() {
      clearInterval(start)
      clearInterval(watchdog)
      channel[Symbol.dispose]()
    },
  }
}

interface Channel extends Disposable {
  /** A service goes on when its manager cannot be told: that is logged once. */
  send(text: string): void
}

function openChannel(path: string): Channel {
  const system = loadSystem()
  const { symbols } = system
  const { address, length } = addressOf(path)
  const socket = symbols.socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)
  let hasFailed = false
  return {
    send(text) {
      if (hasFailed) return
      const bytes = Buffer.from(text)
      const sent = symbols.sendto(socket, bytes, bytes.length, MSG_NOSIGNAL, address, length)
      if (Number(sent) === bytes.length) return
      hasFailed = true
      serverLog.warning('The service manager cannot be told the state', { address: path })
    },
    [Symbol.dispose]() {
      symbols.close(socket)
      system.close()
    },
  }
}

/** `struct sockaddr_un`: a family and the bytes of a name. An abstract one begins with a zero byte, written as @. */
function addressOf(path: string): { readonly address: Buffer; readonly length: number } {
  const name = Buffer.from(path)
  const address = Buffer.alloc(2 + NAME_BYTES)
  address.writeUInt16LE(AF_UNIX)
  name.copy(address, 2)
  if (!path.startsWith('@')) return { address, length: address.length }
  address[2] = 0
  return { address, length: Math.min(2 + name.length, address.length) }
}

// Numbers of Linux, where there is such a manager.
const AF_UNIX = 1
const SOCK_DGRAM = 2
const SOCK_CLOEXEC = 0o2_000_000
const MSG_NOSIGNAL = 0x4000
const NAME_BYTES = 108

/** The C library, because the runtime has no datagram sockets of the Unix domain. */
function loadSystem() {
  const functions = {
    socket: { args: [FFIType.int, FFIType.int, FFIType.int], returns: FFIType.int },
    sendto: {
      args: [FFIType.int, FFIType.ptr, FFIType.u64, FFIType.int, FFIType.ptr, FFIType.u32],
      returns: FFIType.i64,
    },
    close: { args: [FFIType.int], returns: FFIType.int },
  } as const
  try {
    return dlopen('libc.so.6', functions)
  } catch {
    const processor = process.arch === 'arm64' ? 'aarch64' : 'x86_64'
    return dlopen(`libc.musl-${processor}.so.1`, functions)
  }
}

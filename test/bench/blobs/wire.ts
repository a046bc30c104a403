import type { Socket } from 'bun'

/** One connection that is kept, without what a real client does besides. Disposing closes it. */
export interface Wire extends Disposable {
  /**
   * Sends a request and resolves when its answer has come to the end.
   * @throws Error when it is refused or the connection breaks.
   */
  exchange(request: WireRequest): Promise<void>
}

export interface WireRequest {
  readonly method: 'GET' | 'PUT'
  readonly path: string
  readonly token: string | undefined
  /** How many bytes are sent; of a PUT. */
  readonly size?: number
  /** Makes the bytes others than those of every other request. */
  readonly stamp?: string
}

const NOISE = crypto.getRandomValues(new Uint8Array(65_536))
/** The bytes that are repeated after the stamp. */
const FILLING = Buffer.concat(Array.from({ length: 16 }, () => NOISE))

interface Pending {
  readonly parts: Iterator<Uint8Array>
  part: Uint8Array | undefined
  head: string
  /** Bytes of the answer that are still to come; undefined until its head is there. */
  rest: number | undefined
  readonly done: PromiseWithResolvers<void>
}

export async function openWire(url: string): Promise<Wire> {
  const { hostname, port } = new URL(url)
  let pending: Pending | undefined

  function send(socket: Socket): void {
    while (pending?.part !== undefined) {
      const written = socket.write(pending.part)
      if (written < pending.part.length) {
        pending.part = pending.part.subarray(Math.max(0, written))
        return
      }
      pending.part = pending.parts.next().value as Uint8Array | undefined
    }
  }

  function receive(data: Uint8Array): void {
    if (pending === undefined) return
    let { length } = data
    if (pending.rest === undefined) {
      pending.head += Buffer.from(data).toString('latin1')
      const end = pending.head.indexOf('\r\n\r\n')
      if (end === -1) return
      length = pending.head.length - end - 4
      if (!pending.head.startsWith('HTTP/1.1 20'))
        return fail(new Error(pending.head.slice(0, 500)))
      pending.rest = Number(/\r\ncontent-length: (\d+)/i.exec(pending.head)?.[1])
    }
    pending.rest -= length
    if (pending.rest > 0) return
    const { done } = pending
    pending = undefined
    done.resolve()
  }

  function fail(error: Error): void {
    pending?.done.reject(error)
    pending = undefined
  }

  const socket = await Bun.connect({
    hostname,
    port: Number(port),
    socket: {
      data: (_socket, data) => receive(data),
      drain: send,
      close: () => fail(new Error('the connection was closed')),
      error: (_socket, error) => fail(error),
    },
  })
  return {
    exchange(request) {
      const parts = partsOf(request)
      const done = Promise.withResolvers<void>()
      pending = { parts, part: parts.next().value, head: '', rest: undefined, done }
      send(socket)
      return done.promise
    },
    [Symbol.dispose]: () => void socket.end(),
  }
}

function* partsOf({
  method,
  path,
  token,
  size,
  stamp = '',
}: WireRequest): Generator<Uint8Array, undefined> {
  const bearer = token === undefined ? '' : `Authorization: Bearer ${token}\r\n`
  const length = size === undefined ? '' : `Content-Length: ${size}\r\n`
  const head = `${method} ${path} HTTP/1.1\r\nHost: localhost\r\n${bearer}${length}\r\n`
  if (size === undefined) {
    yield Buffer.from(head)
    return undefined
  }
  yield Buffer.from(head + stamp)
  for (let sent = stamp.length; sent < size; sent += FILLING.length) {
    yield FILLING.subarray(0, size - sent)
  }
  return undefined
}

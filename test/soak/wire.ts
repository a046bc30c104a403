import type { Link } from '../sync/model/server'

export interface Answer {
  readonly status: number
  readonly text: string
}

export interface Request {
  readonly token?: string
  readonly type?: string
  readonly body?: string | Uint8Array<ArrayBuffer>
}

/** The way from the company to its database; each request is timed. */
export interface Wire {
  /** Paths begin with a slash and follow the address of the database. */
  send(method: string, path: string, request?: Request): Promise<Answer>
  /** The same for JSON. Throws for another status than a success. */
  read<T>(method: string, path: string, token?: string, body?: unknown): Promise<T>
  /** Opens a socket; `receive` is given each message, `closed` is called once at its end. */
  connect(query: URLSearchParams, receive: (text: string) => void, closed: () => void): Link
  /** How long the requests since the last call took, ms. */
  times(): readonly number[]
  /** How many requests were sent again because their connection was closed or the database was busy. */
  repeated(): number
}

const MOST_TRIES = 5
const PAUSE_MS = 100

/** `main` is the address of the database; its certificate is not checked. */
export function openWire(main: string): Wire {
  const tls = { rejectUnauthorized: false }
  let times: number[] = []
  let repeated = 0

  /**
   * As devices do, again where the connection was closed, as each kept one may have been at a renewal, and where the
   * database was busy: nothing was stored.
   */
  async function reach(path: string, init: BunFetchRequestInit): Promise<Response> {
    for (let tries = 1; ; tries += 1) {
      const isLast = tries === MOST_TRIES
      try {
        const response = await fetch(main + path, init)
        if (response.status !== 503 || isLast) return response
      } catch (error) {
        const isReset = error instanceof Error && 'code' in error && error.code === 'ECONNRESET'
        if (!isReset || isLast) throw error
      }
      repeated += 1
      await Bun.sleep(PAUSE_MS)
    }
  }

  async function send(method: string, path: string, { token, type, body }: Request = {}) {
    const headers = new Headers(type === undefined ? {} : { 'content-type': type })
    if (token !== undefined) headers.set('authorization', `Bearer ${token}`)
    const begun = performance.now()
    const init: BunFetchRequestInit = { method, headers, tls, redirect: 'manual' }
    const response = await reach(path, body === undefined ? init : { ...init, body })
    const text = await response.text()
    times.push(performance.now() - begun)
    return { status: response.status, text }
  }

  return {
    send,
    async read<T>(method: string, path: string, token?: string, body?: unknown) {
      const { status, text } = await send(method, path, {
        type: 'application/json',
        ...(token === undefined ? {} : { token }),
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
      if (status >= 300) throw new Error(`${method} ${path}: ${status} ${text.slice(0, 500)}`)
      return JSON.parse(text) as T
    },
    connect(query, receive, closed) {
      const waiting: string[] = []
      const address = `${main.replace('http', 'ws')}/changes?${String(query)}`
      const socket = new WebSocket(address, { tls })
      socket.addEventListener('message', ({ data }) => receive(String(data)))
      socket.addEventListener('close', closed)
      socket.addEventListener('open', () => {
        for (const text of waiting) socket.send(text)
      })
      return {
        say(text) {
          if (socket.readyState === WebSocket.OPEN) socket.send(text)
          else waiting.push(text)
        },
        close: () => socket.close(),
      }
    },
    repeated: () => repeated,
    times() {
      const taken = times
      times = []
      return taken
    },
  }
}

import { connect } from 'node:net'
import { openSession, type Session } from '../../src/control/session'
import { setupServer, type TestServer } from '../setup'

/** The answer, read to its end. */
export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** The parsed text; undefined when there is none. */
  readonly body: unknown
}

export interface SendOptions {
  /** Sent as it is when it is text or bytes, as JSON otherwise. */
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

/** A caller of the database `main`. Paths begin with a slash and follow its address. */
export interface Caller {
  readonly token: string | undefined
  send(method: string, path: string, options?: SendOptions): Promise<Answer>
  get(path: string): Promise<Answer>
  post(path: string, body: unknown, headers?: Readonly<Record<string, string>>): Promise<Answer>
  remove(path: string): Promise<Answer>
}

export const ALICE = 'alice@example.com'
export const BOB = 'bob@example.com'

/** The tables of `setupData`. */
export const TABLES = {
  items: '@id, country, *tags',
  plain: 'id',
  pairs: '[a+b]',
}

export interface DataServer extends TestServer {
  /** The commands of the executable, done by this server. */
  readonly commands: Session
  /** Without a token. */
  readonly anyone: Caller
  /** The first client, with all scopes that reach data. */
  readonly root: Caller
  /** The user with this id and e-mail, with `ACCESS_DB` alone unless other scopes are named. */
  as(sub: string, scopes?: readonly string[]): Promise<Caller>
  push(schema: Readonly<Record<string, string | null>>): Promise<void>
}

/** A server whose database `main` has `TABLES`. */
export async function setupData(
  flags: Readonly<Record<string, unknown>> = {},
): Promise<DataServer> {
  const server = await setupServer(flags)
  const commands = await openSession(server.folder, () => undefined)
  const push = async (schema: Readonly<Record<string, string | null>>) => {
    const upload = new Blob([JSON.stringify(schema)]).stream()
    await commands.run('schema.push', { database: 'main', wait: true }, { upload })
  }
  await push(TABLES)
  return {
    ...server,
    commands,
    push,
    anyone: callerOf(server.main),
    root: callerOf(server.main, await server.token()),
    as: async (sub, scopes = ['ACCESS_DB']) =>
      callerOf(server.main, await server.token({ sub, scopes })),
  }
}

export function callerOf(base: string, token?: string): Caller {
  const send = async (method: string, path: string, options: SendOptions = {}) => {
    const { body } = options
    const headers = new Headers(options.headers)
    if (token !== undefined) headers.set('authorization', `Bearer ${token}`)
    const isRaw =
      typeof body === 'string' || body instanceof Uint8Array || body instanceof ReadableStream
    if (body !== undefined && !headers.has('content-type')) {
      headers.set('content-type', 'application/json')
    }
    return readAnswer(
      await fetch(base + path, {
        method,
        headers,
        ...(body === undefined ? {} : { body: isRaw ? (body as string) : JSON.stringify(body) }),
      }),
    )
  }
  return {
    token,
    send,
    get: (path) => send('GET', path),
    post: (path, body, headers = {}) => send('POST', path, { body, headers }),
    remove: (path) => send('DELETE', path),
  }
}

/** Sends an object as JSON; resolves to the answer before it is read. */
export function postJson(
  url: string,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
) {
  return fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
}

export async function readAnswer(response: Response): Promise<Answer> {
  const text = await response.text()
  const { status, headers } = response
  return { status, headers, text, body: text === '' ? undefined : (JSON.parse(text) as unknown) }
}

/** The objects of a list, which must have been answered. */
export function objectsOf(answer: Answer): Record<string, unknown>[] {
  if (answer.status !== 200 || !Array.isArray(answer.body)) {
    throw new Error(`No list: ${answer.status} ${answer.text.slice(0, 500)}`)
  }
  return answer.body as Record<string, unknown>[]
}

/** The bytes that one connection received. */
export interface Received {
  readonly text: string
  /** The statuses of the answers in it, in order. */
  readonly statuses: readonly number[]
  readonly isClosed: boolean
}

const PATIENCE_MS = 50_000

/**
 * Sends bytes as they are over a connection of its own and collects what comes until it is closed.
 * Without `Connection: close` in the bytes it also ends 150 ms after one answer is complete, unless
 * the answer closes (`isLast`): several requests need that header in the last one.
 */
export function exchange(
  url: string,
  bytes: string | Uint8Array,
  isLast = Buffer.from(bytes).toString('latin1').includes('\r\nConnection: close\r\n'),
): Promise<Received> {
  const { hostname, port } = new URL(url)
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname)
    const chunks: Buffer[] = []
    const received = () => Buffer.concat(chunks).toString('latin1')
    const finish = (isClosed: boolean) => {
      clearTimeout(timer)
      socket.destroy()
      const text = received()
      const statuses = [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, code]) => Number(code))
      resolve({ text, statuses, isClosed })
    }
    let timer = setTimeout(() => finish(false), PATIENCE_MS)
    socket.on('data', (chunk) => {
      chunks.push(chunk)
      if (isLast || !isAnswer(received())) return
      clearTimeout(timer)
      timer = setTimeout(() => finish(false), 150)
    })
    socket.on('error', () => undefined)
    socket.on('close', () => finish(true))
    socket.write(bytes)
  })
}

/** True for an answer with all of its body. */
function isAnswer(text: string): boolean {
  const end = text.indexOf('\r\n\r\n')
  if (end === -1) return false
  const head = text.slice(0, end)
  if (/^transfer-encoding: chunked$/im.test(head)) return text.endsWith('\r\n0\r\n\r\n')
  return text.length >= end + 4 + Number(/^content-length: (\d+)$/im.exec(head)?.[1] ?? 0)
}

/** Sent before a request in one write: its answer tells that the head of the request has been read. */
export const KNOCK = 'GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n'

/** The text after the answer to `KNOCK`; undefined until that is whole. */
export function afterKnock(received: string): string | undefined {
  const [answer] = /^HTTP\/1\.1 200 [^]*?\r\n\r\n\{[^}]*\}/.exec(received) ?? []
  return answer === undefined ? undefined : received.slice(answer.length)
}

import { readFile } from 'node:fs/promises'
import { type Config, UsageError } from './config/config'
import { watchDescriptors } from './descriptors'
import { SatchelError } from './domain/value/error'
import { FIXED_LIMITS } from './domain/value/fixed-limits'
import { serverLog } from './log/log'
import type { SocketOwner } from './sync/socket'
import { flagName } from './config/settings'
import { type CertificateStatus, statusOfCertificate } from './net/certificate'
import { because } from './net/system-error'
import { MAX_SEGMENTS, pathStart, UNCHECKED } from './http/address'

/** A server that listens on its address. */
export interface Listener {
  /** The address on this machine, `http://127.0.0.1:7080`. */
  readonly url: string
  /** The state of its certificate; null without TLS. */
  certificate(): CertificateStatus | null
  /** Resolves when all requests in flight but `late()` are answered. It still listens. */
  drain(late: () => number): Promise<void>
  /** Closes everything at once. */
  stop(): Promise<void>
  /** Looks at once for a new certificate; resolves when it is in use. Without TLS it does nothing. */
  reload(): Promise<void>
  /**
   * Answers all forms of paths from now on, to be called when the server has started. Until then paths of
   * more than five segments and those with repeated slashes are refused as `BUSY`.
   */
  complete(): void
}

type HttpServer = Bun.Server<SocketOwner>

/** Answers requests. */
export interface Application {
  /**
   * `segments` are those of the path as they were sent, decoded; absent for unusual paths, and `UNCHECKED`
   * for those that are to be refused. The response to a request that became a WebSocket is not sent.
   */
  fetch(
    request: Request,
    server: HttpServer,
    segments?: Readonly<Record<string, string>>,
  ): Response | Promise<Response>
}

type ListenConfig = Pick<Config, 'host' | 'port' | 'tlsCert' | 'tlsKey'>

const IDLE_SECONDS = 30
/** A socket is closed when its client has not answered a ping for this time. */
const SOCKET_IDLE_SECONDS = 120
/**
 * The longest frame that a client may send, in bytes: a longer one closes the socket. Published clients send
 * a long text of Yjs as one frame, and come back at once with the same frame when the socket is closed.
 */
const MAX_FRAME_BYTES = FIXED_LIMITS.frameMebibytes.most * 1024 * 1024
/** How Bun says so. No client can close with this code. */
const TOO_LARGE = { code: 1006, reason: 'Received too big message' }
/** How many bytes may wait for a slow reader; a message has about one million characters. */
const MAX_WAITING_BYTES = 8 * 1024 * 1024

/**
 * Listens as `config` says. Throws `CONFLICT` for a port in use, `NOT_AUTHORIZED` for one this user
 * may not take, and `UsageError` for an address or a certificate that cannot be used.
 */
export async function listen(config: ListenConfig, application: Application): Promise<Listener> {
  const { tlsCert, tlsKey } = config
  if (tlsCert === null || tlsKey === null) return listenPlain(config, application)
  return await listenTls(config, application, { cert: tlsCert, key: tlsKey })
}

function listenPlain(config: ListenConfig, application: Application): Listener {
  const first = serve(config, application, { isStarting: true })
  const port = first.port ?? config.port
  const sockets = createListeningSockets(first, application, () =>
    serve({ ...config, port }, application),
  )
  return {
    url: `http://${reachable(config.host)}:${port}`,
    certificate: () => null,
    drain: (late) => sockets.drain(late),
    stop: () => sockets.stop(),
    async reload() {},
    complete: () => sockets.complete(),
  }
}

/** The socket that listens, and former ones whose connections have not ended. */
interface ListeningSockets {
  /**
   * The successor accepts connections from now on. Requests and WebSockets of the former socket go on to their
   * end; its idle connections are closed at once, and clients open others.
   */
  replace(successor: HttpServer): void
  /** Registers all paths for the first socket (`Listener.complete`). */
  complete(): void
  drain(late: () => number): Promise<void>
  stop(): Promise<void>
}

/** While no file descriptors are left, nothing listens: accepting would fail in a busy loop. */
function createListeningSockets(
  first: HttpServer,
  application: Application,
  open: () => HttpServer,
): ListeningSockets {
  let current: HttpServer | undefined = first
  /** Does not have all paths yet. */
  let incomplete: HttpServer | undefined = first
  const retired = new Set<HttpServer>()
  let descriptors: Disposable | undefined

  function retire(former: HttpServer): void {
    retired.add(former)
    void former.stop().then(() => retired.delete(former))
  }

  function pause(limit: number | undefined): void {
    serverLog.error(
      'Too many files and connections are open: new connections are refused until some are closed. Raise the limit of open files (ulimit -n, LimitNOFILE)',
      { limit },
    )
    if (current !== undefined) retire(current)
    current = undefined
  }

  function resume(): void {
    try {
      current ??= open()
      serverLog.info('New connections are accepted again')
    } catch (error) {
      serverLog.error('New connections cannot be accepted', { error })
    }
  }

  return {
    replace(successor) {
      if (current !== undefined) retire(current)
      current = successor
    },
    complete() {
      descriptors = watchDescriptors({ exhausted: pause, available: resume })
      // Servers made later have all paths.
      if (current === incomplete) incomplete?.reload(handlersOf(application))
      incomplete = undefined
    },
    async drain(late) {
      const pending = () => all().reduce((sum, server) => sum + server.pendingRequests, 0)
      while (pending() > late()) await Bun.sleep(LOOK_FOR_REST_EVERY_MS)
    },
    async stop() {
      descriptors?.[Symbol.dispose]()
      await Promise.all(all().map((server) => server.stop(true)))
    },
  }

  function all(): HttpServer[] {
    return current === undefined ? [...retired] : [current, ...retired]
  }
}

const LOOK_FOR_REST_EVERY_MS = 20

interface Pair {
  readonly cert: string
  readonly key: string
}

const LOOK_EVERY_MS = 1000

/**
 * The certificate of a listening socket cannot be replaced: a second socket takes its place on the same port. The
 * first accepts no more connections, and ends those that it has (`replace`). Files are compared by their content once
 * a second, because certificates are renewed behind symbolic links.
 */
async function listenTls(
  config: ListenConfig,
  application: Application,
  paths: Pair,
): Promise<Listener> {
  let pair = await readPair(paths)
  let tried = pair
  const port = findFreePort(config, application)
  const open = (tls: Pair, isStarting = false) =>
    serve({ ...config, port }, application, { tls, reusePort: true, isStarting })
  const sockets = createListeningSockets(open(pair, true), application, () => open(pair))
  let looking = Promise.resolve()
  const reload = () => (looking = looking.then(look))

  async function look(): Promise<void> {
    const found = await readPair(paths).catch(() => tried)
    if (found.cert === tried.cert && found.key === tried.key) return
    tried = found
    try {
      sockets.replace(open(found))
      pair = found
      serverLog.info('The new certificate is in use')
    } catch (error) {
      serverLog.error('The new certificate cannot be used: the old one stays', { error })
    }
  }

  const timer = setInterval(() => void reload(), LOOK_EVERY_MS)
  return {
    url: `https://${reachable(config.host)}:${port}`,
    certificate: () => statusOfCertificate(pair.cert),
    drain: (late) => sockets.drain(late),
    async stop() {
      clearInterval(timer)
      await looking
      await sockets.stop()
    },
    reload,
    complete: () => sockets.complete(),
  }
}

/**
 * Sockets that share a port hide that it is in use, so a socket that does not share tries it first. Throws what
 * `listen` throws for an address.
 */
export function findFreePort(config: ListenConfig, application: Application): number {
  const probe = serve(config, application, { isStarting: true })
  const port = probe.port ?? config.port
  void probe.stop(true)
  return port
}

async function readPair(paths: Pair): Promise<Pair> {
  const [cert, key] = await Promise.all([read('tlsCert', paths.cert), read('tlsKey', paths.key)])
  return { cert, key }
}

async function read(setting: 'tlsCert' | 'tlsKey', path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    throw new UsageError(`${flagName(setting)}: ${path} cannot be read${because(error)}`, {
      cause: error,
    })
  }
}

/**
 * One path for each form that an address may have: parameters are the only trace of it as it was sent. Their
 * names tell whether segments are empty (`Segments`). All of them take longer to register than the rest of
 * the server, so the most frequent ones come first.
 */
function handlersOf(application: Application, isStarting = false) {
  const handle = (request: Bun.BunRequest, server: HttpServer) =>
    application.fetch(request, server, request.params)
  const rest = (request: Request, server: HttpServer) =>
    application.fetch(request, server, isStarting ? uncheckedUnlessRoot(request.url) : undefined)
  const paths = isStarting
    ? pathsWithoutEmpty(MAX_SEGMENTS_AT_START)
    : [...pathsWithoutEmpty(MAX_SEGMENTS), ...pathsWithEmpty()]
  return {
    routes: Object.fromEntries(paths.map((path) => [path, handle])),
    fetch: rest,
  }
}

/** The longest path that is answered before the server has started. */
const MAX_SEGMENTS_AT_START = 5

/** The root has no segments that could be checked. */
function uncheckedUnlessRoot(url: string) {
  const path = url.slice(pathStart(url))
  return path === '/' || path.startsWith('/?') ? undefined : UNCHECKED
}

/** Repeated slashes collapse in paths up to this length; longer ones are refused, as they cannot be checked. */
const MAX_SEGMENTS_WITH_EMPTY = 7

/** The paths of up to this many segments of which at least one is empty, except the root. */
function pathsWithEmpty(): string[] {
  let paths = ['']
  return Array.from({ length: MAX_SEGMENTS_WITH_EMPTY }, (_, at) => {
    paths = paths.flatMap((path) => [`${path}/:e${at}`, `${path}/`])
    return paths
  })
    .flat()
    .filter((path) => path !== '/' && (path.endsWith('/') || path.includes('//')))
}

function pathsWithoutEmpty(most: number): string[] {
  return Array.from({ length: most }, (_, count) =>
    Array.from({ length: count + 1 }, (_name, at) => `/:s${at}`).join(''),
  )
}

interface SocketOptions {
  readonly tls?: Pair
  readonly reusePort?: boolean
  /** True for a socket that `Listener.complete` completes. */
  readonly isStarting?: boolean
}

function serve(
  { host, port }: ListenConfig,
  application: Application,
  { tls, reusePort = false, isStarting = false }: SocketOptions = {},
): HttpServer {
  try {
    return Bun.serve<SocketOwner>({
      ...(tls === undefined ? {} : { tls }),
      // Explicit: outside development Bun would share the port with other processes.
      reusePort,
      hostname: host,
      port,
      idleTimeout: IDLE_SECONDS,
      // Every route has its own limit with an error body; Bun's own response is empty.
      maxRequestBodySize: Number.MAX_SAFE_INTEGER,
      development: false,
      ...handlersOf(application, isStarting),
      error: cannotAnswer,
      websocket: WEBSOCKET,
    })
  } catch (error) {
    throw cannotListen(host, port, error)
  }
}

/** Events go to the owner of the socket. A text is made for one that waits only: few wait in memory. */
const WEBSOCKET: Bun.WebSocketHandler<SocketOwner> = {
  open: (socket) => socket.data.opened(socket),
  message: (socket, message) => socket.data.received(message),
  drain: (socket) => socket.data.drained(),
  close: (socket, code, reason) =>
    socket.data.closed(code === TOO_LARGE.code && reason === TOO_LARGE.reason),
  idleTimeout: SOCKET_IDLE_SECONDS,
  maxPayloadLength: MAX_FRAME_BYTES,
  backpressureLimit: MAX_WAITING_BYTES,
  perMessageDeflate: false,
}

/** Sent when a response cannot be sent, for instance because its file was removed meanwhile. */
function cannotAnswer(error: unknown): Response {
  serverLog.error('A response could not be sent', { error })
  const message = 'Something went wrong here: see the log of the server'
  return Response.json({ code: 'INTERNAL', message }, { status: 500 })
}

function cannotListen(host: string, port: number, cause: unknown): unknown {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : ''
  const where = `port ${port} of ${host}`
  if (code === 'EADDRINUSE') {
    const hint = 'stop the other program or choose another port with --port (0 for any free one)'
    return new SatchelError('CONFLICT', `Port ${port} of ${host} is in use: ${hint}`, { cause })
  }
  if (code === 'EACCES') {
    const hint = 'ports below 1024 need a privilege; choose another port with --port'
    return new SatchelError('NOT_AUTHORIZED', `This user may not listen on ${where}: ${hint}`, {
      cause,
    })
  }
  if (code === 'EADDRNOTAVAIL') {
    return new UsageError(
      `--host: ${host} is not an address of this machine: use one of its own, or 0.0.0.0 for all`,
      { cause },
    )
  }
  if (code.startsWith('ERR_OSSL')) {
    const reason = 'they must be PEM and belong together'
    return new UsageError(`--tls-cert and --tls-key cannot be used: ${reason}`, { cause })
  }
  return cause
}

/** The address at which this machine reaches a server that is bound to `host`. */
function reachable(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1'
  if (host === '::') return '[::1]'
  return host.includes(':') ? `[${host}]` : host
}

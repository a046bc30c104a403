import type { Server } from 'bun'
import { isDatabaseName } from '../domain/value/database-name'
import type { SocketOwner } from '../sync/socket'
import { isIPv4, isIPv6, networkOf, type Networks } from '../net/networks'
import { pathStart, queryOf, readAddress, type Segments } from './address'
import { errorAnswer, publicError } from './answer'
import { READER_DISCONNECTED, SERVER_FAILED } from './body/json-stream'
import type { AnswerReservation } from './body/unsent'
import { type Call, enterCall, segment } from './call'
import type { HttpContext } from './context'
import { corsHeaders, isPreflight, preflightAnswer } from './cors'
import { databaseOf } from './caller'
import { tellRefusedWrite } from './refused-write'

/** The two ways to answer a call. Either may throw. */
export interface Routes {
  /** Answers calls that need no router; undefined: the router answers. */
  direct(call: Call): Promise<Response> | undefined
  /** Answers a request whose `Call` was entered. */
  router(request: Request): Promise<Response>
}

export interface Handler {
  fetch(request: Request, server: Server<SocketOwner>, segments?: Segments): Promise<Response>
}

/**
 * Wraps the routes in the steps of every request, in this order: assign an id, normalise the path,
 * check the origin of a calling page, route, write the access log (style.md §1). With `domain`, the
 * subdomain of a host name is the database.
 */
export function createHandler(http: HttpContext, routes: Routes, domain: string | null): Handler {
  const nextId = requestIds()
  return {
    async fetch(request, server, segments) {
      const call = new RequestCall(nextId(), request, server, http)
      try {
        return log(call, await respond(call, segments))
      } catch (error) {
        const shown = publicError(http, call, error)
        tellRefusedWrite(http, call, error, shown)
        return log(call, errorAnswer(call, shown))
      }
    },
  }

  function respond(call: RequestCall, segments: Segments | undefined): Promise<Response> {
    readAddress(call, segments, domain)
    const admin = call.segments[1] === 'admin' ? http.answerAdmin?.(call) : undefined
    if (admin !== undefined) return admin
    const origin = call.sent.headers.get('origin')
    return origin === null || isProviderForm(call) || isInvitationForm(call, origin)
      ? route(call)
      : respondToPage(call, origin)
  }

  async function respondToPage(call: Call, origin: string): Promise<Response> {
    call.cors = await corsHeaders(origin, () => findDatabase(call), http.origins)
    return isPreflight(call.sent) ? preflightAnswer(call) : await route(call)
  }

  function route(call: Call): Promise<Response> {
    const response = routes.direct(call)
    if (response !== undefined) return response
    const request = requestForRouter(call)
    enterCall(request, call)
    return routes.router(request)
  }

  /** Writes the line of the call, that of a stream when it has ended; the response itself is given back. */
  function log(call: RequestCall, response: Response): Response {
    const status = call.isUpgraded ? SWITCHING_PROTOCOLS : response.status
    const isStream = call.settle() && call.method !== 'HEAD'
    if (call.isUnlogged) return response
    if (isStream || call.isFile) writeAtEnd(call, status, isStream)
    else write(call, status, undefined)
    return response
  }

  function writeAtEnd(call: RequestCall, status: number, isStream: boolean): void {
    const ended = (reason: string | undefined) => write(call, status, reason)
    if (isStream) call.ended = ended
    else call.followFile(ended)
  }

  function write(call: RequestCall, status: number, brokenOff: string | undefined): void {
    http.access({
      requestId: call.id,
      method: call.method,
      path: shortened(call.path),
      status: brokenOff === undefined ? status : statusOf(brokenOff),
      duration: performance.now() - call.started,
      subject: call.subject,
      code: call.code,
      brokenOff,
    })
  }

  /** The database whose list of origins applies; undefined when the path names none. */
  async function findDatabase(call: Call) {
    return isDatabaseName(segment(call, 0)) ? await databaseOf(http, call) : undefined
  }
}

/**
 * A login provider may have the browser post its answer, with the origin of the provider (OAuth 2.0
 * Form Post Response Mode). The browser navigates to the response, so no script can read it.
 */
function isProviderForm({ method, path }: Call): boolean {
  return method === 'POST' && /^\/[^/]+\/oauth\/callback\/[^/]+$/.test(path)
}

/**
 * The page of an invitation has `Referrer-Policy: no-referrer`, so its form is sent with `Origin: null`
 * (Fetch §3.2). The secret in the link authorises it.
 */
function isInvitationForm({ method, path }: Call, origin: string): boolean {
  return origin === 'null' && method === 'POST' && /^\/[^/]+\/invitation$/.test(path)
}

/** A class, since every request makes one: an object with functions of its own takes twice as long. */
class RequestCall implements Call {
  readonly started = performance.now()
  readonly method: string
  path = ''
  segments: readonly string[] = []
  cors: Call['cors'] = undefined
  subject: string | null = null
  code: Call['code'] = undefined
  isUnlogged = false
  quota: Call['quota'] = undefined
  refuse: Call['refuse'] = undefined
  isUpgraded = false
  isFile = false
  /** Called when a streamed answer has ended. */
  ended: ((brokenOff: string | undefined) => void) | undefined = undefined
  readonly #server: Server<SocketOwner>
  readonly #http: HttpContext
  #address: string | undefined = undefined
  #reservation: AnswerReservation | undefined = undefined

  constructor(
    readonly id: string,
    readonly sent: Request,
    server: Server<SocketOwner>,
    http: HttpContext,
  ) {
    this.method = sent.method
    this.#server = server
    this.#http = http
  }

  /** Looked up on demand: it is expensive and few requests need it. */
  get address(): string {
    return (this.#address ??= findAddress(
      this.#http,
      this.#server.requestIP(this.sent)?.address,
      this.sent.headers,
    ))
  }

  get peer(): string {
    return plainAddress(this.#server.requestIP(this.sent)?.address ?? '')
  }

  get caller(): string {
    const { subject } = this
    return subject === null ? networkOf(this.address) : `${segment(this, 0)} ${subject}`
  }

  get query(): string {
    return queryOf(this.sent.url)
  }

  upgrade(owner: SocketOwner): boolean {
    this.isUpgraded = this.#server.upgrade(this.sent, { data: owner })
    return this.isUpgraded
  }

  setIdleTimeout(seconds: number): void {
    this.#server.timeout(this.sent, seconds)
  }

  get reservation(): AnswerReservation {
    return (this.#reservation ??= this.#http.unsent.open({
      caller: () => this.caller,
      pending: () => this.#server.pendingRequests,
      ended: (reason) => this.ended?.(reason),
    }))
  }

  /**
   * Calls `ended` when the answer was sent, or its reader has disconnected. Bun says nothing about the end
   * of a file that it sends, but forgets the address of the reader then.
   */
  followFile(ended: (brokenOff: string | undefined) => void): void {
    let pause = 1
    let isForgotten = false
    let timer = setTimeout(look, pause)
    const { signal } = this.sent
    const find = () => this.#server.requestIP(this.sent)

    function look(): void {
      if (signal.aborted) return
      if (isForgotten) {
        signal.removeEventListener('abort', abort)
        return ended(undefined)
      }
      // The event of a reader who has disconnected may come a little later.
      isForgotten = find() === null
      pause = isForgotten ? FIRST_PAUSE_MS : Math.min(MAX_PAUSE_MS, pause * 2)
      timer = setTimeout(look, pause)
    }

    function abort(): void {
      clearTimeout(timer)
      ended(READER_DISCONNECTED)
    }

    signal.addEventListener('abort', abort, { once: true })
  }

  /** Releases the memory of the answer unless a stream has it; returns true when one has. */
  settle(): boolean {
    return this.#reservation?.settle() ?? false
  }
}

const SWITCHING_PROTOCOLS = 101
/** The longest pause between two looks at whether a file was sent, ms. */
const MAX_PAUSE_MS = 200
const FIRST_PAUSE_MS = 20

/** As nginx logs a reader who left. The status that was sent says nothing about the rest. */
const READER_LEFT = 499

function statusOf(brokenOff: string): number {
  return brokenOff === SERVER_FAILED ? 500 : READER_LEFT
}

/** The longest path in the access log, in characters: paths come from anonymous callers too. */
const MAX_LOGGED_CHARACTERS = 1_000

function shortened(path: string): string {
  return path.length <= MAX_LOGGED_CHARACTERS ? path : `${path.slice(0, MAX_LOGGED_CHARACTERS)}…`
}

/** Ids that are unique across processes and increase within one. */
function requestIds(): () => string {
  const process = Buffer.from(crypto.getRandomValues(new Uint8Array(6))).toString('base64url')
  let count = 0
  return () => `${process}-${(count++).toString(36)}`
}

/** The request as the router expects it: with the path of the call, and never HEAD. */
function requestForRouter({ sent, path }: Call): Request {
  const { url, method, headers } = sent
  const begin = pathStart(url)
  const rest = url.slice(begin)
  const isAsItCame =
    rest.startsWith(path) && (rest.length === path.length || rest[path.length] === '?')
  const isHead = method === 'HEAD'
  if (isAsItCame && begin >= MIN_PATH_START && !isHead) return sent
  const mark = url.indexOf('?', begin)
  const target = `http://localhost${path}${mark === -1 ? '' : url.slice(mark)}`
  // Bun drops the body of the answer to HEAD; Elysia's HEAD routes would read all of it for its length.
  return new Request(target, { method: isHead ? 'GET' : method, headers })
}

/** Elysia searches for the path from the eleventh character on. */
const MIN_PATH_START = 11

function noteProxy(http: HttpContext, peer: string, isForwarded: boolean): void {
  if (http.proxies?.contains(peer) !== true) {
    if (isForwarded) http.unknownProxy(peer)
  } else if (isForwarded) http.signs.forwarded += 1
  else http.signs.silentProxy = peer
}

function findAddress(http: HttpContext, peer: string | undefined, headers: Headers): string {
  if (peer !== undefined) noteProxy(http, plainAddress(peer), headers.has('x-forwarded-for'))
  return clientAddress(peer, headers, http.proxies)
}

/**
 * The IP address of the client in one canonical form: the peer of the socket or, when that is a trusted
 * proxy, the last address in `X-Forwarded-For` that is not one (design.md §2). Entries before it are
 * ignored, because an untrusted client can forge them. Empty when the socket is closed.
 */
export function clientAddress(
  peer: string | undefined,
  headers: Headers,
  proxies: Networks | null,
): string {
  let address = plainAddress(peer ?? '')
  if (proxies === null || address === '') return address
  const forwarded = headers.get('x-forwarded-for')?.split(',') ?? []
  while (proxies.contains(address)) {
    const before = plainAddress(forwarded.pop() ?? '')
    if (!isIPv4(before) && !isIPv6(before)) break
    address = before
  }
  return address
}

/** Without port and brackets; IPv4-mapped IPv6 addresses become IPv4. */
function plainAddress(text: string): string {
  const [, bracketed] = /^\[([^\]]*)\](?::\d+)?$/.exec(text.trim()) ?? []
  const bare = bracketed ?? text.trim().replace(/^([\d.]+):\d+$/, '$1')
  const [, mapped] = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(bare) ?? []
  return (mapped ?? bare).toLowerCase()
}

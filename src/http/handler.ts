import type { Server } from 'bun'
import { isDatabaseName } from '../domain/database/name'
import { SatchelError } from '../domain/value/error'
import { segment, type Call, enterCall } from './call'
import { dress, errorAnswer, publicError } from './answer'
import { corsHeaders, isPreflight, preflightAnswer } from './cors'
import type { HttpContext } from './context'
import { isIPv4, isIPv6, type Networks } from '../net/networks'

/** Answers one request; the routers are behind `handle`. */
export type Handle = (request: Request) => Response | Promise<Response>

export interface Handler {
  fetch(request: Request, server: Server<undefined>): Promise<Response>
}

/**
 * Everything that happens to every request, in order: it gets an id, its address is brought into
 * one form, a page that calls is checked against the origins, the router answers, the access log
 * gets its line (style.md §1).
 */
export function createHandler(http: HttpContext, handle: Handle, domain: string | null): Handler {
  const nextId = requestIds()
  return {
    async fetch(request, server) {
      const started = performance.now()
      const call = newCall(nextId(), request, started, {
        findAddress: () =>
          clientAddress(server.requestIP(request)?.address, request.headers, http.proxies),
        setPatience: (seconds) => server.timeout(request, seconds),
      })
      let response: Response
      try {
        response = await respond(request, call)
      } catch (error) {
        response = errorAnswer(call, publicError(http, call, error))
      }
      http.access({
        requestId: call.id,
        method: request.method,
        path: call.path,
        status: response.status,
        duration: performance.now() - started,
        subject: call.subject,
        ...(call.code === undefined ? {} : { code: call.code }),
      })
      return response
    },
  }

  async function respond(request: Request, call: Call): Promise<Response> {
    const routed = route(request, call, domain)
    enterCall(routed, call)
    const origin = request.headers.get('origin')
    if (origin !== null && !isFormOfProvider(call) && !isFormOfOurs(call, origin)) {
      call.cors = await corsHeaders(origin, () => findHost(call), http.origins)
      if (isPreflight(request)) return preflightAnswer(call)
    }
    return dress(call, await handle(routed))
  }

  /** The database whose list of origins counts; undefined for an address that names none. */
  async function findHost(call: Call) {
    const name = segment(call, 0)
    if (!isDatabaseName(name)) return undefined
    return http.hosts.findOpen(name) ?? (await http.hosts.open(name))
  }
}

/**
 * A login provider has the browser post its answer with the provider's own origin (OAuth 2.0 Form
 * Post Response Mode). It is a page that moves on, and no script reads the answer.
 */
function isFormOfProvider({ method, path }: Call): boolean {
  return method === 'POST' && /^\/[^/]+\/oauth\/callback\/[^/]+$/.test(path)
}

/**
 * A page that tells nobody where it was found sends its form without an origin (Fetch §3.2). The secret
 * in the address is what counts there.
 */
function isFormOfOurs({ method, path }: Call, origin: string): boolean {
  return origin === 'null' && method === 'POST' && /^\/[^/]+\/invitation$/.test(path)
}

interface Connection {
  readonly findAddress: () => string
  readonly setPatience: Call['setPatience']
}

function newCall(
  id: string,
  sent: Request,
  started: number,
  { findAddress, setPatience }: Connection,
): Call {
  let address: string | undefined
  return {
    id,
    sent,
    method: sent.method,
    path: '',
    query: '',
    // Few requests need it, and finding it costs all.
    get address() {
      return (address ??= findAddress())
    },
    started,
    setPatience,
    cors: undefined,
    subject: null,
    code: undefined,
    quota: undefined,
    isDressed: false,
  }
}

/** Ids that differ between processes and requests, and sort by time within a process. */
function requestIds(): () => string {
  const process = Buffer.from(crypto.getRandomValues(new Uint8Array(6))).toString('base64url')
  let count = 0
  return () => `${process}-${(count++).toString(36)}`
}

/**
 * Brings the address into the one form that the routers know, `/<database>/…`: repeated slashes
 * collapse, and with `--domain` the first label of the host is the database (design.md §2).
 */
function route(request: Request, call: Call, domain: string | null): Request {
  const { url } = request
  requireOneHost(request.headers.get('host'))
  // Without a host, as HTTP/1.0 allows, the address is the path alone.
  const begin = url.startsWith('/') ? 0 : url.indexOf('/', url.indexOf('://') + 3)
  const mark = url.indexOf('?', begin)
  const raw = mark === -1 ? url.slice(begin) : url.slice(begin, mark)
  const label = domain === null || begin === 0 ? undefined : databaseLabel(url, domain)
  const named = label === undefined ? raw : `/${label}${raw}`
  call.path = named.includes('//') ? named.replaceAll(/\/{2,}/g, '/') : named
  call.query = mark === -1 ? '' : url.slice(mark + 1)
  const { method, headers } = request
  const isHead = method === 'HEAD'
  if (call.path === raw && begin >= SHORTEST_HOST && !isHead) return request
  const target = `http://localhost${call.path}${mark === -1 ? '' : url.slice(mark)}`
  // The server leaves the body of a GET away; the router would read it first, to know its length.
  return new Request(target, { method: isHead ? 'GET' : method, headers })
}

/** Elysia looks for the path from the eleventh character on. */
const SHORTEST_HOST = 11

let lastHost: string | null = null
const HOST = /^(?:[\w.-]*|\[[\da-f:.]+\])(?::\d*)?$/i

/** A second one passes as a list, and a path inside one would come before the path of the request. */
function requireOneHost(host: string | null): void {
  // A caller's ten thousand requests name the same one.
  if (host === null || host === lastHost) return
  if (HOST.test(host)) {
    lastHost = host
    return
  }
  throw new SatchelError('INVALID_REQUEST', 'The Host header must name one host')
}

function databaseLabel(url: string, domain: string): string | undefined {
  const { hostname } = new URL(url)
  if (!hostname.endsWith(`.${domain}`)) return undefined
  const label = hostname.slice(0, -domain.length - 1)
  return isDatabaseName(label) ? label : undefined
}

/**
 * The IP address that a request comes from, in one form: that of the socket or, when the socket is a
 * trusted proxy's, the last one in `X-Forwarded-For` that is not (design.md §2). A proxy that is
 * not trusted can write anything into the header, so earlier entries are ignored. Empty when
 * the socket is gone.
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

/** Without a port and brackets, and an IPv4 address as such however the socket or a proxy writes it. */
function plainAddress(text: string): string {
  const [, bracketed] = /^\[([^\]]*)\](?::\d+)?$/.exec(text.trim()) ?? []
  const bare = bracketed ?? text.trim().replace(/^([\d.]+):\d+$/, '$1')
  const [, mapped] = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(bare) ?? []
  return (mapped ?? bare).toLowerCase()
}

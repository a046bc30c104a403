import type { Server } from 'bun'
import { isDatabaseName } from '../domain/database/name'
import { SatchelError } from '../domain/value/error'
import { isIPv4, isIPv6, type Networks } from '../net/networks'
import { errorAnswer, publicError } from './answer'
import { type Call, enterCall, segment } from './call'
import type { HttpContext } from './context'
import { corsHeaders, isPreflight, preflightAnswer } from './cors'
import { hostOf } from './database'

/** Answers a request whose `Call` was entered; it never throws. */
export type Router = (request: Request) => Response | Promise<Response>

export interface Handler {
  fetch(request: Request, server: Server<undefined>): Promise<Response>
}

/**
 * Wraps the router in the steps of every request, in this order: assign an id, normalise the path,
 * check the origin of a calling page, route, write the access log (style.md §1). With `domain`, the
 * subdomain of a host name is the database.
 */
export function createHandler(http: HttpContext, router: Router, domain: string | null): Handler {
  const nextId = requestIds()
  return {
    async fetch(request, server) {
      const started = performance.now()
      const call = newCall(nextId(), request, started, {
        findAddress: () =>
          clientAddress(server.requestIP(request)?.address, request.headers, http.proxies),
        setIdleTimeout: (seconds) => server.timeout(request, seconds),
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
    const normalised = normalise(request, call, domain)
    enterCall(normalised, call)
    const origin = request.headers.get('origin')
    if (origin !== null && !isProviderForm(call) && !isInvitationForm(call, origin)) {
      call.cors = await corsHeaders(origin, () => findHost(call), http.origins)
      if (isPreflight(request)) return preflightAnswer(call)
    }
    return router(normalised)
  }

  /** The database whose list of origins applies; undefined when the path names none. */
  async function findHost(call: Call) {
    return isDatabaseName(segment(call, 0)) ? await hostOf(http, call) : undefined
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

interface Connection {
  readonly findAddress: () => string
  readonly setIdleTimeout: Call['setIdleTimeout']
}

function newCall(
  id: string,
  sent: Request,
  started: number,
  { findAddress, setIdleTimeout }: Connection,
): Call {
  let address: string | undefined
  return {
    id,
    sent,
    method: sent.method,
    path: '',
    query: '',
    // Looked up on demand: it is expensive and few requests need it.
    get address() {
      return (address ??= findAddress())
    },
    started,
    setIdleTimeout,
    cors: undefined,
    subject: null,
    code: undefined,
    quota: undefined,
    refuse: undefined,
  }
}

/** Ids that are unique across processes and increase within one. */
function requestIds(): () => string {
  const process = Buffer.from(crypto.getRandomValues(new Uint8Array(6))).toString('base64url')
  let count = 0
  return () => `${process}-${(count++).toString(36)}`
}

/**
 * Sets the path and the query of the call, and returns the request in the form that the router
 * expects, `/<database>/…`: repeated slashes collapse, and with `--domain` the first label of the host
 * name becomes the database (design.md §2).
 */
function normalise(request: Request, call: Call, domain: string | null): Request {
  const { url } = request
  requireOneHost(request.headers.get('host'))
  // Without a Host header, which HTTP/1.0 allows, the URL is only the path.
  const begin = url.startsWith('/') ? 0 : url.indexOf('/', url.indexOf('://') + 3)
  const mark = url.indexOf('?', begin)
  const raw = mark === -1 ? url.slice(begin) : url.slice(begin, mark)
  const label = domain === null || begin === 0 ? undefined : databaseLabel(url, domain)
  const named = label === undefined ? raw : `/${label}${raw}`
  call.path = named.includes('//') ? named.replaceAll(/\/{2,}/g, '/') : named
  call.query = mark === -1 ? '' : url.slice(mark + 1)
  const { method, headers } = request
  const isHead = method === 'HEAD'
  if (call.path === raw && begin >= MIN_PATH_START && !isHead) return request
  const target = `http://localhost${call.path}${mark === -1 ? '' : url.slice(mark)}`
  // Bun drops the body of the answer to HEAD; Elysia's HEAD routes would read all of it for its length.
  return new Request(target, { method: isHead ? 'GET' : method, headers })
}

/** Elysia searches for the path from the eleventh character on. */
const MIN_PATH_START = 11

let lastHost: string | null = null
const HOST = /^(?:[\w.-]*|\[[\da-f:.]+\])(?::\d*)?$/i

/** A second Host header arrives as a list, and a path in the host would precede the path of the request. */
function requireOneHost(host: string | null): void {
  // Most requests name the same host as the one before.
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

import type { LookupAddress } from 'node:dns'
import type { IncomingMessage } from 'node:http'
import type { LookupFunction } from 'node:net'
import { isIPv4, isIPv6, isLoopback, isPublicAddress, type Networks } from './networks'
import { isWeb } from '../domain/value/web-address'
import { because } from './system-error'

/** The failure of a request to a configured address. The message is for the administrator. */
export class OutboundError extends Error {
  override readonly name = 'OutboundError'

  constructor(
    message: string,
    /** True when the server did not answer: a retry may succeed. */
    readonly isTransient = false,
    cause?: unknown,
  ) {
    super(message, cause === undefined ? undefined : { cause })
  }
}

export interface OutboundRequest {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  /** The time limit for the whole request, ms. */
  readonly timeout?: number
  /** The size limit of the response, bytes (default: 1 MiB). */
  readonly longest?: number
}

/**
 * Sends a request to a configured address: a login provider or a web hook (promise 32). The response
 * is complete. Throws `OutboundError` when the address is private and not allowed, when it is public
 * and not https, for a redirect, for a response that is too large or too late, and for no response.
 */
export type Outbound = (url: string | URL, request?: OutboundRequest) => Promise<Response>

export interface OutboundOptions {
  /** The private networks that may be called. */
  readonly allowed: Networks | null
  /** In test mode and in development this machine may be called: the login provider is there. */
  readonly isLoopbackAllowed?: () => boolean
  /** Finds the addresses of a host name. */
  readonly resolve?: (host: string) => Promise<readonly LookupAddress[]>
}

export function createOutbound({
  allowed,
  isLoopbackAllowed = () => false,
  resolve = resolveName,
}: OutboundOptions): Outbound {
  const isAllowed = (ip: string) =>
    allowed?.contains(ip) === true || (isLoopback(ip) && isLoopbackAllowed())

  return async (address, request = {}) => {
    const url = requireWebAddress(address)
    const stop = new AbortController()
    const late = Promise.withResolvers<never>()
    const { timeout = TIMEOUT_MS } = request
    const timer = setTimeout(() => late.reject(tooLate(url, timeout)), timeout)
    try {
      return await Promise.race([answer(url, request, stop.signal), late.promise])
    } catch (error) {
      throw error instanceof OutboundError ? error : unreachable(url, error)
    } finally {
      clearTimeout(timer)
      stop.abort()
    }
  }

  async function answer(url: URL, request: OutboundRequest, signal: AbortSignal) {
    const addresses = await findAddresses(url)
    for (const { address } of addresses) if (!isAllowed(address)) requirePublic(url, address)
    const incoming = await send(url, request, addresses, signal)
    return await receive(url, incoming, request.longest ?? MAX_ANSWER_BYTES)
  }

  async function findAddresses({ hostname }: URL): Promise<readonly LookupAddress[]> {
    const literal = hostname.replace(/^\[(.*)\]$/, '$1')
    if (isIPv4(literal)) return [{ address: literal, family: 4 }]
    return isIPv6(literal) ? [{ address: literal, family: 6 }] : await resolve(hostname)
  }
}

const TIMEOUT_MS = 10_000
const MAX_ANSWER_BYTES = 1024 * 1024

function requireWebAddress(address: string | URL): URL {
  const url = URL.parse(String(address))
  if (url === null) throw new OutboundError('The address to call is not a valid URL')
  if (!isWeb(url)) {
    throw new OutboundError(`${url.protocol}// is not supported: use https://`)
  }
  if (url.username === '' && url.password === '') return url
  throw new OutboundError(
    `The address of ${url.host} has a user name, which is not supported: remove it`,
  )
}

/** Throws for an IP address at which this host may not be called. */
function requirePublic({ host, protocol }: URL, ip: string): void {
  if (!isPublicAddress(ip)) {
    const where = host.includes(ip) ? '' : ` (${ip})`
    throw new OutboundError(
      `${host}${where} is not a public address: allow it with --allow-private-addresses`,
    )
  }
  if (protocol !== 'https:') throw new OutboundError(`${host} must be called by https`)
}

/**
 * Connects to the addresses that were checked, so that a second look-up of the name cannot change
 * them. `fetch` cannot be given addresses, and would use a proxy from the environment.
 */
async function send(
  url: URL,
  { method = 'GET', headers = {}, body }: OutboundRequest,
  addresses: readonly LookupAddress[],
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const isSecure = url.protocol === 'https:'
  const { request } = await (isSecure ? import('node:https') : import('node:http'))
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  const lookup: LookupFunction = (_host, _options, done) => done(null, [...addresses])
  const outgoing = request(url, { method, headers, signal, lookup })
  outgoing.on('response', resolve)
  outgoing.on('error', reject)
  outgoing.end(body)
  return await promise
}

async function receive(url: URL, incoming: IncomingMessage, longest: number): Promise<Response> {
  const { statusCode: status = 0, rawHeaders } = incoming
  if (status >= 300 && status < 400) {
    throw new OutboundError(`${url.host} redirects (${status}); redirects are not followed`)
  }
  const bytes = await readAtMost(
    longest,
    incoming as AsyncIterable<Buffer>,
    () => new OutboundError(`${url.host} sent too much data`),
  )
  const isEmpty = status === 204 || status === 205
  return new Response(isEmpty ? null : bytes, { status, headers: pairs(rawHeaders) })
}

/** All bytes of an answer. Throws `tooMany` as soon as there are more than `longest`. */
export async function readAtMost(
  longest: number,
  pieces: AsyncIterable<Uint8Array> | null,
  tooMany: () => Error,
): Promise<Buffer<ArrayBuffer>> {
  const read: Uint8Array[] = []
  let length = 0
  for await (const piece of pieces ?? []) {
    length += piece.length
    if (length > longest) throw tooMany()
    read.push(piece)
  }
  return Buffer.concat(read)
}

function pairs(raw: readonly string[]): [string, string][] {
  return raw.flatMap((name, at) => (at % 2 === 0 ? [[name, raw[at + 1] ?? '']] : []))
}

async function resolveName(host: string): Promise<readonly LookupAddress[]> {
  const { lookup } = await import('node:dns/promises')
  return await lookup(host, { all: true })
}

function tooLate({ host }: URL, timeout: number): OutboundError {
  return new OutboundError(`${host} did not answer within ${timeout / 1000} s`, true)
}

function unreachable({ host }: URL, cause: unknown): OutboundError {
  const code = cause instanceof Error && 'code' in cause ? ` (${String(cause.code)})` : ''
  return new OutboundError(`${host} cannot be reached${because(cause) || code}`, true, cause)
}

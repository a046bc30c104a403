import { SatchelError } from '../../domain/value/error'
import { isLoopbackHost } from '../../domain/value/web-address'
import type { Networks } from '../../net/networks'

/** Where the page for administrators answers (admin.md §4). */
export interface AdminRules {
  /** Where this server listens: `http://127.0.0.1:7080`. */
  served(): string
  /** The origin of `--admin-url`, or of a public address without a path; null where there is none. */
  readonly origin: string | null
  /** The addresses that the page answers. */
  readonly networks: Pick<Networks, 'contains'>
  /** The proxies whose headers are trusted, or null. */
  readonly proxies: Networks | null
}

/** The facts of a request that decide. */
export interface Arrival {
  readonly headers: Headers
  /** The IP address at the other end of the connection. */
  readonly peer: string
  /** That of the client: behind a trusted proxy the one that it forwards. */
  readonly address: string
}

/**
 * The origin that the browser sees: exactly that of this server on loopback, without a proxy, or exactly the
 * public one, by https. Throws `MISDIRECTED` for another name, which may lead here by a rebound DNS entry, and
 * `UNKNOWN_ROUTE` for a caller outside of the networks, and for a proxy that is not trusted: its callers would
 * all seem to be on this machine.
 */
export function originOf({ headers, peer, address }: Arrival, rules: AdminRules): string {
  const isForwarded = FORWARDED.some((name) => headers.has(name))
  const isBehindProxy = isForwarded && rules.proxies?.contains(peer) === true
  if (isForwarded && !isBehindProxy) throw nothingHere()
  if (address === '' || !rules.networks.contains(address)) throw nothingHere()
  const host = headers.get('host') ?? ''
  const served = new URL(rules.served())
  if (!isBehindProxy && hostsOnLoopback(served).includes(host)) return `${served.protocol}//${host}`
  const { origin } = rules
  if (origin !== null) {
    const { host: own, hostname, protocol } = new URL(origin)
    const isSafe = isBehindProxy || isLoopbackHost(hostname) || served.protocol === 'https:'
    if (host === own && isSafe && (protocol === 'https:' || isLoopbackHost(hostname))) return origin
  }
  throw new SatchelError(
    'MISDIRECTED',
    'The page for administrators does not answer at this name: see satchel admin',
  )
}

/** Any of them says that a proxy stands between. */
const FORWARDED = [
  'forwarded',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'x-forwarded-port',
  'x-forwarded-server',
  'x-real-ip',
]

/** As browsers send them: without the port where it is the usual one. */
function hostsOnLoopback({ protocol, port }: URL): readonly string[] {
  return ['127.0.0.1', 'localhost', '[::1]'].map(
    (name) => new URL(`${protocol}//${name}${port === '' ? '' : `:${port}`}`).host,
  )
}

export function nothingHere(): SatchelError {
  return new SatchelError('UNKNOWN_ROUTE', 'There is no route at this address: see /openapi')
}

/**
 * Throws `ORIGIN_NOT_ALLOWED` for a request of another page, by what its browser says, which no page can change. A
 * page on another port of this machine has our cookies. A request that changes something must name its origin.
 */
export function requireOwnPage(headers: Headers, origin: string, isChange: boolean): void {
  const given = headers.get('origin')
  const site = headers.get('sec-fetch-site')
  const isOwn = given === null ? !isChange : given === origin
  if (isOwn && (site === null || site === 'same-origin')) return
  throw new SatchelError(
    'ORIGIN_NOT_ALLOWED',
    'Only the page for administrators itself may call this address',
  )
}

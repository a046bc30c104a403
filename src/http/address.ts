import { isDatabaseName } from '../domain/value/database-name'
import { SatchelError } from '../domain/value/error'
import type { Call } from './call'

/**
 * The segments of a path that are not empty, as they were sent, decoded, in their order. Their names
 * are `s0`, `s1` … if the path has no empty ones besides them, otherwise others.
 */
export type Segments = Readonly<Record<string, string>>

/** Of a path that cannot be checked, as the server is starting. */
export const UNCHECKED: Segments = {}

/**
 * Sets the path of the call and its segments, in the form `/<database>/…`: repeated slashes collapse, and
 * with `--domain` the first label of the host name becomes the database (design.md §2). `sent` is absent
 * for unusual paths. Throws `INVALID_REQUEST`, and `BUSY` for `UNCHECKED`.
 */
export function readAddress(call: Call, sent: Segments | undefined, domain: string | null): void {
  const { headers } = call.sent
  requireOneHost(headers.get('host'))
  if (domain === null && sent !== undefined && readPlainPath(call, sent)) return
  const { url } = call.sent
  if (sent === undefined) requireCheckable(url)
  else if (sent !== UNCHECKED) requireSamePath(url, sent)
  const begin = pathStart(url)
  const mark = url.indexOf('?', begin)
  const raw = mark === -1 ? url.slice(begin) : url.slice(begin, mark)
  const label = domain === null || begin === 0 ? undefined : databaseLabel(url, domain)
  const named = label === undefined ? raw : `/${label}${raw}`
  call.path = named.includes('//') ? named.replaceAll(/\/{2,}/g, '/') : named
  call.segments = call.path.split('/', MAX_PARTS)
  if (sent === UNCHECKED) {
    throw new SatchelError('BUSY', 'The server is starting: repeat the request', { retryAfter: 1 })
  }
}

/** The raw query without its question mark. */
export function queryOf(url: string): string {
  const mark = url.indexOf('?', pathStart(url))
  return mark === -1 ? '' : url.slice(mark + 1)
}

/** The part before the first slash, the four segments of the longest route, and one too many. */
const MAX_PARTS = 6

/**
 * Sets a path of two to four segments that have no character that is escaped in URLs or
 * resolved: it is the path that was sent, and the URL, which takes long to make, need not confirm that.
 */
function readPlainPath(call: Call, { s0, s1, s2, s3, s4 }: Segments): boolean {
  if (s0 === undefined || s1 === undefined || s4 !== undefined) return false
  if (s2 === undefined) return setPlainPath(call, PLAIN_2, `/${s0}/${s1}`, ['', s0, s1])
  const ofTable = `/${s0}/${s1}/${s2}`
  return s3 === undefined
    ? setPlainPath(call, PLAIN_3, ofTable, ['', s0, s1, s2])
    : setPlainPath(call, PLAIN_4, `${ofTable}/${s3}`, ['', s0, s1, s2, s3])
}

function setPlainPath(
  call: Call,
  plain: RegExp,
  path: string,
  segments: readonly string[],
): boolean {
  if (!plain.test(path)) return false
  call.path = path
  call.segments = segments
  return true
}

/** A segment begins with no dot, and a decoded slash would be one segment too many. */
const PLAIN_2 = /^(?:\/[\w~-][\w.~@:-]*){2}$/
const PLAIN_3 = /^(?:\/[\w~-][\w.~@:-]*){3}$/
const PLAIN_4 = /^(?:\/[\w~-][\w.~@:-]*){4}$/

/**
 * Throws `INVALID_REQUEST` when `url`, in which `..`, `%2e` and backslashes are resolved, has other
 * segments than the request: a proxy would have checked another path than the one that is served.
 */
function requireSamePath(url: string, segments: Segments): void {
  const resolved = segmentsOf(url)
  const sent = Object.values(segments)
  const isSame =
    sent.length === resolved.length &&
    resolved.every((segment, at) => segment === sent[at] || decodesTo(segment, sent[at]))
  if (!isSame) throw resolvedPath()
}

/** The segments that are not empty: repeated slashes collapse. */
function segmentsOf(url: string): string[] {
  const begin = pathStart(url)
  const mark = url.indexOf('?', begin)
  const path = mark === -1 ? url.slice(begin + 1) : url.slice(begin + 1, mark)
  const segments = path.split('/')
  return segments.includes('') ? segments.filter((segment) => segment !== '') : segments
}

/**
 * Throws `INVALID_REQUEST` for a path that came in an unknown form, unless it is served as it is: the root,
 * and those too long for any route.
 */
function requireCheckable(url: string): void {
  const segments = segmentsOf(url)
  if (segments.length === 0 || segments.length > MAX_SEGMENTS) return
  const path = `/${segments.join('/')}`
  const isClean = url.startsWith(path, pathStart(url))
  throw isClean
    ? resolvedPath()
    : new SatchelError(
        'INVALID_REQUEST',
        'The address repeats slashes too often: use single slashes',
      )
}

/** The longest path whose segments are checked. */
export const MAX_SEGMENTS = 12

function resolvedPath(): SatchelError {
  return new SatchelError(
    'INVALID_REQUEST',
    'The address has a segment "." or ".." or a backslash: percent-encode a backslash as %5C',
  )
}

/** True for a malformed segment too, which its route refuses. */
function decodesTo(segment: string, text: string | undefined): boolean {
  try {
    return decodeURIComponent(segment) === text
  } catch {
    return true
  }
}

/** Without a Host header, which HTTP/1.0 allows, the URL is only the path. */
export function pathStart(url: string): number {
  return url.startsWith('/') ? 0 : url.indexOf('/', url.indexOf('://') + 3)
}

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

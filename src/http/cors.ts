import { isLoopbackOrigin, isOriginAllowed, listOrigins } from '../domain/database/origin'
import { findPublicAddress } from '../domain/database/public-address'
import type { ReadTx } from '../domain/store/store'
import { SatchelError } from '../domain/value/error'
import type { OpenDatabase } from '../host/host'
import type { Page } from '../sync/socket'
import { answer } from './answer'
import type { Call } from './call'

const ALLOWED_METHODS = 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS'
/** Allowed in every preflight, also one that does not ask for them: browsers keep its answer. */
const USUAL_HEADERS = [
  'authorization',
  'content-type',
  'accept',
  'prefer',
  'range',
  'if-none-match',
  'if-range',
  'user-agent',
]
const EXPOSED_HEADERS =
  'Link, Retry-After, X-Request-Id, ETag, Content-Range, Content-Disposition, Ratelimit-Limit, Ratelimit-Remaining, Ratelimit-Reset'

/** Origins that may call besides those listed for a database. */
export interface OriginPolicy {
  /** The origins of this server. */
  readonly own: ReadonlySet<string>
  /** True while loopback origins may call without being listed (design.md §2 Development). */
  isDevelopment(): boolean
}

/** Finds the database of the request, for its list of origins; undefined when the path names none. */
type FindDatabase = () => Promise<OpenDatabase | undefined>

/**
 * The CORS headers for an allowed origin (protocol.md §11, design.md §6). Throws `ORIGIN_NOT_ALLOWED`
 * for an origin that is not listed, and what `findDatabase` throws.
 */
export async function corsHeaders(
  origin: string,
  findDatabase: FindDatabase,
  policy: OriginPolicy,
): Promise<Readonly<Record<string, string>>> {
  if (!(await isAllowed(origin, findDatabase, policy))) {
    throw new SatchelError('ORIGIN_NOT_ALLOWED', NOT_LISTED)
  }
  return {
    'Access-Control-Allow-Origin': origin,
    'Access-Control-Expose-Headers': EXPOSED_HEADERS,
    Vary: 'Authorization, Origin',
    // Any page can have the origin `null`, so it gets no credentials.
    ...(origin === 'null' ? {} : { 'Access-Control-Allow-Credentials': 'true' }),
  }
}

export function isPreflight(request: Request): boolean {
  return request.method === 'OPTIONS' && request.headers.has('access-control-request-method')
}

/** Allows the headers that the page names (design.md §6): old add-ons send `mode: cors` (protocol.md Appendix C.25). */
export function preflightAnswer(call: Call): Response {
  const requested = call.sent.headers.get('access-control-request-headers') ?? ''
  return answer(call, null, {
    status: 204,
    type: null,
    headers: {
      'Access-Control-Allow-Methods': ALLOWED_METHODS,
      'Access-Control-Allow-Headers': allowedHeaders(requested).join(', '),
      'Access-Control-Max-Age': '600',
      Vary: 'Authorization, Origin, Access-Control-Request-Headers',
    },
  })
}

/** In small letters, each once. */
function allowedHeaders(requested: string): string[] {
  const names = requested
    .slice(0, MAX_REQUESTED_CHARACTERS)
    .split(',')
    // A name that is cut off in the middle is not the name of a header of the page.
    .slice(0, requested.length > MAX_REQUESTED_CHARACTERS ? -1 : undefined)
    .map((name) => name.trim().toLowerCase())
    .filter((name) => HEADER_NAME.test(name) && !FORBIDDEN_HEADER.test(name))
  return [...new Set([...USUAL_HEADERS, ...names])]
}

/** The most characters of requested header names that are looked at. */
const MAX_REQUESTED_CHARACTERS = 1024
const HEADER_NAME = /^[\w!#$%&'*+.^`|~-]+$/
/** The names that no page may set (Fetch standard, "forbidden request-header"); `*` would be all names. */
const FORBIDDEN_HEADER =
  /^(?:\*|accept-charset|accept-encoding|access-control-request-.*|connection|content-length|cookie2?|date|dnt|expect|host|keep-alive|origin|referer|set-cookie|te|trailer|transfer-encoding|upgrade|via|proxy-.*|sec-.*)$/

/** The page of a live connection: when its origin is not allowed any more, it hears nothing more (promises.md 15). */
export function pageOf(origin: string | null, policy: OriginPolicy): Page | undefined {
  if (origin === null) return undefined
  const isAllowed = (tx: ReadTx) => isAllowedByServer(origin, policy) || isAllowedIn(tx, origin)
  return { origin, isAllowed, refusal: NOT_LISTED }
}

async function isAllowed(
  origin: string,
  findDatabase: FindDatabase,
  policy: OriginPolicy,
): Promise<boolean> {
  if (isAllowedByServer(origin, policy)) return true
  const opened = await findDatabase()
  return opened !== undefined && (await opened.database.read((tx) => isAllowedIn(tx, origin)))
}

function isAllowedByServer(origin: string, policy: OriginPolicy): boolean {
  return policy.own.has(origin) || (policy.isDevelopment() && isLoopbackOrigin(origin))
}

/** True for a listed origin, and for the pages of this server when the database has an address of its own (design.md §2). */
function isAllowedIn(tx: ReadTx, origin: string): boolean {
  const listed = tx.remember('origins', () => listOrigins(tx))
  if (isOriginAllowed(listed, origin)) return true
  const address = findPublicAddress(tx)
  return address !== undefined && new URL(address).origin === origin
}

const NOT_LISTED =
  'This origin may not call this database: list it with satchel origin add <origin>'

import { JSON_LIMITS, parseJson } from '../../domain/json/scan'
import { SatchelError } from '../../domain/value/error'
import { sameSecret } from '../../domain/value/secret'
import { isRecord } from '../../domain/value/value'
import { isLoopback, isPublicAddress, isIPv4, isIPv6 } from '../../net/networks'
import { describeTestRoutes, type TestRoute } from '../../openapi/testing'
import type { IdpAnswer, IdpRequest } from '../../host/test-mode'
import { answer } from '../answer'
import { bearerToken } from '../caller'
import { type Call, segment } from '../call'
import type { HttpContext } from '../context'

/** The parts of the addresses for tests, which exist only in test mode (promises.md 43). */
export interface TestMode {
  /** The bearer token that their callers present. */
  readonly token: string
  /** True when the token came from a file: other machines of a private network may call. */
  readonly isShared: boolean
  /** Loads the addresses. */
  routes(): Promise<readonly TestRoute[]>
  /** Runs `test.<name>` of the control table; throws what it throws. */
  perform(name: string, input: unknown): Promise<unknown>
  /** Answers the login provider for tests, which browsers call: they have no token. */
  respondIdp(database: string, request: IdpRequest): Promise<IdpAnswer>
}

/** Answers a call of an address for tests; undefined for all other calls. */
export type AnswerTest = (http: HttpContext, call: Call) => Promise<Response> | undefined

/** The second segment of their paths. */
const SEGMENT = '_test'

/** These are no routes of the router, so the normal description of the interface does not have them. */
export function createTestRoutes(mode: TestMode): AnswerTest {
  return (http, call) => (call.segments[2] === SEGMENT ? respond(http, call) : undefined)

  async function respond(http: HttpContext, call: Call): Promise<Response> {
    requireOwnMachine(http, call)
    const [name, id] = [segment(call, 2), segment(call, 3)]
    if (name === 'idp' && IDP_PATHS.has(id)) return await respondIdp(http, call)
    requireToken(call)
    if (call.method === 'GET' && name === 'openapi') {
      return answer(call, JSON.stringify(describeTestRoutes(await mode.routes(), http.version)))
    }
    const { operation, path } = findRoute(await mode.routes(), call, name, id)
    const input = call.method === 'GET' ? queryOf(call) : await bodyOf(http, call)
    // A wait of a minute is longer than the idle timeout.
    call.setIdleTimeout(MAX_IDLE_SECONDS)
    const given = { ...input, ...(path.includes(':id') ? { id } : {}), database: segment(call, 0) }
    return answer(call, JSON.stringify(await mode.perform(operation, given)), {
      headers: { 'Cache-Control': 'no-store' },
    })
  }

  async function respondIdp(http: HttpContext, call: Call): Promise<Response> {
    const { method, query, sent } = call
    const body = method === 'POST' ? await http.bodies.text(sent, MAX_BODY_BYTES) : ''
    const found = await mode.respondIdp(segment(call, 0), {
      path: call.segments.slice(4).join('/'),
      query: new URLSearchParams(query),
      form: new URLSearchParams(body),
      authorization: sent.headers.get('authorization'),
    })
    return answer(call, found.body ?? '', {
      status: found.status,
      type: found.type ?? 'text/plain',
      headers: {
        'Content-Security-Policy': PAGE_POLICY,
        'Cache-Control': 'no-store',
        ...(found.location === undefined ? {} : { Location: found.location }),
      },
    })
  }

  /** Throws `ORIGIN_NOT_ALLOWED`: a page, or a name that leads to this machine, may not call. */
  function requireOwnMachine(http: HttpContext, { sent }: Call): void {
    const origin = sent.headers.get('origin')
    const { hostname } = new URL(sent.url)
    const isOwnName = isLoopback(bare(hostname)) || (mode.isShared && isPrivate(bare(hostname)))
    if (isOwnName && (origin === null || http.origins.own.has(origin))) return
    throw new SatchelError(
      'ORIGIN_NOT_ALLOWED',
      'The addresses for tests are called by programs on this machine, by its loopback address',
    )
  }

  /** Throws `INVALID_TOKEN`. */
  function requireToken({ sent }: Call): void {
    const given = sent.headers.get('authorization')
    if (given !== null && sameSecret(bearerToken(given), mode.token)) return
    throw new SatchelError(
      'INVALID_TOKEN',
      'The addresses for tests need the test token of the ready line: Authorization: Bearer <token>',
    )
  }
}

async function bodyOf(
  http: HttpContext,
  { sent }: Call,
): Promise<Readonly<Record<string, unknown>>> {
  const text = await http.bodies.text(sent, MAX_BODY_BYTES)
  const body = text === '' ? {} : parseJson(text, JSON_LIMITS)
  if (isRecord(body)) return body
  throw new SatchelError('INVALID_REQUEST', 'The body must be a JSON object')
}

/** The addresses of the login provider that need no test token, below `idp/`. */
const IDP_PATHS = new Set(['.well-known', 'authorize', 'token', 'jwks', 'userinfo'])
const PAGE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"

/** Seconds. */
const MAX_IDLE_SECONDS = 120
const MAX_BODY_BYTES = 256 * 1024

function findRoute(routes: readonly TestRoute[], call: Call, name: string, id: string): TestRoute {
  const parts = call.segments.length - 3
  const path = id === '' ? name : `${name}/${id}`
  const pattern = id === '' ? name : `${name}/:id`
  const known =
    parts > 2 ? [] : routes.filter((route) => route.path === path || route.path === pattern)
  const route = known.find(({ method }) => method === call.method)
  if (route !== undefined) return route
  if (known.length === 0) {
    throw new SatchelError(
      'UNKNOWN_ROUTE',
      'There is no address for tests here: see /<database>/_test/openapi',
    )
  }
  const methods = known.map(({ method }) => method).join(' or ')
  throw new SatchelError('METHOD_NOT_ALLOWED', `${call.method} is not allowed here: use ${methods}`)
}

function queryOf({ query }: Call): Readonly<Record<string, unknown>> {
  return Object.fromEntries(new URLSearchParams(query))
}

function bare(hostname: string): string {
  return hostname.replace(/^\[(.*)\]$/, '$1')
}

/** A private address, or the name of a service in a network of containers, which has no dot. */
function isPrivate(hostname: string): boolean {
  if (isIPv4(hostname) || isIPv6(hostname)) return !isPublicAddress(hostname)
  return /^[a-z\d_-]+$/i.test(hostname)
}

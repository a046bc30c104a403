import {
  authenticateClient,
  findClient,
  type ClientCredentials,
} from '../../domain/database/client'
import { SatchelError, quoted } from '../../domain/value/error'
import { grantScopes } from '../../domain/value/scope'
import type { Grant, TokenRequest, GrantParts } from './grant'
import {
  type Parameters,
  requireText,
  requirePublicKey,
  parseTimespan,
  requestedScopes,
} from './parameters'
import type { Client } from '../../domain/store/records'
import type { ReadTx } from '../../domain/store/store'
import { requireUserId } from '../../domain/value/user-id'
import { USER } from '../key/token'
import { foldEmail } from '../../domain/value/email'
import type { PersonClaims } from '../person/person'
import { isRecord } from '../../domain/value/value'

/**
 * A server with a client id and secret requests a token for itself or, with `claims`, for one of its
 * users (spec.md §2.1, protocol.md §2.1, RFC 6749 §4.4).
 */
export function clientCredentials({ database, clock, issuer }: GrantParts): Grant {
  return async (request) => {
    const { parameters, count } = request
    const credentials = requireCredentials(request)
    const { client, claims } = await database.read((tx) => {
      const found = authenticateClient(tx, credentials, clock.now())
      const asked = findClaims(parameters, found)
      if (asked !== null && asked.id !== found.id) requireNoClient(tx, asked.id)
      return { client: found, claims: asked }
    })
    return issuer.issue({
      clientId: client.id,
      scopes: grantScopes(requestedScopes(parameters), client.scopes),
      claims,
      publicKey: optional(parameters, 'public_key', requirePublicKey),
      expiresIn: optional(parameters, 'expires_in', parseTimespan),
      notBefore: optional(parameters, 'not_before', parseTimespan),
      count,
    })
  }
}

/** From the header or from the body, but from one of them (RFC 6749 §2.3). */
function requireCredentials({ parameters, authorization }: TokenRequest): ClientCredentials {
  const basic = readBasic(authorization)
  if (basic === undefined) {
    return {
      clientId: requireText(parameters, 'client_id'),
      clientSecret: requireText(parameters, 'client_secret'),
    }
  }
  const isSecond =
    isPresent(parameters['client_secret']) ||
    (isPresent(parameters['client_id']) && parameters['client_id'] !== basic.clientId)
  if (!isSecond) return basic
  throw new SatchelError(
    'INVALID_REQUEST',
    'The client credentials are in the header and in the body: send them once',
  )
}

function findClaims(parameters: Parameters, client: Client): PersonClaims | null {
  if (!isPresent(parameters['claims'])) return null
  if (!client.scopes.includes('IMPERSONATE')) {
    throw new SatchelError(
      'UNAUTHORIZED_CLIENT',
      '"claims" needs a client with the scope IMPERSONATE: it requests a token for another subject',
    )
  }
  return requireClaims(parameters['claims'])
}

/** Another client is a subject of its own, with a private realm: only its secret gives access to it. */
function requireNoClient(tx: ReadTx, id: string): void {
  if (findClient(tx, id) === undefined) return
  throw invalid('The claim "sub" is the id of a client: name a user')
}

function optional<T>(
  parameters: Parameters,
  name: string,
  read: (value: unknown, name: string) => T,
): T | undefined {
  const value = parameters[name]
  return isPresent(value) ? read(value, name) : undefined
}

function isPresent(value: unknown): boolean {
  return value !== undefined && value !== null
}

/**
 * The client id and secret in an `Authorization: Basic` header, undefined when it has another
 * scheme or there is none (RFC 6749 §2.3.1). Throws `INVALID_CLIENT` when it cannot be read.
 */
export function readBasic(authorization: string | null): ClientCredentials | undefined {
  if (authorization === null || !/^basic /i.test(authorization)) return undefined
  const decoded = Buffer.from(authorization.slice('basic '.length).trim(), 'base64').toString(
    'utf8',
  )
  const colon = decoded.indexOf(':')
  const clientId = unescape(decoded.slice(0, Math.max(colon, 0)))
  const clientSecret = unescape(decoded.slice(colon + 1))
  if (colon > 0 && clientId !== undefined && clientSecret !== undefined) {
    return { clientId, clientSecret }
  }
  throw new SatchelError(
    'INVALID_CLIENT',
    'The Authorization header must hold the base64 of id:secret',
  )
}

/** Id and secret are form-encoded before they are joined. */
function unescape(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return undefined
  }
}

/**
 * The `claims` of a token request: `sub`, and `email` and `name` if they are known. Throws
 * `INVALID_REQUEST`, and `RESERVED_CLAIM` for names that the server sets itself (design.md §4).
 */
export function requireClaims(value: unknown): PersonClaims {
  if (!isRecord(value)) {
    throw invalid('"claims" must be an object with at least "sub"')
  }
  const claims = new Map(Object.entries(value))
  refuseReserved(claims)
  const extra = [...claims].filter(([name]) => !OWN.has(name))
  if (extra.length > MAX_EXTRA_CLAIMS)
    throw invalid(`"claims" has more than ${MAX_EXTRA_CLAIMS} extra claims`)
  if (Buffer.byteLength(JSON.stringify(value)) > MAX_BYTES) {
    throw invalid(`"claims" is larger than ${MAX_BYTES} bytes`)
  }
  if (!claims.has('sub')) throw invalid('"claims" must name its subject: "sub"')
  const email = textOf(claims, 'email')
  return {
    id: requireUserId(claims.get('sub'), 'INVALID_REQUEST'),
    email: email === null ? null : foldEmail(email),
    name: textOf(claims, 'name'),
    extra: Object.fromEntries(extra),
  }
}

const OWN = new Set(['sub', 'email', 'name'])
const MAX_EXTRA_CLAIMS = 32
const MAX_BYTES = 4096

const RESERVED = new Set([
  'iss',
  'aud',
  'exp',
  'iat',
  'nbf',
  'jti',
  'scopes',
  'scope',
  'client_id',
  'license',
  'userType',
  'token_use',
  'cnf',
  USER,
  '__proto__',
])

function refuseReserved(claims: ReadonlyMap<string, unknown>): void {
  for (const name of claims.keys()) {
    if (!RESERVED.has(name)) continue
    throw new SatchelError(
      'RESERVED_CLAIM',
      `The claim ${quoted(name)} is set by the server: leave it out`,
    )
  }
}

/** Null means absent: accounts without an address or a name are common. */
function textOf(claims: ReadonlyMap<string, unknown>, name: string): string | null {
  const value = claims.get(name) ?? null
  if (value === null) return null
  if (typeof value === 'string' && value !== '' && value.isWellFormed()) return value
  throw invalid(`The claim "${name}" must be a non-empty string`)
}

function invalid(message: string): SatchelError {
  return new SatchelError('INVALID_REQUEST', message)
}

import { quoted, SatchelError } from '../../domain/value/error'
import { requireUserId } from '../../domain/value/user-id'
import { USER } from '../key/token'
import type { Person } from '../../domain/user/policy'
import { foldEmail } from '../../domain/value/email'

/** The subject of a token, as the client that requests it states (protocol.md §2.1). */
export interface PersonClaims extends Person {
  /** Claims of the application's own, passed on as they came. */
  readonly extra: Readonly<Record<string, unknown>>
}

/**
 * The `claims` of a token request: `sub`, and `email` and `name` if they are known. Throws
 * `INVALID_REQUEST`, and `RESERVED_CLAIM` for names that the server speaks for (design.md §4).
 */
export function requireClaims(value: unknown): PersonClaims {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw invalid('"claims" must be an object with at least "sub"')
  }
  const claims = new Map(Object.entries(value))
  refuseReserved(claims)
  const extra = [...claims].filter(([name]) => !OWN.has(name))
  if (extra.length > MAX_EXTRA) throw invalid(`"claims" has more than ${MAX_EXTRA} extra claims`)
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

/** The claims as one object again: what the token, the answer and a refresh token carry. */
export function flattenClaims(claims: PersonClaims): Readonly<Record<string, unknown>> {
  return {
    ...claims.extra,
    sub: claims.id,
    ...(claims.email === null ? {} : { email: claims.email }),
    ...(claims.name === null ? {} : { name: claims.name }),
  }
}

const OWN = new Set(['sub', 'email', 'name'])
const MAX_EXTRA = 32
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

/** Null says the same as nothing: accounts without an address or a name are common. */
function textOf(claims: ReadonlyMap<string, unknown>, name: string): string | null {
  const value = claims.get(name) ?? null
  if (value === null) return null
  if (typeof value === 'string' && value !== '' && value.isWellFormed()) return value
  throw invalid(`The claim "${name}" must be a string that is not empty`)
}

function invalid(message: string): SatchelError {
  return new SatchelError('INVALID_REQUEST', message)
}

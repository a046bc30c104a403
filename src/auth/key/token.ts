import { errors, type JWTPayload, jwtVerify } from 'jose'
import { SatchelError } from '../../domain/value/error'
import type { KeyRing, Signer } from './key-ring'

/** What an access token of one database says about itself (design.md §4). */
export interface Audience {
  readonly issuer: string
  readonly audience: string
}

export function audienceOf(databaseId: string): Audience {
  return { issuer: `urn:satchel:${databaseId}`, audience: databaseId }
}

/**
 * A compact JWT, ES256. WebCrypto signs beside the event loop: a single token takes longer than
 * with a synchronous signature, many at once are through sooner.
 */
export async function signToken(signer: Signer, payload: JWTPayload): Promise<string> {
  const header = { alg: ALGORITHM, typ: TYPE, kid: signer.id }
  const signed = `${encode(header)}.${encode(payload)}`
  const signature = await crypto.subtle.sign(ECDSA, signer.privateKey, Buffer.from(signed))
  return `${signed}.${Buffer.from(signature).toString('base64url')}`
}

/**
 * The payload of an access token that one of `keys` signed, for this audience, valid at `now` (ms).
 * Whatever is wrong, the answer is `INVALID_TOKEN` (promises 12 and 13).
 */
export async function verifyToken(
  token: string,
  keys: KeyRing,
  { issuer, audience }: Audience,
  now: number,
): Promise<JWTPayload> {
  if (token.length > MAX_LENGTH) throw invalid('The access token is too long')
  try {
    const { payload } = await jwtVerify(token, (header) => findKey(header, keys), {
      algorithms: [ALGORITHM],
      typ: TYPE,
      issuer,
      audience,
      requiredClaims: ['sub', 'exp', 'iat', 'jti', 'client_id', 'scopes'],
      currentDate: new Date(now),
    })
    return payload
  } catch (error) {
    // A store that cannot be read says nothing about the token.
    throw error instanceof errors.JOSEError ? explain(error) : error
  }
}

/** The claim that tells one life of a user id from the next: its incarnation. */
export const USER = 'incarnation'

const ALGORITHM = 'ES256'
const ECDSA = { name: 'ECDSA', hash: 'SHA-256' }
const TYPE = 'at+jwt'
const MAX_LENGTH = 16_384
/** Ours have these and no others: what could name a key elsewhere (`jku`, `jwk`, `x5u`) is foreign. */
const HEADER_NAMES = new Set(['alg', 'typ', 'kid'])

async function findKey(header: { readonly kid?: string }, keys: KeyRing) {
  const isOurs = Object.keys(header).every((name) => HEADER_NAMES.has(name))
  const key = isOurs && header.kid !== undefined ? await keys.verifier(header.kid) : undefined
  if (key === undefined) throw new errors.JWKSNoMatchingKey()
  return key
}

function explain(error: errors.JOSEError): SatchelError {
  if (error instanceof errors.JWTExpired) return invalid('The access token has expired', error)
  if (error instanceof errors.JWTClaimValidationFailed && error.claim === 'nbf') {
    return invalid('The access token is not valid yet', error)
  }
  return invalid('The access token is not valid', error)
}

function invalid(message: string, cause?: unknown): SatchelError {
  return new SatchelError('INVALID_TOKEN', message, { cause })
}

function encode(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}

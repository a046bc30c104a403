import { createPublicKey, type KeyObject, verify } from 'node:crypto'
import { SatchelError } from '../../domain/value/error'
import type { Parameters } from './parameters'

/** The `public_key` of a token request, if it has one. Throws `INVALID_REQUEST`. */
export function findPublicKey(parameters: Parameters): string | undefined {
  const given = parameters['public_key'] ?? undefined
  return given === undefined ? undefined : requirePublicKey(given)
}

/**
 * The public key of a device in one form of PEM (SPKI): RSA from 2048 bits, or EC P-256
 * (protocol.md §2.1). Throws `INVALID_REQUEST`.
 */
export function requirePublicKey(value: unknown): string {
  if (typeof value === 'string' && value.length <= MAX_LENGTH && value.startsWith(HEADER)) {
    const key = parse(value)
    if (key !== undefined && isStrong(key)) return pemOf(key)
  }
  throw new SatchelError(
    'INVALID_REQUEST',
    '"public_key" must be PEM ("BEGIN PUBLIC KEY") of an RSA key of at least 2048 bits or of an ' +
      'EC key on P-256',
  )
}

/**
 * True when `signature` (base64) is that of the owner of `publicKey` over `text`, by SHA-256 and the
 * algorithm it names, which must be one of that kind of key.
 */
export function isSignedBy(
  publicKey: string,
  algorithm: string,
  text: string,
  signature: string,
): boolean {
  const key = createPublicKey(publicKey)
  if (ALGORITHMS.get(algorithm) !== key.asymmetricKeyType) return false
  const bytes = Buffer.from(signature, 'base64')
  return verify('sha256', Buffer.from(text), { key, dsaEncoding: 'ieee-p1363' }, bytes)
}

const HEADER = '-----BEGIN PUBLIC KEY-----'
const MAX_LENGTH = 8192
/** Checking a signature of a larger key takes so long that it would help a denial of service. */
const MAX_BITS = 8192

/** The names clients use: WebCrypto's, those of JWA, and `RSA256` (protocol.md §14.1). */
const ALGORITHMS = new Map<string, KeyObject['asymmetricKeyType']>([
  ['RSASSA-PKCS1-v1_5', 'rsa'],
  ['RSA256', 'rsa'],
  ['RS256', 'rsa'],
  ['ECDSA', 'ec'],
  ['ES256', 'ec'],
])

function parse(pem: string): KeyObject | undefined {
  try {
    return createPublicKey({ key: pem, format: 'pem', type: 'spki' })
  } catch {
    return undefined
  }
}

function isStrong(key: KeyObject): boolean {
  const { modulusLength = 0, namedCurve } = key.asymmetricKeyDetails ?? {}
  return key.asymmetricKeyType === 'rsa'
    ? modulusLength >= 2048 && modulusLength <= MAX_BITS
    : key.asymmetricKeyType === 'ec' && namedCurve === 'prime256v1'
}

function pemOf(key: KeyObject): string {
  return key.export({ type: 'spki', format: 'pem' }).toString()
}

import { SatchelError, quoted } from '../../domain/value/error'
import { createPublicKey, type KeyObject, verify } from 'node:crypto'
import type { Intent } from '../../domain/user/policy'
import { SECOND, MINUTE, HOUR, DAY } from '../../domain/value/time'

/** The parameters of a token request as they were sent, as JSON or as a form. */
export type Parameters = Readonly<Record<string, unknown>>

/** Throws `INVALID_REQUEST` when the parameter is missing or not a string. */
export function requireText(parameters: Parameters, name: string): string {
  const value = parameters[name]
  if (typeof value === 'string' && value !== '') return value
  throw new SatchelError('INVALID_REQUEST', `"${name}" is missing or not a string`)
}

/** A whole number, which a form can only give as text. Throws `INVALID_REQUEST`. */
export function requireInteger(parameters: Parameters, name: string): number {
  const value = parameters[name]
  const number = typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value
  if (typeof number === 'number' && Number.isSafeInteger(number)) return number
  throw new SatchelError('INVALID_REQUEST', `"${name}" is missing or not a whole number`)
}

/**
 * The requested scopes: `scopes` as an array, or `scope` as OAuth writes it (RFC 6749 §3.3).
 * Undefined when neither is there. Throws `INVALID_REQUEST`.
 */
export function findScopes(parameters: Parameters): readonly string[] | undefined {
  const value = parameters['scopes'] ?? parameters['scope'] ?? undefined
  if (value === undefined) return undefined
  if (typeof value === 'string') return value.split(' ').filter((scope) => scope !== '')
  if (isStrings(value)) return value
  throw new SatchelError('INVALID_REQUEST', '"scopes" must be an array of strings')
}

/** Throws `INVALID_REQUEST` when no scopes are requested; an empty list is a request. */
export function requestedScopes(parameters: Parameters): readonly string[] {
  const scopes = findScopes(parameters)
  if (scopes !== undefined) return scopes
  throw new SatchelError(
    'INVALID_REQUEST',
    '"scopes" is missing: send an array of scopes, which may be empty',
  )
}

/** The purpose of the login, if the request has one (protocol.md §2.1). Throws `INVALID_REQUEST`. */
export function findIntent(parameters: Parameters): Intent | undefined {
  const intent = parameters['intent'] ?? undefined
  if (intent === undefined || intent === 'login' || intent === 'register') return intent
  throw new SatchelError('INVALID_REQUEST', '"intent" must be "login" or "register"')
}

function isStrings(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string')
}

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
  if (typeof value === 'string' && value.length <= MAX_KEY_CHARACTERS && value.startsWith(HEADER)) {
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
 * True when `signature` (base64) over `text` was made with the private half of `publicKey`, by SHA-256
 * and the named algorithm, which must fit the type of the key.
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
const MAX_KEY_CHARACTERS = 8192
/** Checking a signature of a larger key takes so long that it would help a denial of service. */
const MAX_KEY_BITS = 8192

/** The names that clients use: WebCrypto's, those of JWA, and `RSA256` (protocol.md §14.1). */
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
    ? modulusLength >= 2048 && modulusLength <= MAX_KEY_BITS
    : key.asymmetricKeyType === 'ec' && namedCurve === 'prime256v1'
}

function pemOf(key: KeyObject): string {
  return key.export({ type: 'spki', format: 'pem' }).toString()
}

/**
 * A timespan, in ms: text as the `ms` package reads it, `"1h"`, `"30 min"`, `"2 days"`, or a number
 * of seconds, as OAuth's `expires_in` is (protocol.md §2.1, RFC 6749 §5.1). Throws
 * `INVALID_REQUEST` naming `parameter`.
 */
export function parseTimespan(value: unknown, parameter: string): number {
  if (typeof value === 'number' && Number.isFinite(value)) return value * SECOND
  if (typeof value === 'string' && value.length <= MAX_SPAN_CHARACTERS) {
    const [, amount, unit = 'ms'] = SPAN.exec(value) ?? []
    const length = MS_BY_UNIT.get(unit.toLowerCase())
    if (amount !== undefined && length !== undefined) return Number(amount) * length
  }
  throw new SatchelError(
    'INVALID_REQUEST',
    `${quoted(parameter)} must be a timespan such as "90s", "30 min" or "12h"`,
  )
}

const SPAN = /^(-?(?:\d+(?:\.\d+)?|\.\d+)) *([a-z]+)?$/i
const MAX_SPAN_CHARACTERS = 100

const MS_BY_UNIT = new Map(
  [
    { length: 1, names: ['ms', 'msec', 'msecs', 'millisecond', 'milliseconds'] },
    { length: SECOND, names: ['s', 'sec', 'secs', 'second', 'seconds'] },
    { length: MINUTE, names: ['m', 'min', 'mins', 'minute', 'minutes'] },
    { length: HOUR, names: ['h', 'hr', 'hrs', 'hour', 'hours'] },
    { length: DAY, names: ['d', 'day', 'days'] },
    { length: 7 * DAY, names: ['w', 'week', 'weeks'] },
    { length: 365.25 * DAY, names: ['y', 'yr', 'yrs', 'year', 'years'] },
  ].flatMap(({ length, names }) => names.map((name) => [name, length] as const)),
)

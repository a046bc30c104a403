import { randomToken } from '../../domain/value/id'
import type { Letter } from '../../domain/store/mailer'
import { CONNECT_CLIENT } from '../../domain/value/scope'
import { requireClientsOf } from '../../domain/database/client'
import type { ReadTx } from '../../domain/store/store'
import { MAX_PRUNED_ROWS, tooMany } from '../limits'
import type { OtpSent, TokenRequest, Grant, GrantParts } from '../grant/grant'
import {
  type LoginName,
  requireLoginName,
  loginScopes,
  PERSON_SCOPES,
  nameOf,
  requireMaySignUp,
} from '../person/person'
import { describeOrigin } from '../origin-name'
import { findScopes, findIntent, requestedScopes } from '../grant/parameters'
import type { Code } from '../../domain/store/credentials'
import { deriveKey } from '../key/seal'
import { SatchelError } from '../../domain/value/error'
import { HOUR, MINUTE } from '../../domain/value/time'

/** Step 1 under the name that the SDK gives it: the code can be redeemed without its id. */
export function otpEmail(parts: GrantParts): Grant {
  const request = otpRequest(parts)
  return (asked) => request(asked, true)
}

/**
 * Step 1 of a login by e-mail (protocol.md §2.1, §14.1): stores a code and the mail that brings it. It
 * never looks up the owner of the address, so that every address costs the same work and gets the
 * same answer; obstacles are named in the mail when it leaves, and by step 2 (design.md §4
 * Enumeration, promise 22). With `isByAddress` the code can be redeemed without its id. Throws
 * `INVALID_REQUEST`, `INVALID_SCOPE`, `TOO_MANY_REQUESTS`, and `MAIL_NOT_CONFIGURED`.
 */
export function otpRequest(
  parts: GrantParts,
): (request: TokenRequest, isByAddress: boolean) => Promise<OtpSent> {
  const { database, clock, mailer, otpLimits: limits, otpRequests } = parts
  const hash = createOtpHash(parts.secretKey)

  return async ({ parameters, origin = null, address = '' }, isByAddress) => {
    if (mailer === undefined) {
      throw new SatchelError('MAIL_NOT_CONFIGURED', 'Mail is not configured here')
    }
    const name = requireLoginName(parameters['email'])
    const asked = isByAddress
      ? (findScopes(parameters) ?? PERSON_SCOPES)
      : requestedScopes(parameters)
    const scopes = loginScopes(asked)
    const intent = findIntent(parameters)
    otpRequests.spend(address)
    const otpId = randomToken(16)
    const otp = newOtp()
    const now = clock.now()
    const code: Code = {
      id: otpId,
      kind: 'otp',
      hash: hash(otpId, otp),
      subject: name.email,
      scopes,
      state: { as: name.as, intent: intent ?? null, isByAddress },
      attempts: 0,
      created: now,
      expires: now + limits.life,
      used: null,
    }
    await database.write((tx) => {
      const recent = tx.codes.ofSubject(name.email, now - HOUR).filter(isOtp)
      const oldest = recent.at(-1)
      if (oldest !== undefined && recent.length >= limits.perAddress) {
        throw tooMany(oldest.created + HOUR - now)
      }
      const letter = compose(tx, name, code, otp, origin)
      mailer.post(tx, letter)
      tx.codes.put(code)
      tx.prune('codes', now - HOUR, MAX_PRUNED_ROWS)
    })
    return { type: 'otp-sent', otp_id: otpId }
  }

  function compose(
    tx: ReadTx,
    name: LoginName,
    code: Code,
    otp: string,
    origin: string | null,
  ): Letter<'otp'> {
    const page = describeOrigin(tx, origin, database.name)
    const variables = {
      otp,
      otp_id: code.id,
      email: name.email,
      ...page,
      link: page.origin === '' ? '' : linkTo(page.origin, code.id, otp),
      minutes: Math.floor(limits.life / MINUTE),
      notice: '',
    }
    // A mail whose code has expired is useless.
    return { kind: 'otp', to: name.email, variables, expires: code.expires }
  }
}

function isOtp({ kind }: Code): boolean {
  return kind === 'otp'
}

/** With the parameters that `db.cloud.login()` of the clients takes (protocol.md §2.1). */
function linkTo(origin: string, otpId: string, otp: string): string {
  return `${origin}/?${new URLSearchParams({ otpId, otp }).toString()}`
}

/**
 * Adds to the mail with a code the user whom the code logs in, or the reason why it will not. This is looked up
 * when the mail leaves: step 1 never looks up the owner of the address (design.md §4 Enumeration, promise 22). `now`
 * in ms.
 */
export function addNotice(tx: ReadTx, letter: Letter, now: number): Letter {
  if (letter.kind !== 'otp') return letter
  const code = tx.codes.find(letter.variables.otp_id)
  if (code === undefined) return letter
  const name = nameOf(code)
  const notice = findNotice(tx, code, name, now)
  // Anybody can request a code “as” any words: they are repeated only to a person who may be that user.
  const email = notice === '' ? (name.as ?? name.email) : name.email
  return { ...letter, variables: { ...letter.variables, email, notice } }
}

function findNotice(tx: ReadTx, { state, scopes }: Code, name: LoginName, now: number): string {
  try {
    if (scopes.includes(CONNECT_CLIENT)) requireClientsOf(tx, name.email)
    else requireMaySignUp(tx, name, findIntent(state), now)
    return ''
  } catch (error) {
    if (!(error instanceof SatchelError)) throw error
    return `The code will not log you in: ${error.message}.`
  }
}

/**
 * Crockford's 32 digits, none of which is mistaken for another. Eight of them are 40 bits, and the
 * length at which the login dialog of the clients submits a code by itself.
 */
const CROCKFORD_DIGITS = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const CODE_LENGTH = 8

/** The bits that an attacker has to guess. */
export const OTP_BITS = CODE_LENGTH * Math.log2(CROCKFORD_DIGITS.length)

/** A new one-time code from the generator for keys (promise 21). */
export function newOtp(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(CODE_LENGTH))
  // 256 is a multiple of 32: every digit is as likely as every other.
  return Array.from(bytes, (byte) => CROCKFORD_DIGITS[byte % CROCKFORD_DIGITS.length]).join('')
}

/** The canonical form of a code that was typed. */
export function foldOtp(text: string): string {
  return text.toUpperCase().replaceAll(/[\s-]/g, '').replaceAll('O', '0').replaceAll(/[IL]/g, '1')
}

export type OtpHash = (otpId: string, otp: string) => string

/** Hashes codes for storage: reversing a hash takes the secret key and 2⁴⁰ attempts for each code. */
export function createOtpHash(secretKey: Uint8Array): OtpHash {
  const key = deriveKey(secretKey, '', 'one-time codes')
  return (otpId, otp) =>
    new Bun.CryptoHasher('sha256', key).update(`${otpId} ${otp}`).digest('base64url')
}

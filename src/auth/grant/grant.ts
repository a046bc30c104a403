import type { Clock } from '../../clock'
import type { Mailer } from '../../domain/store/mailer'
import type { Code } from '../../domain/store/credentials'
import type { Database } from '../../domain/store/store'
import { type ErrorCode, SatchelError } from '../../domain/value/error'
import type { Cap, OtpLimits, TokenLimits } from '../limits'
import type { Admission } from '../person/admission'
import type { Proofs } from '../otp/proof'
import type { SteadyClock } from '../steady-clock'
import type { CountToken, Issuer, TokenAnswer } from './issuer'
import type { Parameters } from './parameters'

/** A `POST /token`: its body, and its `Authorization` header if it has one. */
export interface TokenRequest {
  readonly parameters: Parameters
  readonly authorization: string | null
  /** The `Origin` header: the page that sends the request. */
  readonly origin?: string | null
  /** The IP address of the caller, for limits; unknown addresses count as one. */
  readonly address?: string
  /** Counts a token before its subject gets it. Throws `TOO_MANY_REQUESTS`. */
  readonly count?: CountToken
}

/** The answer to the first step of a login by e-mail (protocol.md §2.2). */
export interface OtpSent {
  readonly type: 'otp-sent'
  readonly otp_id: string
}

export type GrantAnswer = TokenAnswer | OtpSent

/** Answers the token requests of one `grant_type`. */
export type Grant = (request: TokenRequest) => Promise<GrantAnswer>

/** The parts of the server that grants use. */
export interface GrantParts {
  readonly database: Database
  readonly clock: SteadyClock
  /** The time of the machine, near which clients sign. */
  readonly signatureClock: Clock
  readonly secretKey: Uint8Array
  readonly admission: Admission
  readonly issuer: Issuer
  /** The tokens with which people fetch the keys of their clients. */
  readonly proofs: Proofs
  /** Sends one-time codes; undefined where nobody logs in by e-mail. */
  readonly mailer: Mailer | undefined
  readonly limits: TokenLimits
  readonly otpLimits: OtpLimits
  /** The longest an access token can live, ms. */
  readonly longestLife: number
  /** How many one-time codes a network may ask for. */
  readonly otpRequests: Cap
  /** How often a network may try the one-time codes of an address without naming one. */
  readonly otpTries: Cap
}

/**
 * Runs `work` for a code that was just redeemed. When the decision about its holder fails for a
 * reason that may pass, the code is given back with one try less, so that its holder can try again.
 */
export async function withRedeemed<T>(
  database: Database,
  code: Code,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof SatchelError && UNDECIDED.includes(error.code)) {
      await giveBack(database, code)
    }
    throw error
  }
}

const UNDECIDED: readonly ErrorCode[] = ['WEBHOOK_ERROR', 'TOO_MANY_REQUESTS', 'BUSY']

async function giveBack(database: Database, code: Code): Promise<void> {
  try {
    await database.write((tx) => {
      // A second request with this code has ended the login meanwhile (promise 17).
      if (tx.logins.isRevoked(code.id)) return
      tx.codes.put({ ...code, attempts: code.attempts + 1 })
    })
  } catch {
    // The first error is reported. The code stays redeemed: its holder asks for another.
  }
}

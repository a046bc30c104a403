import type { Mailer } from '../domain/mailer'
import type { Database } from '../domain/store'
import type { Admission } from './admission'
import type { Grant } from './grant'
import type { Issuer } from './issuer'
import { createOtpHash } from './otp-code'
import type { OtpLimits } from './otp-limits'
import { createOtpRedemption } from './otp-redemption'
import { createOtpRequest } from './otp-request'
import type { SteadyClock } from './steady-clock'

/** What the two steps of a login by e-mail work with. */
export interface OtpParts {
  readonly database: Database
  readonly steady: SteadyClock
  readonly secretKey: Uint8Array
  readonly mailer: Mailer
  readonly admission: Admission
  readonly issuer: Issuer
  readonly limits: OtpLimits
}

/** The grants of a login by e-mail, and what the SDK calls its two steps (protocol.md §2.1, §14.1). */
export function otpGrants(parts: OtpParts): readonly (readonly [string, Grant])[] {
  const hash = createOtpHash(parts.secretKey)
  const request = createOtpRequest(parts, hash)
  const redeem = createOtpRedemption(parts, hash)
  return [
    ['otp', (asked) => ('otp' in asked.parameters ? redeem.byId(asked) : request(asked, false))],
    ['otp-email', (asked) => request(asked, true)],
    ['otp-token', (asked) => redeem.byAddress(asked)],
  ]
}

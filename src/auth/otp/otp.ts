import type { Grant } from '../grant/grant'
import { createOtpHash } from './otp-code'
import { createOtpRedemption, type OtpRedemptionParts } from './otp-redemption'
import { createOtpRequest, type OtpRequestParts } from './otp-request'

/** What the two steps of a login by e-mail work with. */
interface OtpParts extends OtpRequestParts, OtpRedemptionParts {
  readonly secretKey: Uint8Array
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

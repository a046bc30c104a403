/** A code that is good once and soon over: an OTP, or an authorization code (protocol.md §2.1). */
export interface Code {
  /** What its holder names it by: an `otp_id`, or base64url of the SHA-256 of an authorization code. */
  readonly id: string
  readonly kind: 'otp' | 'authorization'
  /** The HMAC of an OTP, which is too short for a plain hash; null where the id is the hash. */
  readonly hash: string | null
  /** The address an OTP was sent to, or the user id that an authorization code stands for. */
  readonly subject: string
  /** What the token may be asked for, as it was requested. */
  readonly scopes: readonly string[]
  /** What else its kind needs later, as JSON. */
  readonly state: Readonly<Record<string, unknown>>
  /** How often somebody tried it. */
  readonly attempts: number
  /** ms since the epoch. */
  readonly created: number
  readonly expires: number
  /** When it was redeemed, ms, or null. */
  readonly used: number | null
}

/** True while the code can still be redeemed, by someone who has `tries` in all. */
export function isLive(code: Code, now: number, tries = 1): boolean {
  return code.used === null && code.expires > now && code.attempts < tries
}

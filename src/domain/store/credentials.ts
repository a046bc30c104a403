import type { Scope } from '../value/scope'

/** A code that is good once and soon over: an OTP, or an authorization code (protocol.md §2.1). */
export interface Code {
  /** The name that its holder sends: an `otp_id`, or base64url of the SHA-256 of an authorization code. */
  readonly id: string
  readonly kind: 'otp' | 'authorization'
  /** The HMAC of an OTP, which is too short for a plain hash; null where the id is the hash. */
  readonly hash: string | null
  /** The address an OTP was sent to, or the user id that an authorization code stands for. */
  readonly subject: string
  /** The scopes of the token, as requested. */
  readonly scopes: readonly string[]
  /** More data of its kind, as JSON. */
  readonly state: Readonly<Record<string, unknown>>
  /** The number of attempts. */
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

/** A refresh token, bound to a public key (protocol.md §2.4). Not rotated. */
export interface RefreshToken {
  /** Base64url of the SHA-256 of the token. */
  readonly hash: string
  readonly clientId: string
  /** The subject: a user id, or the client's own id. */
  readonly subject: string
  /** The incarnation of the user; null for the client itself. */
  readonly user: number | null
  /** The claims the tokens it gives carry. */
  readonly claims: Readonly<Record<string, unknown>>
  readonly scopes: readonly Scope[]
  /** PEM, SPKI. */
  readonly publicKey: string
  /** ms since the epoch. */
  readonly created: number
  readonly lastUsed: number
  /** The login with an outside provider that it came of, or null. */
  readonly login: string | null
}

export interface RefreshTokenReader {
  find(hash: string): RefreshToken | undefined
  /** When this `time_stamp` was used with this token, in ms, if it was. */
  findUse(hash: string, timeStamp: number): number | undefined
}

export type TokenHolder =
  | { readonly clientId: string }
  | { readonly user: number }
  | { readonly login: string }

export interface RefreshTokenWriter extends RefreshTokenReader {
  put(token: RefreshToken): void
  recordUse(hash: string, timeStamp: number, now: number): void
  /** Removes all tokens of a client, of an incarnation of a user, or of a login. */
  removeOf(holder: TokenHolder): void
}

export interface CodeReader {
  find(id: string): Code | undefined
  /** The codes of one subject that were made after `since`, ms, the newest first. */
  ofSubject(subject: string, since: number): Code[]
}

export interface CodeWriter extends CodeReader {
  put(code: Code): void
}

export interface LoginReader {
  /** True when the tokens that a login gave have ended before their time. */
  isRevoked(id: string): boolean
}

export interface LoginWriter extends LoginReader {
  /** False when this state was spent before; remembered until it `expires`, ms. */
  spend(state: string, expires: number): boolean
  /** Remembered until it `expires`, ms, when the last token of the login is over. */
  revoke(id: string, expires: number): void
}

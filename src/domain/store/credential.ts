import type { Scope } from '../value/scope'

/** An ES256 key pair that signs access tokens (design.md §4). */
export interface SigningKey {
  /** The `kid`. */
  readonly id: string
  /** `next` is published before it signs, `current` signs, `retired` only verifies. */
  readonly state: 'next' | 'current' | 'retired'
  /** The public key as JWK text. */
  readonly publicKey: string
  /** The private key as JWK text, sealed with the database's secret key. */
  readonly sealedPrivateKey: string
  /** ms since the epoch. */
  readonly created: number
  /** When it stopped signing, ms, or null. */
  readonly retired: number | null
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

import type { Scope } from '../value/scope'

/** Small nouns, found by id and read whole. */
export interface Records<T> {
  find(id: string): T | undefined
  list(): T[]
}

export interface RecordWriter<T> extends Records<T> {
  put(record: T): void
  /** False when there was none. */
  remove(id: string): boolean
}

/** Rows that are forgotten when they are old. */
export type Prunable =
  /** By their end. */
  | 'codes'
  | 'invitations'
  /** Spent states and revoked logins, by their end. */
  | 'logins'
  /** By their latest use. */
  | 'refreshTokens'
  /** The time stamps that were used with refresh tokens, by when that was. */
  | 'refreshUses'
  /**
   * Tombstones, operations with criteria and former rows of `members`, up to the limit of each, and the runs
   * that ended before what is left; runs are not counted.
   */
  | 'history'
  /** By their time. */
  | 'audit'
  /** The lives of users that were deleted, by when that was. */
  | 'erasedUsers'
  /** By when they were last seen, with their transactions. */
  | 'syncClients'

/** How a database is set up, by name: one of the few values that are read whole. */
export interface Setting {
  readonly id: string
  /** Plain JSON. */
  readonly value: Readonly<Record<string, unknown>>
}

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

/** An API client (protocol.md §9.2). Its secret is known only as its SHA-256. */
export interface Client {
  readonly id: string
  /** Base64url of the SHA-256 of the secret; empty until the owner of its address fetches the key. */
  readonly secretHash: string
  readonly scopes: readonly Scope[]
  readonly name: string | null
  /** ms since the epoch. */
  readonly created: number
  /** The moment its key stops working, ms, or null. Set on the old client by a rotation. */
  readonly expires: number | null
  /**
   * Whose it is: this person may log in as others if its scopes permit (protocol.md §2.1), or null.
   */
  readonly email: string | null
}

/** A browser origin that may call the database (protocol.md §11). */
export interface Origin {
  /** As it was listed: `https://app.example.com`, `app://my.app`, `app:Name`, `myapp:`. */
  readonly id: string
  /** ms since the epoch. */
  readonly created: number
}

export const PROVIDER_TYPES = ['google', 'microsoft', 'github', 'apple', 'custom-oauth2'] as const

export type ProviderType = (typeof PROVIDER_TYPES)[number]

/** A login provider (spec.md §2.4). */
export interface Provider {
  /** The name in addresses. */
  readonly id: string
  readonly type: ProviderType
  readonly displayName: string
  readonly iconUrl: string | null
  /** The client id of this database at the provider. */
  readonly clientId: string
  /** The client secret, or Apple's private key in PEM, in the vault; null for a public client. */
  readonly sealedSecret: string | null
  /** The requested scopes, or null for those of its type. */
  readonly scopes: readonly string[] | null
  readonly options: ProviderOptions
  /** ms since the epoch. */
  readonly created: number
}

/** Settings of some types, and the addresses of a provider if they differ from its type's. */
export interface ProviderOptions {
  /** Microsoft: whose accounts may log in, a tenant's id or domain or a word for many. */
  readonly tenant?: string
  /** Apple. */
  readonly teamId?: string
  readonly keyId?: string
  /** Whose discovery document says the rest (OpenID Connect Discovery 1.0). */
  readonly issuer?: string
  readonly authorizationUrl?: string
  readonly tokenUrl?: string
  readonly userInfoUrl?: string
  /** E-mail addresses count as verified although the provider does not say so. */
  readonly trustsEmail?: true
}

/** Long work in short units; unfinished jobs continue at the next start (design.md §3). */
export interface Job {
  readonly id: string
  readonly kind: 'index' | 'drop-index' | 'erase' | 'import' | 'leave' | 'hand-over'
  /** The state of the job, as JSON. */
  readonly state: Readonly<Record<string, unknown>>
  readonly done: number
  /** How much there is to do in the same measure, or null when unknown. */
  readonly total: number | null
  readonly created: number
  /** Why it stopped for good, or null. */
  readonly failure: string | null
}

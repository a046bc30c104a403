import type { Alert } from '../../domain/user/license'
import type { User } from '../../domain/store/users'

/** The answer to a token request (spec.md §2.2, protocol.md §2.2, RFC 6749 §5.1). */
export interface TokenAnswer {
  readonly type: 'tokens'
  readonly claims: Readonly<Record<string, unknown>>
  readonly accessToken: string
  /** ms since the epoch. */
  readonly accessTokenExpiration: number
  readonly refreshToken?: string
  /** Null: it ends when nobody uses it, a moment that moves with every use. */
  readonly refreshTokenExpiration?: null
  readonly userType: User['type'] | 'client'
  /** Of a user who evaluates. */
  readonly evalDaysLeft?: number
  /** ms since the epoch. */
  readonly userValidUntil?: number
  readonly alerts?: readonly Alert[]
  readonly data?: User['data']
  readonly userId: string
  readonly access_token: string
  readonly token_type: 'Bearer'
  /** Seconds. */
  readonly expires_in: number
  readonly scope: string
}

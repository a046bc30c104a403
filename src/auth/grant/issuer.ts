import type { Clock } from '../../clock'
import { requireActive } from '../../domain/access/actor'
import { findDeletion } from '../../domain/database/deletion'
import { SatchelError } from '../../domain/value/error'
import { randomToken } from '../../domain/value/id'
import type { Scope } from '../../domain/value/scope'
import { hashSecret, newSecret } from '../../domain/value/secret'
import type { Database } from '../../domain/store/store'
import {
  alertsFor,
  deletionAlert,
  evalDaysLeft,
  licenseOf,
  type Alert,
} from '../../domain/user/license'
import type { Intent } from '../../domain/user/policy'
import type { Admission } from '../person/admission'
import type { KeyRing } from '../key/key'
import type { TokenLimits } from '../limits'
import type { LoginLog } from '../person/login-log'
import type { SteadyClock } from '../steady-clock'
import { audienceOf, signToken, USER } from '../key/token'
import type { User } from '../../domain/store/users'
import type { RefreshToken } from '../../domain/store/credentials'
import type { PersonClaims } from '../person/person'
import { SECOND, HOUR } from '../../domain/value/time'

/** Counts a token before `subject` gets it. Throws `TOO_MANY_REQUESTS`. */
export type CountToken = (subject: string) => void

/** A token to be issued, after the checks of its grant. */
export interface TokenOrder {
  /** A client's id, or `PUBLIC_CLIENT` when people log in themselves. */
  readonly clientId: string
  /** Null when the client acts for itself. */
  readonly claims: PersonClaims | null
  readonly scopes: readonly Scope[]
  /** The login with an outside provider that the token comes from. */
  readonly login?: string | null
  /** PEM. When given, a refresh token is made that only the owner of the key can use. */
  readonly publicKey?: string | undefined
  /** How long the token is valid, ms; an hour when absent. */
  readonly expiresIn?: number | undefined
  /** After how long it begins to be valid, ms; at once when absent. */
  readonly notBefore?: number | undefined
  /** The purpose of the login: `login` creates no users. */
  readonly intent?: Intent | undefined
  /** The counter of the request; absent for commands, which are not limited. */
  readonly count?: CountToken | undefined
}

export interface Issuer {
  /**
   * Logs the subject in: a person who appears for the first time becomes a user if the policy of
   * the database lets them. Throws `USER_DEACTIVATED`, and as `Admission.admit` and `count`
   * throw, and `INVALID_REQUEST` for a time beyond the limits.
   */
  issue(order: TokenOrder): Promise<TokenAnswer>
  /** A new access token for `refreshToken`. `user` is undefined for a client. */
  renew(
    refreshToken: string,
    record: RefreshToken,
    user: User | undefined,
    scopes: readonly Scope[],
  ): Promise<TokenAnswer>
}

export interface IssuerParts {
  readonly database: Database
  readonly clock: SteadyClock
  /** The time of the machine, which clients have too. */
  readonly machine: Clock
  readonly keys: KeyRing
  readonly logins: LoginLog
  readonly admission: Admission
  readonly limits: TokenLimits
}

export function createIssuer(parts: IssuerParts): Issuer {
  const { database, clock, machine, keys, logins, admission, limits } = parts
  const { issuer, audience } = audienceOf(database.id)

  return {
    async issue(order) {
      requireWithin('expires_in', order.expiresIn, SECOND, limits.maxExpiresIn)
      requireWithin('not_before', order.notBefore, 0, limits.maxNotBefore)
      order.count?.(order.claims?.id ?? order.clientId)
      const user = await login(order)
      const claims = order.claims === null ? { sub: order.clientId } : flattenClaims(order.claims)
      const granted = { ...order, claims, user }
      return answer({ ...granted, refreshToken: await bind(granted) })
    },

    renew(refreshToken, { clientId, claims, login }, user, scopes) {
      return answer({ clientId, claims, user, scopes, refreshToken, login })
    },
  }

  async function login({ clientId, claims, intent }: TokenOrder): Promise<User | undefined> {
    // A client that names itself is not a person.
    if (claims === null || claims.id === clientId) return undefined
    const user = await admission.admit(claims, intent)
    requireActive(user)
    logins.note(user.id, clock.wall.now())
    return user
  }

  /** Makes a refresh token that is useless without the private half of the public key. */
  async function bind({ clientId, claims, user, scopes, publicKey, login = null }: Granted) {
    if (publicKey === undefined) return undefined
    const refreshToken = newSecret()
    const created = clock.wall.now()
    const record: RefreshToken = {
      hash: hashSecret(refreshToken),
      clientId,
      subject: user?.id ?? clientId,
      user: user?.incarnation ?? null,
      claims,
      scopes,
      publicKey,
      created,
      lastUsed: created,
      login,
    }
    await database.write((tx) => {
      // A second use of the authorization code may have revoked the login meanwhile.
      const isOver = login !== null && tx.logins.isRevoked(login)
      if (!isOver) tx.refreshTokens.put(record)
    })
    return refreshToken
  }

  async function answer(granted: Granted): Promise<TokenAnswer> {
    const { clientId, claims, user, scopes, refreshToken, login = null } = granted
    const now = Math.floor(clock.now() / SECOND)
    const begins = now + Math.ceil((granted.notBefore ?? 0) / SECOND)
    const ends = begins + Math.ceil((granted.expiresIn ?? defaultLife(limits)) / SECOND)
    const due = await database.read(findDeletion)
    const alerts = [
      ...(user === undefined ? [] : alertsFor(user, clock.wall.now())),
      ...(due === undefined ? [] : [deletionAlert(due)]),
    ]
    const accessToken = await signToken(await keys.signer(), {
      ...claims,
      iss: issuer,
      aud: audience,
      client_id: clientId,
      scopes,
      iat: now,
      ...(user === undefined ? {} : { [USER]: user.incarnation }),
      ...(login === null ? {} : { sid: login }),
      ...(begins > now ? { nbf: begins } : {}),
      exp: ends,
      jti: randomToken(16),
    })
    return {
      type: 'tokens',
      claims: { ...claims, license: user === undefined ? 'ok' : licenseOf(user, clock.wall.now()) },
      accessToken,
      // By the clock of the machine, which the caller can compare with its own.
      accessTokenExpiration: ends * SECOND - clock.lead - (clock.wall.now() - machine.now()),
      ...(refreshToken === undefined ? {} : { refreshToken, refreshTokenExpiration: null }),
      ...(user === undefined ? { userType: 'client' } : describe(user, clock.wall.now())),
      ...(alerts.length === 0 ? {} : { alerts }),
      userId: user?.id ?? clientId,
      access_token: accessToken,
      token_type: 'Bearer',
      expires_in: ends - now,
      scope: scopes.join(' '),
    }
  }
}

/** The claims as one object, for the token, the answer and the refresh token. */
export function flattenClaims(claims: PersonClaims): Readonly<Record<string, unknown>> {
  return {
    ...claims.extra,
    sub: claims.id,
    ...(claims.email === null ? {} : { email: claims.email }),
    ...(claims.name === null ? {} : { name: claims.name }),
  }
}

interface Granted extends Omit<TokenOrder, 'claims'> {
  readonly claims: Readonly<Record<string, unknown>>
  readonly user: User | undefined
  readonly refreshToken?: string | undefined
}

/** The part of the answer that describes the user at `now`, ms (spec.md §2.2). */
function describe(user: User, now: number): UserPart {
  const { type, validUntil, data } = user
  const days = type === 'eval' ? evalDaysLeft(user, now) : undefined
  return {
    userType: type,
    data,
    ...(days === undefined ? {} : { evalDaysLeft: days }),
    ...(validUntil === null ? {} : { userValidUntil: validUntil }),
  }
}

type UserPart = Pick<TokenAnswer, 'userType' | 'evalDaysLeft' | 'userValidUntil' | 'data'>

function defaultLife(limits: TokenLimits): number {
  return Math.min(HOUR, limits.maxExpiresIn * SECOND)
}

/** `value` and `least` in ms, `most` in seconds. */
function requireWithin(
  parameter: string,
  value: number | undefined,
  least: number,
  most: number,
): void {
  if (value === undefined || (value >= least && value <= most * SECOND)) return
  throw new SatchelError(
    'INVALID_REQUEST',
    `"${parameter}" must be between ${least / SECOND} and ${most} seconds`,
  )
}

/** The answer to a token request (spec.md §2.2, protocol.md §2.2, RFC 6749 §5.1). */
export interface TokenAnswer {
  readonly type: 'tokens'
  readonly claims: Readonly<Record<string, unknown>>
  readonly accessToken: string
  /** ms since the epoch. */
  readonly accessTokenExpiration: number
  readonly refreshToken?: string
  /** Null: it ends after a time without use, which begins anew with every use. */
  readonly refreshTokenExpiration?: null
  readonly userType: User['type'] | 'client'
  /** For a user with an evaluation. */
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

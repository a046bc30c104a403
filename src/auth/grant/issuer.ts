import type { Clock } from '../../clock'
import { requireActive } from '../../domain/access/actor'
import { SatchelError } from '../../domain/value/error'
import { randomToken } from '../../domain/value/id'
import type { Scope } from '../../domain/value/scope'
import { hashSecret, newSecret } from '../../domain/value/secret'
import type { Database } from '../../domain/store/store'
import { alertsFor, evalDaysLeft, licenseOf } from '../../domain/user/license'
import type { Intent } from '../../domain/user/policy'
import type { Admission } from '../person/admission'
import { flattenClaims, type PersonClaims } from './claims'
import type { CountToken } from './grant'
import type { KeyRing } from '../key/key-ring'
import type { TokenLimits } from '../limits'
import type { LoginLog } from '../person/login-log'
import type { SteadyClock } from '../steady-clock'
import { audienceOf, signToken, USER } from '../key/token'
import type { TokenAnswer } from './token-answer'
import type { User } from '../../domain/store/users'
import type { RefreshToken } from '../../domain/store/credentials'

/** A token that someone has a right to, as far as the grant could check. */
export interface TokenOrder {
  /** A client's id, or `PUBLIC_CLIENT` when people log in themselves. */
  readonly clientId: string
  /** Null when the client acts for itself. */
  readonly claims: PersonClaims | null
  readonly scopes: readonly Scope[]
  /** The login with an outside provider that this is the answer to. */
  readonly login?: string | null
  /** PEM. Given, a refresh token is made that only its owner can use. */
  readonly publicKey?: string | undefined
  /** How long the token is valid, ms; an hour when absent. */
  readonly expiresIn?: number | undefined
  /** After how long it begins to be valid, ms; at once when absent. */
  readonly notBefore?: number | undefined
  /** Why the person logs in: `login` makes no new users. */
  readonly intent?: Intent | undefined
  /** That of the request; absent for commands, which are not limited. */
  readonly count?: CountToken | undefined
}

export interface Issuer {
  /**
   * Logs the subject in: a person who appears for the first time becomes a user if the policy of
   * the database lets them. Throws `USER_DEACTIVATED`, what `Admission.admit` and `count`
   * throw, and `INVALID_REQUEST` for a time beyond the limits.
   */
  issue(order: TokenOrder): Promise<TokenAnswer>
  /** A new access token for the holder of `refreshToken`. `user` is undefined for a client. */
  renew(
    refreshToken: string,
    record: RefreshToken,
    user: User | undefined,
    scopes: readonly Scope[],
  ): Promise<TokenAnswer>
}

export interface IssuerParts {
  readonly database: Database
  readonly clock: Clock
  readonly steady: SteadyClock
  readonly keys: KeyRing
  readonly logins: LoginLog
  readonly admission: Admission
  readonly limits: TokenLimits
}

export function createIssuer(parts: IssuerParts): Issuer {
  const { database, clock, steady, keys, logins, admission, limits } = parts
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
    // A client that names itself is no person.
    if (claims === null || claims.id === clientId) return undefined
    const user = await admission.admit(claims, intent)
    requireActive(user)
    logins.note(user.id, clock.now())
    return user
  }

  /** Makes a refresh token that is worth nothing without the private half of the public key. */
  async function bind({ clientId, claims, user, scopes, publicKey, login = null }: Granted) {
    if (publicKey === undefined) return undefined
    const refreshToken = newSecret()
    const created = clock.now()
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
    await database.write(async (tx) => {
      // Its code may have come again in the meantime.
      const isOver = login !== null && (await tx.logins.isRevoked(login))
      if (!isOver) await tx.refreshTokens.put(record)
    })
    return refreshToken
  }

  async function answer(granted: Granted): Promise<TokenAnswer> {
    const { clientId, claims, user, scopes, refreshToken, login = null } = granted
    const now = Math.floor(steady.now() / SECOND)
    const begins = now + Math.ceil((granted.notBefore ?? 0) / SECOND)
    const ends = begins + Math.ceil((granted.expiresIn ?? defaultLife(limits)) / SECOND)
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
      claims: { ...claims, license: user === undefined ? 'ok' : licenseOf(user, clock.now()) },
      accessToken,
      // By the clock that the caller can compare with its own.
      accessTokenExpiration: ends * SECOND - steady.lead,
      ...(refreshToken === undefined ? {} : { refreshToken, refreshTokenExpiration: null }),
      ...(user === undefined ? { userType: 'client' } : describe(user, clock.now())),
      userId: user?.id ?? clientId,
      access_token: accessToken,
      token_type: 'Bearer',
      expires_in: ends - now,
      scope: scopes.join(' '),
    }
  }
}

interface Granted extends Omit<TokenOrder, 'claims'> {
  readonly claims: Readonly<Record<string, unknown>>
  readonly user: User | undefined
  readonly refreshToken?: string | undefined
}

const SECOND = 1000
const HOUR = 60 * 60 * SECOND

/** What the answer tells of the user at `now`, ms (spec.md §2.2). */
function describe(user: User, now: number): UserPart {
  const { type, validUntil, data } = user
  const days = type === 'eval' ? evalDaysLeft(user, now) : undefined
  const alerts = alertsFor(user, now)
  return {
    userType: type,
    data,
    ...(days === undefined ? {} : { evalDaysLeft: days }),
    ...(validUntil === null ? {} : { userValidUntil: validUntil }),
    ...(alerts.length === 0 ? {} : { alerts }),
  }
}

type UserPart = Pick<
  TokenAnswer,
  'userType' | 'evalDaysLeft' | 'userValidUntil' | 'alerts' | 'data'
>

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

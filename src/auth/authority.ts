import { decodeJwt, type JSONWebKeySet, type JWTPayload } from 'jose'
import type { Clock } from '../clock'
import { type Actor, type Bond, requireStanding } from '../domain/access/actor'
import { SatchelError } from '../domain/value/error'
import { isScope } from '../domain/value/scope'
import type { Mailer } from '../domain/store/mailer'
import type { Database } from '../domain/store/store'
import { licenseOf } from '../domain/user/license'
import { type Admission, type AskWebhook, createAdmission } from './person/admission'
import { authorizationCode } from './grant/authorization-code'
import { clientCredentials } from './grant/client-credentials'
import { answerGrant, type GrantAnswer, type Grants, type TokenRequest } from './grant/grant'
import { createIssuer, type TokenOrder } from './grant/issuer'
import { ensureKeys, rotateKeys } from './key/key'
import { demo } from './grant/demo'
import { createKeyRing } from './key/key-ring'
import { DEFAULT_LIMITS, longestReach, type TokenLimits } from './limits'
import { createLoginLog } from './person/login-log'
import { otpGrants } from './otp/otp'
import { OTP_LIMITS, type OtpLimits } from './otp/otp-limits'
import { openLastingClock, type ReportClock } from './lasting-clock'
import { refresh } from './grant/refresh'
import type { SteadyClock } from './steady-clock'
import { audienceOf, USER, verifyToken } from './key/token'
import type { TokenAnswer } from './grant/token-answer'

/** Issues and verifies the tokens of one database (design.md §4). Closing it writes what is pending. */
export interface Authority extends AsyncDisposable {
  /**
   * The actor of an access token, at once when this token was verified before. `beforeCheck`, which
   * may throw, is called before a signature is checked for the first time. Whether client and user
   * still stand is asked where data is served (`requireStanding`). Throws `INVALID_TOKEN`.
   */
  verify(token: string, beforeCheck?: () => void): Actor | Promise<Actor>
  /**
   * The claims of a valid access token, and the licence of its user as it is now, for
   * `GET /token/validate`. Throws as `verify` and `requireStanding`.
   */
  claims(token: string, beforeCheck?: () => void): Promise<Readonly<Record<string, unknown>>>
  /** The public keys that verify this database's tokens (RFC 7517). */
  keys(): Promise<JSONWebKeySet>
  /** Lets the next key sign; tokens of the old one stay valid (promise 16). Returns its `kid`. */
  rotateKeys(): Promise<string>
  /** `POST /token`. Throws what `oauthError` knows how to say. */
  grant(request: TokenRequest): Promise<GrantAnswer>
  /** What tokens and codes begin and end by. */
  readonly steady: SteadyClock
  /** Admits a person with a proven identity; throws as `Admission`. */
  readonly admit: Admission['admit']
  /** Resolves when `lastLogin` of every user is that of now, for those who are about to read it. */
  settleLogins(): Promise<void>
  /** A token without a request for it, for commands. Throws `INVALID_REQUEST`, `USER_DEACTIVATED`. */
  issue(order: TokenOrder): Promise<TokenAnswer>
}

export interface AuthorityOptions extends Partial<TokenLimits> {
  /** Decides about new users where the policy leaves it to a web hook. */
  readonly askWebhook?: AskWebhook
  /** Brings one-time codes; without one nobody logs in by e-mail. */
  readonly mailer?: Mailer
  readonly otp?: Partial<OtpLimits>
  readonly reportClock?: ReportClock
}

/** Makes the signing keys at the first start. Throws `STORAGE_FAILED` when `secretKey` is another's. */
export async function createAuthority(
  database: Database,
  clock: Clock,
  secretKey: Uint8Array,
  options: AuthorityOptions = {},
): Promise<Authority> {
  const limits = { ...DEFAULT_LIMITS, ...options }
  const reach = longestReach(limits)
  await ensureKeys(database, clock, secretKey, reach)
  const keys = createKeyRing(database, clock, secretKey, reach)
  await keys.signer()
  const steady = await openLastingClock(database, clock, reach, options.reportClock)
  const logins = createLoginLog(database)
  const admission = createAdmission(database, clock, options.askWebhook)
  const issuer = createIssuer({ database, clock, steady, keys, logins, admission, limits })
  const { mailer } = options
  const otpLimits = { ...OTP_LIMITS, ...options.otp }
  const otpParts = { database, steady, secretKey, admission, issuer, limits: otpLimits }
  const otp = mailer === undefined ? [] : otpGrants({ ...otpParts, mailer })
  const grants: Grants = new Map([
    ['client_credentials', clientCredentials(database, steady, issuer)],
    ['refresh_token', refresh(database, clock, steady, issuer, limits)],
    ['demo', demo(database, issuer)],
    ...otp,
    ['authorization_code', authorizationCode(database, steady, admission, issuer, reach)],
  ])
  const audience = audienceOf(database.id)
  const verified = new Map<string, Verified>()

  function verify(token: string, beforeCheck?: () => void): Actor | Promise<Actor> {
    const known = verified.get(token)
    const now = steady.now()
    if (known !== undefined && now < known.expires) return actorOf(known, now)
    beforeCheck?.()
    return check(token, now)
  }

  async function check(token: string, now: number): Promise<Actor> {
    verified.delete(token)
    const found = read(await verifyToken(token, keys, audience, now))
    // Made by a clock that was far ahead of ours now: it would outlive every rule.
    if (found.expires > now + reach) {
      throw new SatchelError(
        'INVALID_TOKEN',
        'The access token was issued in the future: log in again',
      )
    }
    if (verified.size >= REMEMBERED) forgetOldest()
    verified.set(token, found)
    return actorOf(found, now)
  }

  function forgetOldest(): void {
    for (const token of verified.keys()) {
      verified.delete(token)
      return
    }
  }

  return {
    verify,

    async claims(token, beforeCheck) {
      const actor = await verify(token, beforeCheck)
      const { user } = await database.read((tx) => requireStanding(tx, actor))
      const license = user === undefined ? 'ok' : licenseOf(user, clock.now())
      const payload: JWTPayload = decodeJwt(token)
      return { ...payload, license }
    },

    keys: () => keys.published(),
    rotateKeys: () => rotateKeys(database, clock, secretKey, reach),
    grant: (request) => answerGrant(grants, request),
    steady,
    admit: (person, intent) => admission.admit(person, intent),
    settleLogins: () => logins.flush(),
    issue: (order) => issuer.issue(order),
    async [Symbol.asyncDispose]() {
      await logins.flush()
      await steady[Symbol.asyncDispose]()
    },
  }
}

/** What a valid signature vouches for. */
interface Verified {
  readonly actor: Actor
  readonly bond: Omit<Bond, 'verified'>
  /** ms since the epoch. */
  readonly expires: number
}

/** How many verified tokens are remembered. */
const REMEMBERED = 10_000

function actorOf({ actor, bond }: Verified, now: number): Actor {
  return { ...actor, bond: { ...bond, verified: now } }
}

function read(payload: JWTPayload): Verified {
  const { sub = '', exp = 0 } = payload
  const scopes = Array.isArray(payload['scopes']) ? payload['scopes'].filter(isScope) : []
  return {
    actor: {
      subject: sub,
      email: textOf(payload['email']),
      name: textOf(payload['name']),
      scopes: new Set(scopes),
    },
    bond: {
      clientId: String(payload['client_id']),
      login: textOf(payload['sid']),
      incarnation: numberOf(payload[USER]),
    },
    expires: exp * 1000,
  }
}

function numberOf(value: unknown): number | null {
  return typeof value === 'number' ? value : null
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null
}

import { decodeJwt, type JSONWebKeySet, type JWTPayload } from 'jose'
import type { Clock } from '../clock'
import { type Actor, requireStanding } from '../domain/access/actor'
import type { Mailer } from '../domain/store/mailer'
import type { Database, Write } from '../domain/store/store'
import { licenseOf } from '../domain/user/license'
import type { Grant } from './grant/grant'
import { createIssuer, type TokenAnswer, type TokenOrder } from './grant/issuer'
import { openGrants } from './grants'
import { openKeyRing, rotateKeys } from './key/key'
import { createVerifier } from './key/token'
import {
  createCap,
  DEFAULT_LIMITS,
  longestReach,
  OTP_LIMITS,
  type OtpLimits,
  type TokenLimits,
} from './limits'
import { type Admission, type AskWebhook, createAdmission } from './person/admission'
import { createLoginLog } from './person/login-log'
import { createProofs, type Proofs } from './otp/proof'
import { CONNECT_CLIENT } from '../domain/value/scope'
import { openSteadyClock, type ReportClock, type SteadyClock } from './steady-clock'

/** Issues and verifies the tokens of one database (design.md §4). Disposing stores what is pending. */
export interface Authority extends AsyncDisposable {
  /**
   * The actor of an access token, at once when this token was verified before. Whether client and user
   * still stand is checked where data is served (`requireStanding`). Throws `INVALID_TOKEN`.
   */
  verify(token: string): Actor | Promise<Actor>
  /**
   * The claims of a valid access token and the current licence of its user, for
   * `GET /token/validate`. Throws as `verify` and `requireStanding`.
   */
  claims(token: string): Promise<Readonly<Record<string, unknown>>>
  /** The public keys that verify this database's tokens (RFC 7517). */
  keys(): Promise<JSONWebKeySet>
  /** Lets the next key sign; tokens of the old one stay valid (promise 16). Returns its `kid`; `write` runs the unit. */
  rotateKeys(write?: Write): Promise<string>
  /** `POST /token`. Throws errors that `oauthError` can put into words. */
  readonly grant: Grant
  /** The tokens of people who fetch the key of a client (protocol.md §9.3 `connect`). */
  readonly proofs: Proofs
  /** The clock by which tokens and codes begin and end. */
  readonly clock: SteadyClock
  /** Admits a person whose identity is proven. Throws as `Admission`. */
  readonly admit: Admission['admit']
  /** Resolves when `lastLogin` of every user is up to date, to be called before it is read. */
  settleLogins(): Promise<void>
  /** Issues a token without a request, for commands. Throws `INVALID_REQUEST`, `USER_DEACTIVATED`. */
  issue(order: TokenOrder): Promise<TokenAnswer>
}

export interface AuthorityOptions extends Partial<TokenLimits> {
  /** Decides about new users where the policy leaves that to a web hook. */
  readonly askWebhook?: AskWebhook
  /** Sends one-time codes; without it nobody logs in by e-mail. */
  readonly mailer?: Mailer
  readonly otp?: Partial<OtpLimits>
  readonly reportClock?: ReportClock
  /** True when the signing keys of a new database are made at their first use. */
  readonly hasLazyKeys?: boolean
  /** The time of the machine, which clients sign, where `machine` is the clock of a test. */
  readonly signatureClock?: Clock
}

/**
 * Makes the signing keys at the first start. Throws `STORAGE_FAILED` when `secretKey` is not the key
 * that sealed them.
 */
export async function createAuthority(
  database: Database,
  machine: Clock,
  secretKey: Uint8Array,
  {
    askWebhook,
    mailer,
    otp,
    reportClock,
    hasLazyKeys = false,
    signatureClock = machine,
    ...given
  }: AuthorityOptions = {},
): Promise<Authority> {
  const limits = { ...DEFAULT_LIMITS, ...given }
  const otpLimits = { ...OTP_LIMITS, ...otp }
  const longestLife = longestReach(limits)
  await using stack = new AsyncDisposableStack()
  const clock = stack.use(await openSteadyClock(database, machine, longestLife, reportClock))
  const keys = await openKeyRing(database, clock, secretKey, longestLife, hasLazyKeys)
  const logins = stack.use(createLoginLog(database, machine))
  const admission = createAdmission(database, machine, askWebhook)
  const issuer = createIssuer({
    database,
    clock,
    machine: signatureClock,
    keys,
    logins,
    admission,
    limits,
  })
  const proofs = createProofs(clock, CONNECT_CLIENT)
  const grant = openGrants({
    proofs,
    database,
    clock,
    signatureClock,
    secretKey,
    admission,
    issuer,
    mailer,
    limits,
    otpLimits,
    longestLife,
    otpRequests: createCap(clock, otpLimits.perNetwork),
    otpTries: createCap(clock, otpLimits.tries, otpLimits.life),
  })
  const verify = createVerifier(keys, database.id, clock, longestLife)
  const owned = stack.move()

  return {
    verify,

    async claims(token) {
      const actor = await verify(token)
      const { user } = await database.read((tx) => requireStanding(tx, actor))
      const license = user === undefined ? 'ok' : licenseOf(user, clock.wall.now())
      const payload: JWTPayload = decodeJwt(token)
      return { ...payload, license }
    },

    keys: () => keys.published(),
    rotateKeys: (write) => rotateKeys(database, clock, secretKey, longestLife, write),
    grant,
    proofs,
    clock,
    admit: (person, intent) => admission.admit(person, intent),
    settleLogins: () => logins.flush(),
    issue: (order) => issuer.issue(order),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

import { SatchelError } from '../../domain/value/error'
import type { Intent } from '../../domain/user/policy'
import { grantScopes, isScope, type Scope } from '../../domain/value/scope'
import { sameSecret } from '../../domain/value/secret'
import type { Database, ReadTx, WriteTx } from '../../domain/store/store'
import type { Admission } from '../person/admission'
import { createCap } from './cap'
import type { CountToken, Grant, TokenRequest } from '../grant/grant'
import type { Issuer } from '../grant/issuer'
import { isSameName, type LoginName, nameOf, requireLoginName } from '../person/login-name'
import { foldOtp, type OtpHash } from './otp-code'
import type { OtpLimits } from './otp-limits'
import { findScopes, requireText } from '../grant/parameters'
import { addressOf, claimsOf, findIntent, requireWelcome } from '../person/person'
import { findPublicKey } from '../grant/public-key'
import { withRedeemed } from '../grant/redeemed-code'
import type { SteadyClock } from '../steady-clock'
import type { TokenAnswer } from '../grant/token-answer'
import { type Code, isLive } from '../../domain/store/credentials'

/** What step 2 works with. */
export interface OtpRedemptionParts {
  readonly database: Database
  readonly steady: SteadyClock
  readonly admission: Admission
  readonly issuer: Issuer
  readonly limits: OtpLimits
}

/** Step 2 of a login by e-mail: the code proves access to the mailbox. */
export interface OtpRedemption {
  /** With the `otp_id` of step 1, and without its address when a link was followed. */
  readonly byId: Grant
  /** With the address alone, for codes that were asked for so. */
  readonly byAddress: Grant
}

/** Finds the codes that are meant, in the unit that decides about them. */
type FindCodes = (tx: ReadTx, now: number) => Promise<readonly Code[]>

/**
 * The code is good once, and every try counts, in one unit: of a hundred at the same time one gets in
 * (promise 21). What the policy says of the person comes afterwards. Throws `INVALID_OTP` while the
 * code may be tried again, `OTP_EXPIRED` when it is over.
 */
export function createOtpRedemption(parts: OtpRedemptionParts, hash: OtpHash): OtpRedemption {
  const { database, steady, limits } = parts
  const cap = createCap(steady, limits.perNetwork)

  async function redeem(request: TokenRequest, find: FindCodes) {
    const { address = '' } = request
    const attempt = readAttempt(request)
    const now = steady.now()
    cap.spend(address)
    const { redeemed, left } = await database.write(async (tx) => {
      const live = (await find(tx, now)).filter((code) => isLive(code, now, limits.tries))
      return await tryCodes(tx, live, attempt, now)
    })
    if (redeemed === undefined) throw refusal(left)
    cap.refund(address)
    return await withRedeemed(database, redeemed.code, () => welcome(parts, redeemed, attempt, now))
  }

  /** The one that fits is used up, else each has been tried once more. */
  async function tryCodes(
    tx: WriteTx,
    codes: readonly Code[],
    { otp, name, scopes }: Attempt,
    now: number,
  ): Promise<Outcome> {
    for (const code of codes) {
      const granted = grantScopes(scopes ?? code.scopes, code.scopes.filter(isScope))
      const isRight = sameSecret(hash(code.id, otp), code.hash ?? '')
      if (!isRight || (name !== undefined && !isSameName(name, nameOf(code)))) continue
      await tx.codes.put({ ...code, used: now })
      return { redeemed: { code, scopes: granted }, left: 0 }
    }
    for (const code of codes) await tx.codes.put({ ...code, attempts: code.attempts + 1 })
    return { redeemed: undefined, left: Math.max(0, ...codes.map(triesLeft)) }
  }

  function triesLeft({ attempts }: Code): number {
    return limits.tries - attempts - 1
  }

  return {
    byId(request) {
      const otpId = requireText(request.parameters, 'otp_id')
      return redeem(request, async (tx) => {
        const code = await tx.codes.find(otpId)
        return code?.kind === 'otp' ? [code] : []
      })
    },

    byAddress(request) {
      const { email } = requireLoginName(request.parameters['email'])
      return redeem(request, async (tx, now) => {
        const codes = await tx.codes.ofSubject(email, now - limits.life)
        return codes.filter(({ kind, state }) => kind === 'otp' && state['isByAddress'] === true)
      })
    },
  }
}

interface Attempt {
  readonly otp: string
  /** Absent when a link was followed. */
  readonly name: LoginName | undefined
  readonly scopes: readonly string[] | undefined
  readonly publicKey: string | undefined
  readonly intent: Intent | undefined
  readonly count: CountToken | undefined
}

interface Redeemed {
  readonly code: Code
  readonly scopes: readonly Scope[]
}

interface Outcome {
  readonly redeemed: Redeemed | undefined
  /** How often one of the codes may be tried yet. */
  readonly left: number
}

/**
 * Whatever is malformed is said before the code is touched. Throws `INVALID_REQUEST`, and
 * `INVALID_OTP` for somebody who has typed nothing: the clients then ask again.
 */
function readAttempt({ parameters, count }: TokenRequest): Attempt {
  const email = parameters['email'] ?? undefined
  if (parameters['otp'] === '') {
    throw new SatchelError('INVALID_OTP', 'Type the code from the mail')
  }
  return {
    otp: foldOtp(requireText(parameters, 'otp')),
    name: email === undefined ? undefined : requireLoginName(email),
    scopes: findScopes(parameters),
    publicKey: findPublicKey(parameters),
    intent: findIntent(parameters),
    count,
  }
}

/** Logs in the owner of the proven address: as themselves, or as the user they may act for. */
async function welcome(
  { database, admission, issuer }: OtpRedemptionParts,
  { code, scopes }: Redeemed,
  attempt: Attempt,
  now: number,
): Promise<TokenAnswer> {
  const name = nameOf(code)
  const intent = attempt.intent ?? findIntent(code.state)
  const clientId = await database.read((tx) => requireWelcome(tx, name, intent, now))
  const id = name.as ?? name.email
  const why = name.as === null ? intent : 'login'
  const user = await admission.admit({ id, email: id, name: null }, why)
  const { publicKey, count } = attempt
  const claims = claimsOf(user, name.as === null ? name.email : addressOf(user))
  const order = { clientId, claims, scopes, publicKey, intent: why, count }
  return await issuer.issue(order)
}

function refusal(left: number): SatchelError {
  if (left === 0) {
    return new SatchelError('OTP_EXPIRED', 'This code is no longer valid: ask for a new one')
  }
  const tries = left === 1 ? 'once more' : `${left} more times`
  return new SatchelError('INVALID_OTP', `This code is not right: you can try ${tries}`)
}

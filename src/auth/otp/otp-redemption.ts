import { SatchelError } from '../../domain/value/error'
import type { Intent } from '../../domain/user/policy'
import { CONNECT_CLIENT, isScope } from '../../domain/value/scope'
import { sameSecret } from '../../domain/value/secret'
import { MINUTE } from '../../domain/value/time'
import type { ReadTx, WriteTx } from '../../domain/store/store'
import { type Grant, type TokenRequest, withRedeemed, type GrantParts } from '../grant/grant'
import type { TokenAnswer, CountToken } from '../grant/issuer'
import {
  isSameName,
  type LoginName,
  nameOf,
  requireLoginName,
  loginScopes,
  addressOf,
  claimsOf,
  requireMaySignUp,
} from '../person/person'
import { findScopes, requireText, findPublicKey, findIntent } from '../grant/parameters'
import { type Code, isLive } from '../../domain/store/credentials'
import { createOtpHash, foldOtp, otpRequest } from './otp-request'
import { requireClientsOf } from '../../domain/database/client'

/** The request and the redemption of a code under one name, as the add-on calls them (protocol.md §2.1). */
export function otp(parts: GrantParts): Grant {
  const request = otpRequest(parts)
  const redeem = createOtpRedemption(parts)
  return async (asked) => {
    const { parameters } = asked
    if (!('otp' in parameters)) return await request(asked, false)
    const otpId = requireText(parameters, 'otp_id')
    return await redeem(asked, null, (tx) => {
      const code = tx.codes.find(otpId)
      return code?.kind === 'otp' ? [code] : []
    })
  }
}

/** Step 2 under the name that the SDK gives it: the code is found by the address (protocol.md §14.1). */
export function otpToken(parts: GrantParts): Grant {
  const redeem = createOtpRedemption(parts)
  return async (asked) => {
    const { email } = requireLoginName(asked.parameters['email'])
    return await redeem(asked, email, (tx, now) => {
      const codes = tx.codes.ofSubject(email, now - parts.otpLimits.life)
      return codes.filter(({ kind, state }) => kind === 'otp' && state['isByAddress'] === true)
    })
  }
}

/** Finds the candidates for redemption, in the unit that decides about them. */
type FindCodes = (tx: ReadTx, now: number) => readonly Code[]

/**
 * Step 2 of a login by e-mail: a person who knows the code owns the mailbox. The code is valid once,
 * and tried and redeemed in one unit: of a hundred simultaneous tries one succeeds (promise 21). A try
 * counts for its code, which only the person who asked for it can name. A try by address, which anybody
 * can make, counts for that address and the network of the caller, and for no code. The policy
 * decides about the person afterwards. Throws `INVALID_OTP` while the code may be tried again,
 * `OTP_EXPIRED` when it may not, and `TOO_MANY_REQUESTS` after too many tries by address.
 */
function createOtpRedemption(parts: GrantParts) {
  const { database, clock, otpLimits: limits, otpTries } = parts
  const hash = createOtpHash(parts.secretKey)

  /** `account` is the address whose codes are tried, or null when the code is named by its id. */
  async function redeem(
    request: TokenRequest,
    account: string | null,
    find: FindCodes,
  ): Promise<TokenAnswer> {
    const { address = '' } = request
    const attempt = readAttempt(request)
    const now = clock.now()
    const left = account === null ? null : otpTries.spend(address, account)
    const findLive = (tx: ReadTx) => find(tx, now).filter((code) => isLive(code, now, limits.tries))
    // Without one there is nothing to write.
    if ((await database.read(findLive)).length === 0) throw expired()
    const { redeemed, codes } = await database.write((tx) => {
      const live = findLive(tx)
      const found = findMatch(live, attempt)
      if (found !== undefined) tx.codes.put({ ...found.code, used: now })
      else if (left === null) countTry(tx, live)
      return { redeemed: found, codes: live }
    })
    if (redeemed === undefined) {
      if (codes.length === 0) throw expired()
      throw left === null ? wrongCode(triesLeft(codes)) : wrongByAddress(left)
    }
    if (account !== null) otpTries.refund(address, account)
    return await withRedeemed(database, redeemed.code, () => welcome(parts, redeemed, attempt, now))
  }

  function findMatch(codes: readonly Code[], { otp, name, scopes }: Attempt): Redeemed | undefined {
    for (const code of codes) {
      const granted = loginScopes(scopes ?? code.scopes, code.scopes)
      const isRight = sameSecret(hash(code.id, otp), code.hash ?? '')
      if (!isRight || (name !== undefined && !isSameName(name, nameOf(code)))) continue
      return { code, scopes: granted }
    }
    return undefined
  }

  function countTry(tx: WriteTx, codes: readonly Code[]): void {
    for (const code of codes) tx.codes.put({ ...code, attempts: code.attempts + 1 })
  }

  /** After the one that was just counted. */
  function triesLeft(codes: readonly Code[]): number {
    return Math.max(0, ...codes.map(({ attempts }) => limits.tries - attempts - 1))
  }

  function wrongByAddress(left: number): SatchelError {
    if (left > 0) return wrongCode(left)
    const minutes = Math.ceil(limits.life / MINUTE)
    return new SatchelError(
      'INVALID_OTP',
      `This code is wrong: you can try again in ${minutes} minutes`,
    )
  }

  return redeem
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
  readonly scopes: readonly string[]
}

/**
 * Malformed requests are refused before the code is looked up. Throws `INVALID_REQUEST`, and
 * `INVALID_OTP` for an empty code: the clients then ask again.
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

/**
 * Logs in the owner of the address: as themselves, or as the user they may act for. To fetch the key of a
 * client they need not be a user.
 */
async function welcome(
  { database, admission, issuer, proofs }: GrantParts,
  { code, scopes }: Redeemed,
  attempt: Attempt,
  now: number,
): Promise<TokenAnswer> {
  const name = nameOf(code)
  if (scopes.includes(CONNECT_CLIENT)) {
    await database.read((tx) => requireClientsOf(tx, name.email))
    return proofs.issue(name.email)
  }
  const intent = attempt.intent ?? findIntent(code.state)
  const clientId = await database.read((tx) => requireMaySignUp(tx, name, intent, now))
  const id = name.as ?? name.email
  const why = name.as === null ? intent : 'login'
  const user = await admission.admit({ id, email: id, name: null }, why)
  const { publicKey, count } = attempt
  const claims = claimsOf(user, name.as === null ? name.email : addressOf(user))
  const order = {
    clientId,
    claims,
    scopes: scopes.filter(isScope),
    publicKey,
    intent: why,
    count,
  }
  return await issuer.issue(order)
}

function wrongCode(left: number): SatchelError {
  if (left === 0) return expired()
  const tries = left === 1 ? 'once more' : `${left} more times`
  return new SatchelError('INVALID_OTP', `This code is wrong: you can try ${tries}`)
}

function expired(): SatchelError {
  return new SatchelError('OTP_EXPIRED', 'This code is no longer valid: ask for a new one')
}

import { randomToken } from '../../domain/value/id'
import type { Letter, Mailer } from '../../domain/store/mailer'
import { grantScopes } from '../../domain/value/scope'
import type { Database, ReadTx } from '../../domain/store/store'
import { createCap, tooMany } from './cap'
import type { OtpSent, TokenRequest } from '../grant/grant'
import { type LoginName, requireLoginName } from '../person/login-name'
import { describeOrigin } from '../origin-name'
import { newOtp, type OtpHash } from './otp-code'
import type { OtpLimits } from './otp-limits'
import { findScopes, requireScopes } from '../grant/parameters'
import { findIntent, PERSON_SCOPES } from '../person/person'
import type { SteadyClock } from '../steady-clock'
import type { Code } from '../../domain/store/credentials'

const MINUTE = 60_000
const HOUR = 60 * MINUTE

/** What step 1 works with. */
export interface OtpRequestParts {
  readonly database: Database
  readonly steady: SteadyClock
  readonly mailer: Mailer
  readonly limits: OtpLimits
}

/**
 * Step 1: stores a code and its mail. Nothing here looks up the owner of the address, so the
 * work and the answer are always the same; an obstacle for the owner is reported by the mail
 * when it leaves, and for step 2 (design.md §4 Enumeration, promise 22). `isByAddress`: the code may
 * be redeemed without its id, as the SDK does.
 */
export function createOtpRequest(
  { database, steady, mailer, limits }: OtpRequestParts,
  hash: OtpHash,
): (request: TokenRequest, isByAddress: boolean) => Promise<OtpSent> {
  const cap = createCap(steady, limits.perNetwork)

  return async ({ parameters, origin = null, address = '' }, isByAddress) => {
    const name = requireLoginName(parameters['email'])
    const asked = isByAddress
      ? (findScopes(parameters) ?? PERSON_SCOPES)
      : requireScopes(parameters)
    const scopes = grantScopes(asked, PERSON_SCOPES)
    const intent = findIntent(parameters)
    cap.spend(address)
    const otpId = randomToken(16)
    const otp = newOtp()
    const now = steady.now()
    const code: Code = {
      id: otpId,
      kind: 'otp',
      hash: hash(otpId, otp),
      subject: name.email,
      scopes,
      state: { as: name.as, intent: intent ?? null, isByAddress },
      attempts: 0,
      created: now,
      expires: now + limits.life,
      used: null,
    }
    await database.write(async (tx) => {
      const recent = (await tx.codes.ofSubject(name.email, now - HOUR)).filter(isOtp)
      const oldest = recent.at(-1)
      if (oldest !== undefined && recent.length >= limits.perAddress) {
        throw tooMany(oldest.created + HOUR - now)
      }
      const letter = await compose(tx, name, code, otp, origin)
      await mailer.post(tx, letter)
      await tx.codes.put(code)
      await tx.codes.prune(now - HOUR)
    })
    return { type: 'otp-sent', otp_id: otpId }
  }

  async function compose(
    tx: ReadTx,
    name: LoginName,
    code: Code,
    otp: string,
    origin: string | null,
  ): Promise<Letter<'otp'>> {
    const page = await describeOrigin(tx, origin, database.name)
    const variables = {
      otp,
      otp_id: code.id,
      email: name.email,
      ...page,
      link: page.origin === '' ? '' : linkTo(page.origin, code.id, otp),
      minutes: Math.floor(limits.life / MINUTE),
      notice: '',
    }
    // A mail with an expired code is not sent.
    return { kind: 'otp', to: name.email, variables, expires: code.expires }
  }
}

function isOtp({ kind }: Code): boolean {
  return kind === 'otp'
}

/** With the parameters that `db.cloud.login()` of the clients takes (protocol.md §2.1). */
function linkTo(origin: string, otpId: string, otp: string): string {
  return `${origin}/?${new URLSearchParams({ otpId, otp }).toString()}`
}

import type { Clock } from '../clock'
import type { Letter } from '../domain/store/mailer'
import { quoted, SatchelError } from '../domain/value/error'
import { requireEmail } from '../domain/value/email'
import { randomToken } from '../domain/value/id'
import { CREATE_DB } from '../domain/value/scope'
import { sameSecret } from '../domain/value/secret'
import { HOUR, MINUTE } from '../domain/value/time'
import { createCounter } from '../limits/counter'
import type { Grant } from './grant/grant'
import { requestedScopes, requireText } from './grant/parameters'
import { createCap, OTP_LIMITS, tooMany } from './limits'
import { foldOtp, newOtp } from './otp/otp-request'
import { createProofs, type Proofs } from './otp/proof'

/**
 * Logins at the address of the server itself, for people who want to create a database
 * (protocol.md §9.3 `create`, §12). Codes and tokens are in memory: a restart ends them.
 */
export interface Service {
  /** The two steps of `grant_type: "otp"` with the scope `CREATE_DB`. Throws as the grants of databases. */
  readonly grant: Grant
  readonly proofs: Proofs
}

export interface ServiceParts {
  /** Must not go back. */
  readonly clock: Clock
  /** Named in the mail. */
  readonly name: string
  /** Throws `NOT_AUTHORIZED` when the owner of this address may not create databases; null: nobody may. */
  readonly requireCreator: (email: string | null) => void
  /** Sends a mail at once. Throws `MAIL_NOT_CONFIGURED` and `MAIL_FAILED`. */
  readonly send: (letter: Letter) => Promise<void>
}

export function createService({ clock, name, requireCreator, send }: ServiceParts): Service {
  const codes = new Map<string, PendingCode>()
  const byNetwork = createCap(clock, OTP_LIMITS.perNetwork)
  const byAddress = createCounter(clock, { count: OTP_LIMITS.perAddress, window: HOUR })
  const proofs = createProofs(clock, CREATE_DB)

  async function begin(email: string, address: string) {
    byNetwork.spend(address)
    const quota = byAddress.spend(email)
    if (quota.isOver) throw tooMany(quota.reset)
    const otpId = randomToken(16)
    const otp = newOtp()
    const expires = clock.now() + OTP_LIMITS.life
    for (const [id, code] of codes) if (code.expires <= clock.now()) codes.delete(id)
    if (codes.size >= MAX_CODES) throw tooMany(OTP_LIMITS.life)
    codes.set(otpId, { email, otp, expires, tries: OTP_LIMITS.tries })
    await send({
      kind: 'otp',
      to: email,
      expires,
      variables: {
        otp,
        otp_id: otpId,
        email,
        originName: name,
        origin: '',
        link: '',
        minutes: Math.floor(OTP_LIMITS.life / MINUTE),
        notice: noticeFor(email),
      },
    })
    return { type: 'otp-sent' as const, otp_id: otpId }
  }

  /** Only the owner of the address reads this; the answer to the request is the same for every address. */
  function noticeFor(email: string): string {
    try {
      requireCreator(email)
      return ''
    } catch (error) {
      if (!(error instanceof SatchelError)) throw error
      return `The code will not log you in: ${error.message}.`
    }
  }

  function redeem(otpId: string, otp: string) {
    const code = codes.get(otpId)
    if (code === undefined || code.expires <= clock.now() || code.tries === 0) {
      throw new SatchelError('OTP_EXPIRED', 'This code is no longer valid: ask for a new one')
    }
    if (!sameSecret(otp, code.otp)) {
      code.tries -= 1
      throw new SatchelError('INVALID_OTP', 'This code is wrong')
    }
    codes.delete(otpId)
    requireCreator(code.email)
    return proofs.issue(code.email)
  }

  return {
    proofs,
    async grant({ parameters, address = '' }) {
      const type = requireText(parameters, 'grant_type')
      if (type !== 'otp') {
        throw new SatchelError(
          'UNSUPPORTED_GRANT_TYPE',
          `The grant type ${quoted(type)} is not supported at the address of the server: tokens for data are issued at /<database>/token`,
        )
      }
      const [scope, ...others] = requestedScopes(parameters)
      if (scope !== CREATE_DB || others.length > 0) {
        throw new SatchelError('INVALID_SCOPE', `Here only the scope ${CREATE_DB} can be granted`)
      }
      requireCreator(null)
      if ('otp' in parameters) {
        return redeem(requireText(parameters, 'otp_id'), foldOtp(requireText(parameters, 'otp')))
      }
      if ('otp_id' in parameters) requireText(parameters, 'otp_id')
      return await begin(requireEmail(parameters['email']), address)
    },
  }
}

interface PendingCode {
  readonly email: string
  readonly otp: string
  /** ms */
  readonly expires: number
  tries: number
}

const MAX_CODES = 10_000

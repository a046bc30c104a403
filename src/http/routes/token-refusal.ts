import { loginError, type OAuthError, oauthError } from '../../auth/provider/oauth-error'
import type { SatchelError } from '../../domain/value/error'
import { answer } from '../answer'
import type { Call } from '../call'
import type { Door } from '../door'
import { errorAnswer, errorText, publicError } from '../errors'
import { STATUS } from '../../openapi/status'

/** A token request that is refused, and why. */
export interface RefusedToken {
  readonly call: Call
  readonly request: Request
  /** Whatever the request says it is; undefined when it could not be read. */
  readonly grantType: unknown
  readonly error: unknown
}

/** Refuses a token request as the clients of its grant expect (design.md §4, protocol.md §2.3). */
export function refuseToken(door: Door, refused: RefusedToken): Response {
  const tell = TELLERS.get(refused.grantType) ?? CLIENT
  return tell(refused, door)
}

type Teller = (refused: RefusedToken, door: Door) => Response

/** In the words of OAuth when the request was the reason (RFC 6749 §5.2). */
function inWords(find: (error: SatchelError) => OAuthError | undefined): Teller {
  return ({ call, request, error }, door) => {
    const told = publicError(door, call, error)
    const refusal = find(told)
    if (refusal === undefined) return errorAnswer(call, told)
    const { status, ...body } = refusal
    call.code = body.code
    const usedBasic = /^basic /i.test(request.headers.get('authorization') ?? '')
    return answer(call, JSON.stringify({ ...body, requestId: call.id }), {
      status,
      headers: {
        'Cache-Control': 'no-store',
        ...(status === 401 ? { 'WWW-Authenticate': usedBasic ? BASIC : 'Bearer' } : {}),
      },
    })
  }
}

const CLIENT = inWords(oauthError)

/**
 * To somebody at a login dialog. A 403 begins it anew with the message of its JSON, a 401 asks for
 * the code again; any other answer is shown as it is: one sentence of text.
 */
const tellPerson: Teller = ({ call, error }, door) => {
  const told = publicError(door, call, error)
  return STATUS[told.code] === 403 ? errorAnswer(call, told) : errorText(call, told)
}

/** By `grant_type`; the others refuse as OAuth does. */
const TELLERS = new Map<unknown, Teller>([
  ['otp', tellPerson],
  ['otp-email', tellPerson],
  ['otp-token', tellPerson],
  ['demo', tellPerson],
  ['authorization_code', inWords(loginError)],
])

/** Only for who used it: a browser asks its user for a password when it reads this. */
const BASIC = 'Basic realm="satchel", charset="UTF-8"'

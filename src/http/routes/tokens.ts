import { type AnyElysia, Elysia } from 'elysia'
import type { Parameters } from '../../auth/grant/parameters'
import { SatchelError } from '../../domain/value/error'
import { JSON_LIMITS, parseJson } from '../../domain/json/scan'
import { answer, errorAnswer, errorText, publicError } from '../answer'
import { bearerToken, hostOf } from '../bearer'
import { type Call, callOf } from '../call'
import type { HttpContext } from '../context'
import { loginError, type OAuthError, oauthError } from '../../auth/provider/oauth-error'
import { STATUS } from '../../openapi/status'

/** Tokens: asked for, refreshed, validated, and the keys that verify them (spec.md §2.1, §4, §5). */
export function tokenRoutes(http: HttpContext): AnyElysia {
  return new Elysia({ name: 'tokens' })
    .post(
      '/:database/token',
      async ({ request }) => {
        const call = callOf(request)
        const host = await hostOf(http, call)
        http.limits.requireTries(call)
        let parameters: Parameters = {}
        try {
          parameters = await readParameters(http, request)
          const given = await host.authority.grant({
            parameters,
            authorization: request.headers.get('authorization'),
            origin: request.headers.get('origin'),
            address: call.address,
            count: (subject) => http.limits.token(call, host, subject),
          })
          if (given.type === 'tokens') call.subject = given.userId
          return answer(call, JSON.stringify(given), { headers: NO_STORE })
        } catch (refusal) {
          const error = http.limits.failure(call, refusal)
          return refuseToken(http, { call, request, grantType: parameters['grant_type'], error })
        }
      },
      { parse: 'none', detail: { operationId: 'requestToken' } },
    )
    .get(
      '/:database/token/validate',
      async ({ request }) => {
        const call = callOf(request)
        const host = await hostOf(http, call)
        try {
          const claims = await host.authority.claims(
            bearerToken(request.headers.get('authorization')),
            () => http.limits.requireTries(call),
          )
          call.subject = String(claims['sub'])
          http.limits.request(call, host, call.subject)
          return answer(call, JSON.stringify({ valid: true, claims }))
        } catch (error) {
          return invalid(call, http.limits.failure(call, error))
        }
      },
      { detail: { operationId: 'validateToken' } },
    )
    .get(
      '/:database/.well-known/jwks.json',
      async ({ request }) => {
        const call = callOf(request)
        const host = await hostOf(http, call)
        http.limits.request(call, host, null)
        return answer(call, JSON.stringify(await host.authority.keys()), {
          type: 'application/jwk-set+json',
          headers: PUBLISHED,
        })
      },
      { detail: { operationId: 'listPublicKeys' } },
    )
}

const NO_STORE = { 'Cache-Control': 'no-store' }
/** Short enough that a verifier elsewhere knows the next key before it signs. */
const PUBLISHED = { 'Cache-Control': 'public, max-age=300' }
/** A token request is small: claims have at most 4 KiB and a key in PEM less than 2. */
const MAX_BYTES = 64 * 1024

/** Throws `INVALID_REQUEST`, `UNPROCESSABLE`, `PAYLOAD_TOO_LARGE` and `UNSUPPORTED_MEDIA_TYPE`. */
async function readParameters(http: HttpContext, request: Request): Promise<Parameters> {
  const read = readerFor(request.headers.get('content-type'))
  return read(await http.bodies.text(request, MAX_BYTES))
}

/** JSON as the clients send it, or a form as OAuth has it (RFC 6749 §4.4.2). */
function readerFor(type: string | null): (text: string) => Parameters {
  const [essence = ''] = (type || 'application/json').split(';', 1)
  const read = READERS.get(essence.trim().toLowerCase())
  if (read !== undefined) return read
  throw new SatchelError(
    'UNSUPPORTED_MEDIA_TYPE',
    'A token request is JSON or a form: send Content-Type: application/json',
  )
}

const READERS = new Map([
  ['application/json', readJson],
  ['application/x-www-form-urlencoded', readForm],
])

function readJson(text: string): Parameters {
  const value = parseJson(text, JSON_LIMITS)
  if (isObject(value)) return value
  throw new SatchelError('INVALID_REQUEST', 'A token request must be a JSON object')
}

function readForm(text: string): Parameters {
  const fields = [...new URLSearchParams(text)]
  if (new Set(fields.map(([name]) => name)).size === fields.length) {
    return Object.fromEntries(fields)
  }
  throw new SatchelError('INVALID_REQUEST', 'A parameter of the form is repeated: send it once')
}

function isObject(value: unknown): value is Parameters {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function invalid(call: Call, error: unknown): Response {
  if (!(error instanceof SatchelError) || error.code !== 'INVALID_TOKEN') throw error
  call.code = error.code
  return answer(call, JSON.stringify({ valid: false, message: error.message }), {
    status: 401,
    headers: { ...NO_STORE, 'WWW-Authenticate': 'Bearer' },
  })
}

/** A token request that is refused, and why. */
export interface RefusedToken {
  readonly call: Call
  readonly request: Request
  /** Whatever the request says it is; undefined when it could not be read. */
  readonly grantType: unknown
  readonly error: unknown
}

/** Refuses a token request as the clients of its grant expect (design.md §4, protocol.md §2.3). */
export function refuseToken(http: HttpContext, refused: RefusedToken): Response {
  const tell = TELLERS.get(refused.grantType) ?? CLIENT
  return tell(refused, http)
}

type Teller = (refused: RefusedToken, http: HttpContext) => Response

/** In the words of OAuth when the request was the reason (RFC 6749 §5.2). */
function inWords(find: (error: SatchelError) => OAuthError | undefined): Teller {
  return ({ call, request, error }, http) => {
    const told = publicError(http, call, error)
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
const tellPerson: Teller = ({ call, error }, http) => {
  const told = publicError(http, call, error)
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

/** Only for callers that used it: browsers ask their user for a password when they get it. */
const BASIC = 'Basic realm="satchel", charset="UTF-8"'

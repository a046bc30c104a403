import { type AnyElysia, Elysia } from 'elysia'
import type { Grant } from '../../auth/grant/grant'
import type { CountToken } from '../../auth/grant/issuer'
import { loginError, type OAuthError, oauthError } from '../../auth/grant/oauth-error'
import type { Parameters } from '../../auth/grant/parameters'
import { JSON_LIMITS, parseJson } from '../../domain/json/scan'
import { SatchelError } from '../../domain/value/error'
import { STATUS } from '../../openapi/status'
import { answer, errorAnswer, errorText, publicError } from '../answer'
import { bearerToken, inDatabase } from '../caller'
import type { Call } from '../call'
import type { HttpContext } from '../context'
import { isRecord } from '../../domain/value/value'

/** Requests for tokens, their validation, and the keys that verify them (spec.md §2.1, §4, §5). */
export function tokenRoutes(http: HttpContext): AnyElysia {
  return new Elysia({ name: 'tokens' })
    .post(
      '/:database/token',
      ...inDatabase(http, 'requestToken', ({ call, opened }) =>
        grantToken(http, call, opened.authority.grant, (subject) =>
          http.limits.token(call, opened, subject),
        ),
      ),
    )
    .get(
      '/:database/token/validate',
      ...inDatabase(http, 'validateToken', async ({ call, opened }) => {
        try {
          const claims = await opened.authority.claims(
            bearerToken(call.sent.headers.get('authorization')),
          )
          call.subject = String(claims['sub'])
          http.limits.request(call, opened, call.subject)
          return answer(call, JSON.stringify({ valid: true, claims }))
        } catch (error) {
          return invalid(call, http.limits.failure(call, error))
        }
      }),
    )
    .get(
      '/:database/.well-known/jwks.json',
      ...inDatabase(http, 'listPublicKeys', async ({ call, opened }) => {
        http.limits.request(call, opened, null)
        return answer(call, JSON.stringify(await opened.authority.keys()), {
          type: 'application/jwk-set+json',
          headers: PUBLISHED,
        })
      }),
    )
}

/** Answers a token request at the address of the server itself (protocol.md §9.3 `create`, §12). */
export function answerToken(http: HttpContext, call: Call): Promise<Response> {
  http.limits.login(call)
  return grantToken(http, call, http.creation.service.grant, () => undefined)
}

async function grantToken(
  http: HttpContext,
  call: Call,
  grant: Grant,
  count: CountToken,
): Promise<Response> {
  let parameters: Parameters = {}
  try {
    parameters = await readParameters(http, call.sent)
    const given = await grant({
      parameters,
      authorization: call.sent.headers.get('authorization'),
      origin: call.sent.headers.get('origin'),
      address: call.address,
      count,
    })
    if (given.type === 'tokens') call.subject = given.userId
    return answer(call, JSON.stringify(given), { headers: NO_STORE })
  } catch (cause) {
    const error = http.limits.failure(call, cause)
    const refuse = REFUSALS.get(parameters['grant_type']) ?? refuseClient
    return refuse(call, publicError(http, call, error))
  }
}

const NO_STORE = { 'Cache-Control': 'no-store' }
/** Verifiers refresh often enough to know the next key before it signs. */
const PUBLISHED = { 'Cache-Control': 'public, max-age=300' }
/** Token requests are small: at most 4 KiB of claims and a PEM key below 2 KiB. */
const MAX_BYTES = 64 * 1024

/** Throws `INVALID_REQUEST`, `UNPROCESSABLE`, `PAYLOAD_TOO_LARGE` and `UNSUPPORTED_MEDIA_TYPE`. */
async function readParameters(http: HttpContext, request: Request): Promise<Parameters> {
  const read = readerFor(request.headers.get('content-type'))
  return read(await http.bodies.text(request, MAX_BYTES))
}

/** JSON, which Dexie clients send, or a form, which OAuth defines (RFC 6749 §4.4.2). */
function readerFor(type: string | null): (text: string) => Parameters {
  const [essence = ''] = (type || 'application/json').split(';', 1)
  const read = READERS.get(essence.trim().toLowerCase())
  if (read !== undefined) return read
  throw new SatchelError(
    'UNSUPPORTED_MEDIA_TYPE',
    'A token request must be JSON or a form: send Content-Type: application/json',
  )
}

const READERS = new Map([
  ['application/json', readJson],
  ['application/x-www-form-urlencoded', readForm],
])

function readJson(text: string): Parameters {
  const value = parseJson(text, JSON_LIMITS)
  if (isRecord(value)) return value
  throw new SatchelError('INVALID_REQUEST', 'A token request must be a JSON object')
}

function readForm(text: string): Parameters {
  const fields = [...new URLSearchParams(text)]
  if (new Set(fields.map(([name]) => name)).size === fields.length) {
    return Object.fromEntries(fields)
  }
  throw new SatchelError('INVALID_REQUEST', 'A parameter of the form is repeated: send it once')
}

function invalid(call: Call, error: unknown): Response {
  if (!(error instanceof SatchelError) || error.code !== 'INVALID_TOKEN') throw error
  call.code = error.code
  return answer(call, JSON.stringify({ valid: false, message: error.message }), {
    status: 401,
    headers: { ...NO_STORE, 'WWW-Authenticate': 'Bearer' },
  })
}

type Refuse = (call: Call, error: SatchelError) => Response

/** Refuses with the fields of OAuth when the request was at fault (RFC 6749 §5.2). */
function refuseWith(find: (error: SatchelError) => OAuthError | undefined): Refuse {
  return (call, error) => {
    const refusal = find(error)
    if (refusal === undefined) return errorAnswer(call, error)
    const { status, ...body } = refusal
    call.code = body.code
    const usedBasic = /^basic /i.test(call.sent.headers.get('authorization') ?? '')
    return answer(call, JSON.stringify({ ...body, requestId: call.id }), {
      status,
      headers: {
        ...NO_STORE,
        ...(status === 401 ? { 'WWW-Authenticate': usedBasic ? BASIC : 'Bearer' } : {}),
      },
    })
  }
}

const refuseClient = refuseWith(oauthError)

/**
 * Refuses a person in a login dialog. After a 403 the dialog starts over and shows the message in the
 * JSON, after a 401 it asks for the code again; the text of any other answer is shown as it is.
 */
const refusePerson: Refuse = (call, error) =>
  STATUS[error.code] === 403 ? errorAnswer(call, error) : errorText(call, error)

/** By `grant_type`, as the clients of each grant expect (design.md §4, protocol.md §2.3); all others refuse as OAuth does. */
const REFUSALS = new Map<unknown, Refuse>([
  ['otp', refusePerson],
  ['otp-email', refusePerson],
  ['otp-token', refusePerson],
  ['demo', refusePerson],
  ['authorization_code', refuseWith(loginError)],
])

/** Only sent to clients that used Basic: it makes a browser ask its user for a password. */
const BASIC = 'Basic realm="satchel", charset="UTF-8"'

import type { ErrorCode } from '../domain/value/error'
import { STATUS } from './status'
import {
  type Refusal,
  type Response,
  type Responses,
  schemaRef,
  type Teller,
  type Header,
  type Reference,
} from './specification'

/** The meaning of each code of an error body (design.md §6). */
export const MEANINGS: Readonly<Record<ErrorCode, string>> = {
  INVALID_REQUEST: 'The request is malformed: its address, its query, a header or the JSON itself.',
  RESERVED_CLAIM: 'A token request sets a claim that is the server’s to make.',
  INVALID_GRANT: 'The refresh token, its signature or its time is not valid.',
  INVALID_SCOPE: 'A token request asks for scopes that the client does not hold.',
  UNAUTHORIZED_CLIENT: 'The client may not ask for this: `claims` need a client with IMPERSONATE.',
  UNSUPPORTED_GRANT_TYPE: 'The `grant_type` is not one that is served.',
  INVALID_TOKEN:
    'No access token came, or it is invalid, expired, or of a client or user that is gone.',
  INVALID_CLIENT: 'No client has this id and secret.',
  CLIENT_EXPIRED: 'The key of the client has expired.',
  INVALID_OTP: 'The one-time code is wrong; it may be tried again a few times.',
  NOT_AUTHORIZED: 'The token lacks a scope, or its subject a permission; `reason` names it.',
  ORIGIN_NOT_ALLOWED:
    'A page of an origin that is not listed called: `satchel origin add` lists it.',
  BLOB_NOT_READABLE:
    'The object references a blob that its writer may not read; `reason` names the property.',
  LICENSE_EXPIRED: 'The licence of the user has expired: reading is still allowed, writing is not.',
  USER_DEACTIVATED: 'The user is deactivated.',
  USER_NOT_REGISTERED: 'No user has this address, and a login does not create one.',
  USER_NOT_ACCEPTED: 'New users are not accepted: the policy of the database says so.',
  NO_SEATS_AVAILABLE: 'There are as many users as the database has seats.',
  WEBHOOK_ERROR:
    'The web hook that decides about new users gave no verdict: try again, a login code stays good.',
  OTP_EXPIRED: 'The one-time code is over, used up or was tried too often: ask for a new one.',
  UNKNOWN_DATABASE: 'There is no database of this name.',
  UNKNOWN_ROUTE: 'There is nothing at this address.',
  UNKNOWN_TABLE: 'There is no such table: `satchel schema push` declares it.',
  UNKNOWN_OBJECT: 'There is no such object, or the caller cannot see it: one answer for both.',
  UNKNOWN_CLIENT: 'There is no such client. Told by commands.',
  UNKNOWN_USER: 'There is no user with this id.',
  UNKNOWN_PROVIDER: 'The database has no login provider of this name.',
  UNKNOWN_BLOB: 'There is no such blob, or the caller may not read it: one answer for both.',
  UNKNOWN_REALM: 'The object names a realm that does not exist: create it first.',
  UNKNOWN_INVITATION: 'There is no such invitation, or it was taken back.',
  INVITATION_EXPIRED: 'The link of the invitation was not opened in time.',
  METHOD_NOT_ALLOWED: 'The address knows other methods; the header `Allow` names them.',
  UNSUPPORTED_MEDIA_TYPE:
    'The body is of a media type, or compressed in a way, that is not read here.',
  TOO_SLOW: 'The body came too slowly, or nothing of it for too long: nothing was stored.',
  CONFLICT:
    'The request contradicts the stored data: the key or the realm id belongs to another object.',
  PAYLOAD_TOO_LARGE: 'The body is larger than the limit: send it in several requests.',
  RANGE_NOT_SATISFIABLE: 'The blob has no bytes in the range that `Range` names.',
  UNPROCESSABLE: 'The JSON is well-formed but cannot be stored; `reason` names the property.',
  INVALID_SCHEMA: 'A table is declared wrongly, at this line and column. Told by commands.',
  TOO_MANY_REQUESTS: 'Too many requests: repeat it after `Retry-After` seconds.',
  BUSY: 'The server is busy or stopping; nothing was stored: repeat it after `Retry-After` seconds.',
  STORAGE_FULL: 'The disk is full; nothing was stored.',
  QUOTA_EXCEEDED: 'The blobs of the user or of the database would take more room than they have.',
  MAIL_FAILED: 'The mail server or hook did not take a mail. Told by commands.',
  MAIL_NOT_CONFIGURED: 'This server has no way to send mails: its administrator sets one up.',
  NO_PUBLIC_ADDRESS: 'This server does not know its public address: `--public-url` says it.',
  PROVIDER_FAILED: 'The login provider cannot be reached or answers what it should not.',
  READ_ONLY: 'The data folder cannot be written; nothing was stored.',
  STORAGE_FAILED: 'The storage failed; the log of the server says more.',
  BLOB_DAMAGED:
    'The bytes of the blob are missing or damaged: bringing the same bytes again mends it.',
  DATA_FOLDER_IN_USE: 'Another process serves the data folder. Told by commands.',
  NEWER_DATA: 'The database was written by a newer version of Satchel.',
  INTERNAL: 'Something went wrong; the log of the server says more, under the `requestId`.',
}

/** In the order of their statuses. */
export const ERROR_CODES = Object.keys(STATUS) as ErrorCode[]

export const EXAMPLE_REQUEST_ID = 'k3v0Zq1x-2a'

/** The body of every route that has no manner of its own (design.md §6). */
export const tellPlainly: Teller = (code, message) => ({
  status: STATUS[code],
  schema: 'Error',
  body: { code, message, requestId: EXAMPLE_REQUEST_ID },
})

/** The answers that say these codes, one for each of their statuses. */
export function refusals(
  codes: Iterable<ErrorCode>,
  { tell = tellPlainly, tellsPeople = false }: { tell?: Teller; tellsPeople?: boolean } = {},
): Responses {
  const told = Array.from(new Set(codes), (code) => {
    const message = MEANINGS[code].replaceAll('`', '')
    return { code, ...tell(code, message) }
  })
  const byStatus = Map.groupBy(told, ({ status }) => status)
  return Object.fromEntries(
    Array.from(byStatus, ([status, group]) => {
      const said = answer(group)
      return [status, tellsPeople && status !== 403 ? alsoInText(said) : said]
    }),
  )
}

function alsoInText(response: Response): Response {
  const text = { schema: { type: 'string', description: 'The message, for people to read.' } }
  return { ...response, content: { ...response.content, 'text/plain': text } }
}

type Told = Refusal & { readonly code: ErrorCode }

function answer(group: readonly Told[]): Response {
  const headers = HEADERS_BY_STATUS.get(group[0]?.status ?? 0)
  const schemas = [...new Set(group.map(({ schema }) => schema))].map(schemaRef)
  const examples = group.map(({ code, body }) => [code, { summary: code, value: body }] as const)
  return {
    description: group.map(({ code }) => `* \`${code}\` ${MEANINGS[code]}`).join('\n'),
    ...(headers === undefined ? {} : { headers }),
    content: {
      'application/json': {
        schema: {
          ...(schemas.length === 1 ? schemas[0] : { anyOf: schemas }),
          properties: { code: { enum: group.map(({ code }) => code) } },
        },
        examples: Object.fromEntries(examples),
      },
    },
  }
}

const HEADERS_BY_STATUS = new Map<number, NonNullable<Response['headers']>>([
  [
    401,
    {
      'WWW-Authenticate': {
        description: 'The authentication scheme: `Bearer` (RFC 6750).',
        schema: { type: 'string' },
      },
    },
  ],
  [429, headerRefs(['Retry-After'])],
  [503, headerRefs(['Retry-After'])],
])

/** Those that several answers have, by their names. */
export const HEADERS: Readonly<Record<string, Header>> = {
  'Ratelimit-Limit': {
    description:
      'How many the limit allows that this request counted against. Absent while nothing is limited.',
    schema: { type: 'integer', minimum: 1 },
  },
  'Ratelimit-Remaining': {
    description: 'How many of them are left.',
    schema: { type: 'integer', minimum: 0 },
  },
  'Ratelimit-Reset': {
    description: 'Seconds until all of them are there again.',
    schema: { type: 'integer', minimum: 1 },
  },
  'Retry-After': {
    description: 'Seconds after which a repeat may succeed, when that is known.',
    schema: { type: 'integer', minimum: 1 },
  },
}

const QUOTA = ['Ratelimit-Limit', 'Ratelimit-Remaining', 'Ratelimit-Reset']

export function headerRefs(names: readonly string[]): Readonly<Record<string, Reference>> {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))
}

/** The answers of a route: refusals above a limit have the limit's headers, and all answers where requests are counted. */
export function withQuota(responses: Responses, isCounted: boolean): Responses {
  return Object.fromEntries(
    Object.entries(responses).map(([status, response]) => {
      const headers = { ...response.headers, ...headerRefs(QUOTA) }
      const tells = status === '429' || (isCounted && /^[23]/.test(status))
      return [status, tells ? { ...response, headers } : response]
    }),
  )
}

import type { ErrorCode } from '../domain/value/error'
import {
  type Operation,
  type Refusal,
  type Response,
  type Responses,
  schemaRef,
  type RefusalFormat,
  type Header,
  type Reference,
} from './specification'
import { STATUS } from './status'

/** The refusals of a JSON body that is read whole. */
export const BODY_REFUSALS = [
  'PAYLOAD_TOO_LARGE',
  'UNSUPPORTED_MEDIA_TYPE',
  'UNPROCESSABLE',
] as const

/** The refusals of a route that stores something. */
export const STORE_REFUSALS = ['LICENSE_EXPIRED', 'STORAGE_FULL', 'READ_ONLY'] as const

/** The meaning of each code of an error body (design.md §6). */
export const MEANINGS: Readonly<Record<ErrorCode, string>> = {
  INVALID_REQUEST: 'The request is malformed: its address, its query, a header or the JSON itself.',
  RESERVED_CLAIM: 'A token request sets a claim that only the server may set.',
  INVALID_GRANT: 'The refresh token, its signature or its time stamp is invalid.',
  INVALID_SCOPE: 'The client does not have a requested scope.',
  UNAUTHORIZED_CLIENT:
    'The client may not request this: `claims` require a client with IMPERSONATE.',
  UNSUPPORTED_GRANT_TYPE: 'The `grant_type` is not supported.',
  INVALID_TOKEN:
    'The access token is missing, invalid or expired, or its client or user was deleted.',
  INVALID_CLIENT: 'The client id or secret is wrong.',
  CLIENT_EXPIRED: 'The key of the client has expired.',
  INVALID_OTP: 'The one-time code is wrong; a few more tries are allowed.',
  SESSION_ENDED: 'The login to the page for administrators has ended. Only that page is told.',
  CONFIRMATION_NEEDED:
    'Showing a secret needs a fresh login to the page for administrators. Only that page is told.',
  NOT_AUTHORIZED: 'The token lacks a scope, or its subject lacks a permission; `reason` names it.',
  ORIGIN_NOT_ALLOWED:
    'The origin of the calling page is not listed: `satchel origin add` lists it.',
  DB_LIMIT_REACHED: 'The server has as many databases as it may have.',
  BLOB_NOT_READABLE:
    'The object references a blob that its writer may not read; `reason` names the property.',
  LICENSE_EXPIRED: 'The licence of the user has expired: reading is still allowed, writing is not.',
  USER_DEACTIVATED: 'The user is deactivated.',
  USER_NOT_REGISTERED: 'No user has this address, and a login does not create one.',
  USER_NOT_ACCEPTED: 'The policy of the database does not accept new users.',
  NO_SEATS_AVAILABLE: 'All seats of the database are taken.',
  WEBHOOK_ERROR:
    'The web hook that decides about new users did not answer: try again, a login code remains valid.',
  OTP_EXPIRED:
    'The one-time code has expired, was used, or was tried too often: request a new one.',
  UNKNOWN_DATABASE: 'There is no database of this name.',
  UNKNOWN_ROUTE: 'There is no route at this address.',
  UNKNOWN_TABLE: 'There is no such table: `satchel schema push` declares it.',
  UNKNOWN_OBJECT: 'There is no such object, or the caller cannot see it: one answer for both.',
  UNKNOWN_CLIENT: 'There is no such client.',
  UNKNOWN_USER: 'There is no user with this id.',
  UNKNOWN_PROVIDER: 'The database has no login provider of this name.',
  UNKNOWN_BLOB: 'There is no such blob, or the caller may not read it: one answer for both.',
  UNKNOWN_REALM: 'The object names a realm that does not exist: create it first.',
  UNKNOWN_INVITATION: 'There is no such invitation, or it was withdrawn.',
  INVITATION_EXPIRED: 'The link of the invitation has expired.',
  METHOD_NOT_ALLOWED: 'The address supports other methods; the header `Allow` lists them.',
  UNSUPPORTED_MEDIA_TYPE: 'The media type or the compression of the body is not supported.',
  TOO_SLOW: 'The body arrived too slowly, or stalled for too long: nothing was stored.',
  CONFLICT:
    'The request contradicts the stored data: the key or the realm id belongs to another object.',
  PAYLOAD_TOO_LARGE: 'The body is larger than the limit: send it in several requests.',
  RANGE_NOT_SATISFIABLE: 'The blob has no bytes in the range that `Range` names.',
  MISDIRECTED: 'The page for administrators does not answer at this name. Only that page is told.',
  UNPROCESSABLE: 'The JSON is well-formed but cannot be stored; `reason` names the property.',
  INVALID_SCHEMA: 'The declaration of a table is invalid, at this line and column.',
  TOO_MANY_REQUESTS: 'Too many requests: repeat the request after `Retry-After` seconds.',
  BUSY: 'The server is busy or stopping; nothing was stored: repeat the request after `Retry-After` seconds.',
  STORAGE_FULL: 'The disk is full; nothing was stored.',
  QUOTA_EXCEEDED: 'The blob exceeds the storage quota of the user or of the database.',
  MAIL_FAILED: 'The mail server or hook did not accept a mail.',
  MAIL_NOT_CONFIGURED: 'This server cannot send mails: its administrator must configure it.',
  NO_PUBLIC_ADDRESS: 'This server does not know its public address: `--public-url` sets it.',
  PROVIDER_FAILED: 'The login provider cannot be reached or its answer is invalid.',
  READ_ONLY: 'The data folder is not writable; nothing was stored.',
  STORAGE_FAILED: 'The storage failed: see the log of the server.',
  DAMAGED:
    'The stored row is damaged on the disk, and nothing of it is shown: replace or delete the object that the message names, or ask the administrator of the server.',
  BLOB_DAMAGED:
    'The bytes of the blob are missing or damaged: uploading the same bytes again repairs it.',
  COPIED_DATABASE:
    'The database is a copy of another one on this server: its administrator must choose.',
  DATA_FOLDER_IN_USE: 'Another process serves the data folder. Only commands report this.',
  NEWER_DATA: 'The database was written by a newer version of Satchel.',
  INTERNAL: 'Something went wrong: see the log of the server, under the `requestId`.',
}

/** In the order of their statuses. */
export const ERROR_CODES = Object.keys(STATUS) as ErrorCode[]

export const EXAMPLE_REQUEST_ID = 'k3v0Zq1x-2a'

/** The default error body (design.md §6). */
export const plainRefusal: RefusalFormat = (code, message) => ({
  status: STATUS[code],
  schema: 'Error',
  body: { code, message, requestId: EXAMPLE_REQUEST_ID },
})

/** The answers for these codes, grouped by status. */
export function refusals(
  codes: Iterable<ErrorCode>,
  { format = plainRefusal, alsoAsText, alsoAsPage }: Partial<Operation> = {},
): Responses {
  const formatted = Array.from(new Set(codes), (code) => {
    const message = MEANINGS[code].replaceAll('`', '')
    return { code, ...format(code, message) }
  })
  const byStatus = Map.groupBy(formatted, ({ status }) => status)
  return Object.fromEntries(
    Array.from(byStatus, ([status, group]) => {
      const json = answer(group)
      const found = alsoAsText && status !== 403 ? withForm(json, ...AS_TEXT) : json
      return [status, alsoAsPage ? withForm(found, ...AS_PAGE) : found]
    }),
  )
}

const AS_TEXT = ['text/plain', 'The message, for people to read.'] as const
const AS_PAGE = ['text/html', 'A page with the message.'] as const

function withForm(response: Response, type: string, description: string): Response {
  const form = { schema: { type: 'string', description } }
  return { ...response, content: { ...response.content, [type]: form } }
}

type CodedRefusal = Refusal & { readonly code: ErrorCode }

function answer(group: readonly CodedRefusal[]): Response {
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

/** Headers of several answers, by name. */
export const HEADERS: Readonly<Record<string, Header>> = {
  'Ratelimit-Limit': {
    description: 'The limit that this request counts against. Absent while rate limits are off.',
    schema: { type: 'integer', minimum: 1 },
  },
  'Ratelimit-Remaining': {
    description: 'The remaining requests.',
    schema: { type: 'integer', minimum: 0 },
  },
  'Ratelimit-Reset': {
    description: 'Seconds until the limit is reset.',
    schema: { type: 'integer', minimum: 1 },
  },
  'Retry-After': {
    description: 'Seconds after which a repeat may succeed, if known.',
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
      const isReported = status === '429' || (isCounted && /^[23]/.test(status))
      return [status, isReported ? { ...response, headers } : response]
    }),
  )
}

import { type ErrorCode, MEANINGS } from '../domain/value/error'
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

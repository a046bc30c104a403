import { type ErrorCode, SatchelError } from '../domain/value/error'
import { STATUS } from '../openapi/status'
import type { Call } from './call'
import { UNCOUNTED_BYTES } from './body/unsent'
import { quotaHeaders, resetSeconds } from './rate-limits'
import { printableJson } from '../domain/value/escape'

export type Body = string | ReadableStream<Uint8Array> | Blob | null

export interface AnswerOptions {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** The content type; null for an answer without a body. */
  readonly type?: string | null
}

const JSON_TYPE = 'application/json;charset=utf-8'

/** Answers may only be kept by the caller, and must be requested again (design.md §6). */
const PRIVATE = 'private, no-store'

/**
 * Makes every response of the server, with the headers that all of them have. The body is JSON text
 * unless `type` says otherwise; `headers` override the common ones.
 */
export function answer(
  call: Call,
  body: Body,
  { status = 200, headers, type = JSON_TYPE }: AnswerOptions = {},
): Response {
  const isUsual = status === 200 && type === JSON_TYPE
  const init = isUsual ? usualInit(call) : { status, headers: ownHeaders(call, type) }
  const response = new Response(counted(call, body), init)
  if (call.cors !== undefined) setAll(response.headers, call.cors)
  if (headers !== undefined) setAll(response.headers, headers)
  return response
}

/** A text whose memory is counted when it is large, unless only its length is sent. */
function counted(call: Call, body: Body): Body {
  if (typeof body !== 'string' || body.length <= UNCOUNTED_BYTES || call.method === 'HEAD')
    return body
  return call.reservation.bodyOf(body, call.method !== 'GET')
}

/** A response copies `Headers` in half the time that it takes to read an object. */
const COMMON = new Headers({
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cache-Control': PRIVATE,
  Vary: 'Authorization, Origin',
})

/**
 * For most answers. A response copies its headers, so those that differ are set here before: setting them
 * in the response takes twice as long. Each answer sets the same ones.
 */
const JSON_OK = { status: 200, headers: new Headers([...COMMON, ['Content-Type', JSON_TYPE]]) }
const JSON_OK_COUNTED = { status: 200, headers: new Headers(JSON_OK.headers) }
/** The values that the headers of `JSON_OK_COUNTED` have. */
const lastSent = { limit: Number.NaN, remaining: Number.NaN, seconds: Number.NaN }

function usualInit({ id, quota }: Call) {
  if (quota === undefined) {
    JSON_OK.headers.set('X-Request-Id', id)
    return JSON_OK
  }
  const { headers } = JSON_OK_COUNTED
  headers.set('X-Request-Id', id)
  // Two of the three are mostly those of the answer before.
  const { limit, remaining } = quota
  const seconds = resetSeconds(quota.reset)
  if (limit !== lastSent.limit) headers.set('Ratelimit-Limit', String(limit))
  if (remaining !== lastSent.remaining) headers.set('Ratelimit-Remaining', String(remaining))
  if (seconds !== lastSent.seconds) headers.set('Ratelimit-Reset', String(seconds))
  lastSent.limit = limit
  lastSent.remaining = remaining
  lastSent.seconds = seconds
  return JSON_OK_COUNTED
}

function ownHeaders({ id, quota }: Call, type: string | null): Headers {
  const headers = new Headers(COMMON)
  headers.set('X-Request-Id', id)
  if (type !== null) headers.set('Content-Type', type)
  if (quota !== undefined) setAll(headers, quotaHeaders(quota))
  return headers
}

function setAll(headers: Headers, values: Readonly<Record<string, string>>): void {
  for (const name of Object.keys(values)) headers.set(name, values[name] ?? '')
}

/**
 * The part of an error that the caller may see; anything more goes to the log. An error that is not a
 * `SatchelError` becomes `INTERNAL` without details.
 */
export function publicError(
  http: { failure(requestId: string, error: unknown): void },
  call: Pick<Call, 'id'>,
  error: unknown,
): SatchelError {
  const shown = withoutDetails(error)
  const isComplete =
    shown === error && (shown.cause === undefined || shown.code === 'INVALID_TOKEN')
  if (!isComplete) http.failure(call.id, error)
  return shown
}

function withoutDetails(error: unknown): SatchelError {
  const known = error instanceof SatchelError ? error : new SatchelError('INTERNAL', '')
  const sentence = SENTENCES[known.code]
  return sentence === undefined ? known : new SatchelError(known.code, sentence)
}

/** These replace messages for operators, which contain file names. */
const SENTENCES: Partial<Record<ErrorCode, string>> = {
  INTERNAL: 'Something went wrong here: see the log of the server',
  STORAGE_FAILED:
    'The storage failed and nothing of this request was stored: see the log of the server',
  STORAGE_FULL:
    'The disk is full and nothing of this request was stored: free some space and repeat it',
  READ_ONLY: 'The data folder is not writable and nothing of this request was stored',
  COPIED_DATABASE:
    'This database is a copy of another one on this server and is not served: see the log of the server',
  NEWER_DATA:
    'This database was written by a newer version of Satchel and can only be served by it',
}

/** `{code, message, requestId, reason?}` and `more`, with the status of the code (design.md §6). */
export function errorAnswer(
  call: Call,
  error: SatchelError,
  extra?: Record<string, string>,
  more: Readonly<Record<string, string>> = {},
): Response {
  call.code = error.code
  const body = {
    ...more,
    code: error.code,
    message: truncate(error.message, MAX_MESSAGE_BYTES),
    requestId: call.id,
    ...(error.reason === undefined ? {} : { reason: truncate(error.reason, MAX_REASON_BYTES) }),
  }
  return answer(call, printableJson(body), {
    status: STATUS[error.code],
    headers: { ...headersOf(error), ...extra },
  })
}

/** Only the message, as text, for clients that show it to a person as it is (design.md §4). */
export function errorText(call: Call, error: SatchelError): Response {
  call.code = error.code
  return answer(call, truncate(error.message, MAX_MESSAGE_BYTES), {
    status: STATUS[error.code],
    headers: headersOf(error),
    type: 'text/plain;charset=utf-8',
  })
}

function headersOf({ code, retryAfter }: SatchelError): Record<string, string> {
  return {
    'Cache-Control': 'no-store',
    ...(STATUS[code] === 401 ? { 'WWW-Authenticate': 'Bearer' } : {}),
    ...retryHeaders(retryAfter),
    // Close the connection after a timed-out body.
    ...(code === 'TOO_SLOW' ? { Connection: 'close' } : {}),
  }
}

export function retryHeaders(retryAfter: number | undefined): Record<string, string> {
  return retryAfter === undefined ? {} : { 'Retry-After': String(retryAfter) }
}

/** Together with the other fields these keep an error body within 4 KiB (design.md §6). */
const MAX_MESSAGE_BYTES = 2_600
const MAX_REASON_BYTES = 1_200

/** Shortens the text until its JSON has at most `maxBytes`. */
function truncate(text: string, maxBytes: number): string {
  let shown = text.slice(0, maxBytes)
  while (Buffer.byteLength(printableJson(shown)) > maxBytes) {
    shown = shown.slice(0, Math.floor(shown.length * 0.9))
  }
  return shown
}

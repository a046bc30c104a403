import type { Call } from './call'
import { quotaHeaders } from './rate-limits'
import { type ErrorCode, SatchelError } from '../domain/value/error'
import { STATUS } from '../openapi/status'

export type Body = string | ReadableStream<Uint8Array> | Blob | null

export interface AnswerOptions {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  /** Null for an answer without a body. */
  readonly type?: string | null
}

const JSON_TYPE = 'application/json;charset=utf-8'

/** What authorised answers may be kept by: nobody but the caller, and not for long (design.md §6). */
const PRIVATE = 'private, no-store'

/** An answer with the headers of every answer; JSON text unless `type` says otherwise. */
export function answer(
  call: Call,
  body: Body,
  { status = 200, headers, type = JSON_TYPE }: AnswerOptions = {},
): Response {
  call.isDressed = true
  const all: Record<string, string> = {
    'X-Request-Id': call.id,
    'X-Content-Type-Options': 'nosniff',
    'Referrer-Policy': 'no-referrer',
    'Cache-Control': PRIVATE,
    Vary: 'Authorization, Origin',
  }
  if (type !== null) all['Content-Type'] = type
  if (call.quota !== undefined) Object.assign(all, quotaHeaders(call.quota))
  if (call.cors !== undefined) Object.assign(all, call.cors)
  if (headers !== undefined) Object.assign(all, headers)
  return new Response(body, { status, headers: all })
}

/** Gives an answer that another library made the headers of every answer. */
export function dress(call: Call, response: Response): Response {
  if (call.isDressed) return response
  const headers = new Headers(response.headers)
  headers.set('X-Request-Id', call.id)
  headers.set('X-Content-Type-Options', 'nosniff')
  headers.set('Referrer-Policy', 'no-referrer')
  const quota = call.quota === undefined ? {} : quotaHeaders(call.quota)
  for (const [name, value] of Object.entries({ ...quota, ...call.cors })) headers.set(name, value)
  return new Response(response.body, { status: response.status, headers })
}

/**
 * The public part of an error; the log gets the rest. Anything but a `SatchelError` is
 * `INTERNAL` and reveals nothing.
 */
export function publicError(
  http: { failure(requestId: string, error: unknown): void },
  call: Pick<Call, 'id'>,
  error: unknown,
): SatchelError {
  const told = tell(error)
  const isWhole = told === error && (told.cause === undefined || told.code === 'INVALID_TOKEN')
  if (!isWhole) http.failure(call.id, error)
  return told
}

function tell(error: unknown): SatchelError {
  const known = error instanceof SatchelError ? error : new SatchelError('INTERNAL', '')
  const sentence = SENTENCES[known.code]
  return sentence === undefined ? known : new SatchelError(known.code, sentence)
}

/** In place of sentences for operators, which name files. */
const SENTENCES: Partial<Record<ErrorCode, string>> = {
  INTERNAL: 'Something went wrong here; the log of the server says more',
  STORAGE_FAILED:
    'The storage failed and nothing of this request was stored: see the log of the server',
  STORAGE_FULL:
    'The disk is full and nothing of this request was stored: free some space and repeat it',
  READ_ONLY: 'The data folder cannot be written: nothing of this request was stored',
  NEWER_DATA: 'This database was written by a newer version of Satchel, which has to serve it',
}

/** `{code, message, requestId, reason?}` with the status of its code (design.md §6). */
export function errorAnswer(
  call: Call,
  error: SatchelError,
  extra?: Record<string, string>,
): Response {
  call.code = error.code
  const body = {
    code: error.code,
    message: fitting(error.message, LONGEST_MESSAGE),
    requestId: call.id,
    ...(error.reason === undefined ? {} : { reason: fitting(error.reason, LONGEST_REASON) }),
  }
  return answer(call, plainJson(body), {
    status: STATUS[error.code],
    headers: { ...headersOf(error), ...extra },
  })
}

/** The message alone, as text, for clients that show it to somebody as it is (design.md §4). */
export function errorText(call: Call, error: SatchelError): Response {
  call.code = error.code
  return answer(call, fitting(error.message, LONGEST_MESSAGE), {
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

/** In bytes: with the rest of the body they stay within 4 KiB (design.md §6). */
const LONGEST_MESSAGE = 2_600
const LONGEST_REASON = 1_200

/** The text, cut where its JSON would be longer than `most` bytes. */
function fitting(text: string, most: number): string {
  let shown = text.slice(0, most)
  while (Buffer.byteLength(plainJson(shown)) > most) {
    shown = shown.slice(0, Math.floor(shown.length * 0.9))
  }
  return shown
}

/** JSON that a terminal can be shown: without the control characters that JSON leaves alone. */
function plainJson(value: unknown): string {
  return JSON.stringify(value).replaceAll(
    /[\u007f-\u009f\u2028\u2029]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

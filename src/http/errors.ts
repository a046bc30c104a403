import { type ErrorCode, SatchelError } from '../domain/value/error'
import { answer } from './answer'
import type { Call } from './call'
import type { Door } from './door'

/** Every code and its status (design.md §6). */
export const STATUS: Readonly<Record<ErrorCode, number>> = {
  INVALID_REQUEST: 400,
  RESERVED_CLAIM: 400,
  INVALID_GRANT: 400,
  INVALID_SCOPE: 400,
  UNAUTHORIZED_CLIENT: 400,
  UNSUPPORTED_GRANT_TYPE: 400,
  INVALID_TOKEN: 401,
  INVALID_CLIENT: 401,
  CLIENT_EXPIRED: 401,
  INVALID_OTP: 401,
  NOT_AUTHORIZED: 403,
  ORIGIN_NOT_ALLOWED: 403,
  BLOB_NOT_READABLE: 403,
  LICENSE_EXPIRED: 403,
  USER_DEACTIVATED: 403,
  USER_NOT_REGISTERED: 403,
  USER_NOT_ACCEPTED: 403,
  NO_SEATS_AVAILABLE: 403,
  WEBHOOK_ERROR: 403,
  OTP_EXPIRED: 403,
  UNKNOWN_DATABASE: 404,
  UNKNOWN_ROUTE: 404,
  UNKNOWN_TABLE: 404,
  UNKNOWN_OBJECT: 404,
  UNKNOWN_CLIENT: 404,
  UNKNOWN_USER: 404,
  UNKNOWN_PROVIDER: 404,
  UNKNOWN_BLOB: 404,
  UNKNOWN_INVITATION: 404,
  METHOD_NOT_ALLOWED: 405,
  TOO_SLOW: 408,
  CONFLICT: 409,
  INVITATION_EXPIRED: 410,
  PAYLOAD_TOO_LARGE: 413,
  UNSUPPORTED_MEDIA_TYPE: 415,
  RANGE_NOT_SATISFIABLE: 416,
  UNKNOWN_REALM: 422,
  UNPROCESSABLE: 422,
  INVALID_SCHEMA: 422,
  TOO_MANY_REQUESTS: 429,
  INTERNAL: 500,
  STORAGE_FAILED: 500,
  BLOB_DAMAGED: 500,
  NEWER_DATA: 500,
  MAIL_FAILED: 502,
  MAIL_NOT_CONFIGURED: 503,
  NO_PUBLIC_ADDRESS: 503,
  PROVIDER_FAILED: 502,
  READ_ONLY: 503,
  BUSY: 503,
  DATA_FOLDER_IN_USE: 503,
  STORAGE_FULL: 507,
  QUOTA_EXCEEDED: 507,
}

/**
 * What the caller is told of an error, while the log is told the rest. What is no `SatchelError` is
 * `INTERNAL` and says nothing.
 */
export function publicError(
  door: Pick<Door, 'failure'>,
  call: Pick<Call, 'id'>,
  error: unknown,
): SatchelError {
  const told = tell(error)
  const isWhole = told === error && (told.cause === undefined || told.code === 'INVALID_TOKEN')
  if (!isWhole) door.failure(call.id, error)
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
    'The storage failed: nothing of this request was stored. The log of the server says more',
  STORAGE_FULL:
    'The disk is full: nothing of this request was stored. Free some space and repeat it',
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
    // Whoever is too slow for one request is not waited for to end it.
    ...(code === 'TOO_SLOW' ? { Connection: 'close' } : {}),
  }
}

export function retryHeaders(retryAfter: number | undefined): Record<string, string> {
  return retryAfter === undefined ? {} : { 'Retry-After': String(retryAfter) }
}

/** In bytes: with what stands beside them they stay within 4 KiB (design.md §6). */
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

import { type ErrorCode, SatchelError } from '../domain/error'
import { answer } from './answer'
import type { Call } from './call'

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
  NOT_AUTHORIZED: 403,
  ORIGIN_NOT_ALLOWED: 403,
  LICENSE_EXPIRED: 403,
  USER_DEACTIVATED: 403,
  UNKNOWN_DATABASE: 404,
  UNKNOWN_ROUTE: 404,
  UNKNOWN_TABLE: 404,
  UNKNOWN_OBJECT: 404,
  UNKNOWN_CLIENT: 404,
  METHOD_NOT_ALLOWED: 405,
  CONFLICT: 409,
  PAYLOAD_TOO_LARGE: 413,
  UNSUPPORTED_MEDIA_TYPE: 415,
  UNKNOWN_REALM: 422,
  UNPROCESSABLE: 422,
  INVALID_SCHEMA: 422,
  TOO_MANY_REQUESTS: 429,
  INTERNAL: 500,
  STORAGE_FAILED: 500,
  NEWER_DATA: 500,
  READ_ONLY: 503,
  BUSY: 503,
  DATA_FOLDER_IN_USE: 503,
  STORAGE_FULL: 507,
}

/** An error body is at most 4 KiB whatever came in; messages quote at most 100 characters each. */
const LONGEST_MESSAGE = 1_000

/** What the caller is told; anything that is no `SatchelError` is `INTERNAL` and says nothing. */
export function publicError(error: unknown): SatchelError {
  if (error instanceof SatchelError) return error
  return new SatchelError(
    'INTERNAL',
    'Something went wrong here; the log of the server says more',
    {
      cause: error,
    },
  )
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
    message: error.message.slice(0, LONGEST_MESSAGE),
    requestId: call.id,
    ...(error.reason === undefined ? {} : { reason: error.reason.slice(0, 300) }),
  }
  const status = STATUS[error.code]
  return answer(call, JSON.stringify(body), {
    status,
    headers: {
      'Cache-Control': 'no-store',
      ...(status === 401 ? { 'WWW-Authenticate': 'Bearer' } : {}),
      ...(error.retryAfter === undefined ? {} : { 'Retry-After': String(error.retryAfter) }),
      ...extra,
    },
  })
}

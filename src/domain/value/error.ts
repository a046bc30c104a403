import { printableJson } from './escape'

/**
 * Everything a caller can be told. One table in `http/errors.ts` maps each code to a status
 * (design.md §6); the sentence is for the caller, `cause` is for the log only.
 */
export type ErrorCode =
  | 'INVALID_REQUEST'
  | 'INVALID_TOKEN'
  | 'INVALID_CLIENT'
  | 'CLIENT_EXPIRED'
  | 'INVALID_GRANT'
  | 'INVALID_SCOPE'
  | 'UNAUTHORIZED_CLIENT'
  | 'UNSUPPORTED_GRANT_TYPE'
  | 'RESERVED_CLAIM'
  | 'NOT_AUTHORIZED'
  | 'ORIGIN_NOT_ALLOWED'
  | 'DB_LIMIT_REACHED'
  | 'BLOB_NOT_READABLE'
  | 'LICENSE_EXPIRED'
  | 'USER_DEACTIVATED'
  | 'USER_NOT_REGISTERED'
  | 'USER_NOT_ACCEPTED'
  | 'NO_SEATS_AVAILABLE'
  | 'WEBHOOK_ERROR'
  | 'SESSION_ENDED'
  | 'CONFIRMATION_NEEDED'
  | 'MISDIRECTED'
  | 'INVALID_OTP'
  | 'OTP_EXPIRED'
  | 'MAIL_NOT_CONFIGURED'
  | 'MAIL_FAILED'
  | 'NO_PUBLIC_ADDRESS'
  | 'PROVIDER_FAILED'
  | 'UNKNOWN_DATABASE'
  | 'UNKNOWN_ROUTE'
  | 'UNKNOWN_TABLE'
  | 'UNKNOWN_OBJECT'
  | 'UNKNOWN_CLIENT'
  | 'UNKNOWN_USER'
  | 'UNKNOWN_PROVIDER'
  | 'UNKNOWN_BLOB'
  | 'UNKNOWN_REALM'
  | 'UNKNOWN_INVITATION'
  | 'INVITATION_EXPIRED'
  | 'METHOD_NOT_ALLOWED'
  | 'UNSUPPORTED_MEDIA_TYPE'
  | 'CONFLICT'
  | 'PAYLOAD_TOO_LARGE'
  | 'RANGE_NOT_SATISFIABLE'
  | 'TOO_SLOW'
  | 'UNPROCESSABLE'
  | 'INVALID_SCHEMA'
  | 'TOO_MANY_REQUESTS'
  | 'BUSY'
  | 'STORAGE_FULL'
  | 'QUOTA_EXCEEDED'
  | 'READ_ONLY'
  | 'STORAGE_FAILED'
  | 'DAMAGED'
  | 'BLOB_DAMAGED'
  | 'COPIED_DATABASE'
  | 'DATA_FOLDER_IN_USE'
  | 'NEWER_DATA'
  | 'INTERNAL'

export interface ErrorDetails {
  /** The missing permission or the wrong property; sent to the caller with the message. */
  readonly reason?: string | undefined
  /** Seconds after which a repeat may succeed. */
  readonly retryAfter?: number
  /** For the log, never for the caller. */
  readonly cause?: unknown
}

/** The only error class that reaches a caller; anything else is answered as `INTERNAL`. */
export class SatchelError extends Error {
  override readonly name = 'SatchelError'
  readonly reason: string | undefined
  readonly retryAfter: number | undefined

  constructor(
    readonly code: ErrorCode,
    message: string,
    details: ErrorDetails = {},
  ) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause })
    this.reason = details.reason
    this.retryAfter = details.retryAfter
  }
}

/** The refusal of a value; `reason` names its property. */
export function unprocessable(sentence: string, reason?: string): SatchelError {
  return new SatchelError('UNPROCESSABLE', sentence, { reason })
}

/** The refusal of a malformed request, or of a question that makes no sense. */
export function invalidRequest(sentence: string): SatchelError {
  return new SatchelError('INVALID_REQUEST', sentence)
}

export function conflict(sentence: string, reason?: string): SatchelError {
  return new SatchelError('CONFLICT', sentence, { reason })
}

/** The refusal of a request that may succeed in a second. */
export function busy(sentence: string): SatchelError {
  return new SatchelError('BUSY', sentence, { retryAfter: 1 })
}

/** The error for work that ends because its caller is gone. */
export function aborted(): SatchelError {
  return busy('The request was aborted')
}

/**
 * A name or path from outside, made safe to appear in a sentence: escaped and cut at 100
 * characters.
 */
export function quoted(text: string): string {
  const shown = text.length > 100 ? `${text.slice(0, 100)}…` : text
  return printableJson(shown)
}

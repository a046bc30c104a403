import type { ErrorCode, SatchelError } from '../../domain/value/error'

/** A refusal of `/token` (RFC 6749 §5.2). `error` is absent where no OAuth code fits. */
export interface OAuthError {
  readonly status: number
  readonly error?: string
  readonly error_description: string
  readonly code: ErrorCode
  readonly message: string
}

/**
 * The refusal of a token request, or undefined when the error says nothing about the request (the
 * store is busy, …). Only `CLIENT_EXPIRED` has no `error`: the command line client reads the word
 * "expired" in its message and begins a new login (design.md §4).
 */
export function oauthError(error: SatchelError): OAuthError | undefined {
  const { code } = error
  const row = REFUSALS[code]
  if (row === undefined) return undefined
  const message = error.message.slice(0, MAX_MESSAGE_CHARACTERS)
  return { ...row, error_description: describe(message), code, message }
}

/** A refusal that a client shows to the person who logs in (protocol.md §2.2). */
export interface LoginError extends OAuthError {
  readonly type: 'error'
  readonly title: string
  readonly messageCode: 'INVALID_OTP' | 'GENERIC_ERROR'
  readonly messageParams: Readonly<Record<string, string>>
}

/**
 * The refusal of an `authorization_code` (protocol.md §2.3): refusals of the policy are the same as of
 * the other grants, all others are messages that begin the login again.
 */
export function loginError(error: SatchelError): OAuthError | LoginError | undefined {
  const refusal = oauthError(error)
  if (refusal === undefined || refusal.status === 403) return refusal
  return {
    type: 'error',
    title: 'Login failed',
    messageCode: error.code === 'INVALID_OTP' ? 'INVALID_OTP' : 'GENERIC_ERROR',
    messageParams: {},
    ...refusal,
  }
}

const REFUSALS: Partial<Record<ErrorCode, { readonly status: number; readonly error?: string }>> = {
  INVALID_REQUEST: { status: 400, error: 'invalid_request' },
  RESERVED_CLAIM: { status: 400, error: 'invalid_request' },
  INVALID_SCOPE: { status: 400, error: 'invalid_scope' },
  UNAUTHORIZED_CLIENT: { status: 400, error: 'unauthorized_client' },
  UNSUPPORTED_GRANT_TYPE: { status: 400, error: 'unsupported_grant_type' },
  INVALID_CLIENT: { status: 401, error: 'invalid_client' },
  INVALID_GRANT: { status: 401, error: 'invalid_grant' },
  INVALID_OTP: { status: 401, error: 'invalid_grant' },
  CLIENT_EXPIRED: { status: 401 },
  USER_DEACTIVATED: { status: 403, error: 'access_denied' },
  USER_NOT_REGISTERED: { status: 403, error: 'access_denied' },
  USER_NOT_ACCEPTED: { status: 403, error: 'access_denied' },
  NO_SEATS_AVAILABLE: { status: 403, error: 'access_denied' },
  WEBHOOK_ERROR: { status: 403, error: 'access_denied' },
}

/** The message is sent twice, and the body of a refusal has at most 4 KiB (design.md §6). */
const MAX_MESSAGE_CHARACTERS = 500

/** RFC 6749 §5.2 allows printable ASCII without `"` and `\`. */
function describe(message: string): string {
  return message.replaceAll('"', "'").replaceAll(/[^ -[\]-~]/g, '?')
}

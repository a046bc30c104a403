import { printableJson } from './escape'

/**
 * Everything a caller can be told, with its meaning for the description of the interface (design.md §6). `STATUS` of
 * `openapi` has the status of each code.
 */
export const MEANINGS = {
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
} as const

export type ErrorCode = keyof typeof MEANINGS

interface ErrorDetails {
  /** The missing permission or the wrong property; sent to the caller with the message. */
  readonly reason?: string | undefined
  /** Seconds after which a repeat may succeed. */
  readonly retryAfter?: number
  /** For the log, never for the caller. */
  readonly cause?: unknown
}

/**
 * The only error class that reaches a caller; anything else is answered as `INTERNAL`. The sentence is for the caller,
 * `cause` is for the log only.
 */
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

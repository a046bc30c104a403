import { quoted, SatchelError } from '../../domain/value/error'
import { type Parameters, requireText } from './parameters'
import type { TokenAnswer } from './token-answer'

/** A `POST /token`: its body, and its `Authorization` header if it has one. */
export interface TokenRequest {
  readonly parameters: Parameters
  readonly authorization: string | null
  /** The page that asks, which may call: the value of its `Origin` header. */
  readonly origin?: string | null
  /** The address it comes from, for limits; all that are not known count as one. */
  readonly address?: string
  /** Counts a token before its subject is given it. Throws `TOO_MANY_REQUESTS`. */
  readonly count?: CountToken
}

export type CountToken = (subject: string) => void

/** The answer to the first step of a login by e-mail (protocol.md §2.2). */
export interface OtpSent {
  readonly type: 'otp-sent'
  readonly otp_id: string
}

export type GrantAnswer = TokenAnswer | OtpSent

/** What it takes to get a token: one row of the table of grants. */
export type Grant = (request: TokenRequest) => Promise<GrantAnswer>

/** The handlers by `grant_type` (protocol.md §2.1). */
export type Grants = ReadonlyMap<string, Grant>

/** Throws `INVALID_REQUEST`, `UNSUPPORTED_GRANT_TYPE`, and what the grant does. */
export function answerGrant(grants: Grants, request: TokenRequest): Promise<GrantAnswer> {
  const type = requireText(request.parameters, 'grant_type')
  const grant = grants.get(type)
  if (grant !== undefined) return grant(request)
  throw new SatchelError(
    'UNSUPPORTED_GRANT_TYPE',
    `The grant type ${quoted(type)} is not supported`,
  )
}

import { quoted, SatchelError } from '../domain/value/error'
import { authorizationCode } from './grant/authorization-code'
import { clientCredentials } from './grant/client-credentials'
import { demo } from './grant/demo'
import type { Grant, GrantParts } from './grant/grant'
import { requireText } from './grant/parameters'
import { refresh } from './grant/refresh'
import { otpEmail } from './otp/otp-request'
import { otp, otpToken } from './otp/otp-redemption'

/** Every `grant_type` of `POST /token` (protocol.md §2.1, §14.1). */
const GRANTS: ReadonlyMap<string, (parts: GrantParts) => Grant> = new Map([
  ['client_credentials', clientCredentials],
  ['refresh_token', refresh],
  ['demo', demo],
  ['otp', otp],
  ['otp-email', otpEmail],
  ['otp-token', otpToken],
  ['authorization_code', authorizationCode],
])

/**
 * Answers token requests by their `grant_type`. Throws `INVALID_REQUEST`, `UNSUPPORTED_GRANT_TYPE`,
 * and as the grant.
 */
export function openGrants(parts: GrantParts): Grant {
  const grants = new Map([...GRANTS].map(([type, open]) => [type, open(parts)]))
  return (request) => {
    const type = requireText(request.parameters, 'grant_type')
    const grant = grants.get(type)
    if (grant !== undefined) return grant(request)
    throw new SatchelError(
      'UNSUPPORTED_GRANT_TYPE',
      `The grant type ${quoted(type)} is not supported`,
    )
  }
}

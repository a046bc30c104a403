import { DEMO_DOMAIN } from '../../domain/value/email'
import { quoted, SatchelError } from '../../domain/value/error'
import { grantScopes } from '../../domain/value/scope'
import { requireUserId } from '../../domain/value/user-id'
import type { Grant, GrantParts } from './grant'
import { requireText, findPublicKey, requestedScopes } from './parameters'
import { claimsOf, PERSON_SCOPES } from '../person/person'
import { findUser, PUBLIC_CLIENT } from '../../domain/access/actor'

/**
 * Any caller may log in as a demo user, who must have been imported (protocol.md §2.5, §7). The domain
 * without mailboxes is required too: a type can be set by mistake.
 */
export function demo({ database, issuer }: GrantParts): Grant {
  return async ({ parameters, count }) => {
    const id = requireUserId(requireText(parameters, 'demo_user'), 'INVALID_REQUEST')
    const scopes = grantScopes(requestedScopes(parameters), PERSON_SCOPES)
    const publicKey = findPublicKey(parameters)
    const user = await database.read((tx) => findUser(tx, id))
    if (user?.type !== 'demo' || !id.endsWith(DEMO_DOMAIN)) {
      throw new SatchelError('USER_NOT_REGISTERED', `There is no demo user ${quoted(id)}`)
    }
    const claims = claimsOf(user, id)
    return await issuer.issue({
      clientId: PUBLIC_CLIENT,
      claims,
      scopes,
      publicKey,
      intent: 'login',
      count,
    })
  }
}

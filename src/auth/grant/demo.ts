import { DEMO_DOMAIN } from '../../domain/value/email'
import { quoted, SatchelError } from '../../domain/value/error'
import { grantScopes } from '../../domain/value/scope'
import type { Database } from '../../domain/store/store'
import { requireUserId } from '../../domain/value/user-id'
import type { Grant } from './grant'
import type { Issuer } from './issuer'
import { requireScopes, requireText } from './parameters'
import { claimsOf, PERSON_SCOPES } from '../person/person'
import { findPublicKey } from './public-key'
import { findUser, PUBLIC_CLIENT } from '../../domain/access/actor'

/**
 * Anybody may be a demo user that was imported; nobody becomes one by logging in (protocol.md §2.5,
 * §7). Only the domain that has no mailboxes counts: a type can be set by mistake.
 */
export function demo(database: Database, issuer: Issuer): Grant {
  return async ({ parameters, count }) => {
    const id = requireUserId(requireText(parameters, 'demo_user'), 'INVALID_REQUEST')
    const scopes = grantScopes(requireScopes(parameters), PERSON_SCOPES)
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

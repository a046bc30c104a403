import { SatchelError } from '../../domain/value/error'
import { grantScopes } from '../../domain/value/scope'
import { hashSecret, newSecret } from '../../domain/value/secret'
import type { WriteTx } from '../../domain/store/store'
import { type Grant, withRedeemed, type GrantParts } from './grant'
import { findScopes, requireText, findPublicKey, findIntent } from './parameters'
import { claimsOf, PERSON_SCOPES } from '../person/person'
import { PUBLIC_CLIENT } from '../../domain/access/actor'
import type { Person } from '../../domain/user/policy'
import { isLive, type Code } from '../../domain/store/credentials'
import { HOUR, MINUTE } from '../../domain/value/time'
import { MAX_PRUNED_ROWS } from '../limits'

/**
 * Exchanges the code of a login with an outside provider for tokens (protocol.md §2.3, §3.3). A code
 * that is used twice may have been stolen: its tokens end (RFC 6749 §4.1.2).
 */
export function authorizationCode(parts: GrantParts): Grant {
  const { database, clock, admission, issuer, longestLife } = parts
  return async ({ parameters, count }) => {
    const id = hashSecret(requireText(parameters, 'code'))
    const scopes = grantScopes(findScopes(parameters) ?? PERSON_SCOPES, PERSON_SCOPES)
    const publicKey = findPublicKey(parameters)
    const intent = findIntent(parameters)
    const now = clock.now()
    const code = await database.write((tx) => redeem(tx, id, now, now + longestLife))
    if (code === undefined) {
      throw new SatchelError(
        'INVALID_OTP',
        'This login has expired or was used already: log in again',
      )
    }
    return await withRedeemed(database, code, async () => {
      const person = personOf(code)
      const user = await admission.admit(person, intent)
      const claims = claimsOf(user, person.email, person.name)
      const order = { clientId: PUBLIC_CLIENT, claims, scopes, publicKey, intent, count }
      return await issuer.issue({ ...order, login: code.id })
    })
  }
}

/** Stores a new code for `person`, valid for a few minutes. `now` in ms. */
export function issueCode(tx: WriteTx, person: Person, now: number): string {
  const code = newSecret()
  tx.codes.put({
    id: hashSecret(code),
    kind: 'authorization',
    hash: null,
    subject: person.id,
    scopes: PERSON_SCOPES,
    state: { email: person.email, name: person.name },
    attempts: 0,
    created: now,
    expires: now + CODE_LIFE_MS,
    used: null,
  })
  tx.prune('codes', now - HOUR, MAX_PRUNED_ROWS)
  return code
}

/** How often a code may be used while the decision about its holder fails. */
const MAX_USES = 5
/** Five minutes (protocol.md §3.3, promise 17). */
const CODE_LIFE_MS = 5 * MINUTE
/** Codes of the last hour are kept: they count towards the limits (promise 21). */

/** Redeems the code in this unit; undefined when it is unknown or no longer valid. */
function redeem(tx: WriteTx, id: string, now: number, lastTokenEnds: number): Code | undefined {
  const code = tx.codes.find(id)
  if (code === undefined || code.kind !== 'authorization') return undefined
  if (code.used !== null) {
    tx.logins.revoke(id, lastTokenEnds)
    tx.refreshTokens.removeOf({ login: id })
    return undefined
  }
  if (!isLive(code, now, MAX_USES)) return undefined
  // Kept as long as its tokens may live, to recognize a second use.
  tx.codes.put({ ...code, used: now, expires: lastTokenEnds })
  return code
}

function personOf({ subject, state }: Code): Person {
  return { id: subject, email: textOf(state['email']), name: textOf(state['name']) }
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null
}

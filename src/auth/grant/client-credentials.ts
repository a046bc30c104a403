import type { Clock } from '../../clock'
import { authenticateClient, type ClientCredentials } from '../../domain/database/client'
import { SatchelError } from '../../domain/value/error'
import { grantScopes } from '../../domain/value/scope'
import type { Database } from '../../domain/store/store'
import { readBasic } from './basic'
import { type PersonClaims, requireClaims } from './claims'
import type { Grant, TokenRequest } from './grant'
import type { Issuer } from './issuer'
import { type Parameters, requireScopes, requireText } from './parameters'
import { requirePublicKey } from './public-key'
import { parseTimespan } from './timespan'
import type { Client } from '../../domain/store/records'

/**
 * A server with an id and a secret asks for a token for itself or, with `claims`, for one of its
 * users (spec.md §2.1, protocol.md §2.1, RFC 6749 §4.4).
 */
export function clientCredentials(database: Database, clock: Clock, issuer: Issuer): Grant {
  return async (request) => {
    const { parameters, count } = request
    const credentials = requireCredentials(request)
    const client = await database.read((tx) => authenticateClient(tx, credentials, clock.now()))
    return issuer.issue({
      clientId: client.id,
      scopes: grantScopes(requireScopes(parameters), client.scopes),
      claims: findClaims(parameters, client),
      publicKey: optional(parameters, 'public_key', requirePublicKey),
      expiresIn: optional(parameters, 'expires_in', parseTimespan),
      notBefore: optional(parameters, 'not_before', parseTimespan),
      count,
    })
  }
}

/** From the header or from the body, but from one of them (RFC 6749 §2.3). */
function requireCredentials({ parameters, authorization }: TokenRequest): ClientCredentials {
  const basic = readBasic(authorization)
  if (basic === undefined) {
    return {
      clientId: requireText(parameters, 'client_id'),
      clientSecret: requireText(parameters, 'client_secret'),
    }
  }
  const isSecond =
    isPresent(parameters['client_secret']) ||
    (isPresent(parameters['client_id']) && parameters['client_id'] !== basic.clientId)
  if (!isSecond) return basic
  throw new SatchelError(
    'INVALID_REQUEST',
    'The client credentials are in the header and in the body: send them once',
  )
}

function findClaims(parameters: Parameters, client: Client): PersonClaims | null {
  if (!isPresent(parameters['claims'])) return null
  if (!client.scopes.includes('IMPERSONATE')) {
    throw new SatchelError(
      'UNAUTHORIZED_CLIENT',
      '"claims" asks for a token of someone else, which needs a client with the scope IMPERSONATE',
    )
  }
  return requireClaims(parameters['claims'])
}

function optional<T>(
  parameters: Parameters,
  name: string,
  read: (value: unknown, name: string) => T,
): T | undefined {
  const value = parameters[name]
  return isPresent(value) ? read(value, name) : undefined
}

function isPresent(value: unknown): boolean {
  return value !== undefined && value !== null
}

import { createPrivateKey, sign } from 'node:crypto'
import type { ClientAuth, Configuration, CustomFetch, ServerMetadata } from 'openid-client'
import { type Clock, systemClock } from '../../clock'
import { quoted, SatchelError } from '../../domain/value/error'
import type { Vault } from '../../domain/store/vault'
import { type Outbound, OutboundError } from '../../net/outbound'
import { type Endpoints, locate, PROVIDER_FACTS } from './provider-facts'
import type { Provider } from '../../domain/store/records'
import { HOUR } from '../../domain/value/time'
import { isRecord } from '../../domain/value/value'

/** The configurations of providers for the OpenID library. */
export interface ProviderClients {
  /** Reads the discovery document again after an hour. Throws `PROVIDER_FAILED`. */
  get(provider: Provider): Promise<Configuration>
}

export interface ProviderClientParts {
  readonly clock: Clock
  readonly vault: Vault
  readonly outbound: Outbound
}

export function createProviderClients(parts: ProviderClientParts): ProviderClients {
  const kept = new Map<string, Kept>()
  return {
    async get(provider) {
      const now = parts.clock.now()
      const row = JSON.stringify(provider)
      const known = kept.get(provider.id)
      const isFresh = known?.row === row && now >= known.made && now < known.made + KEPT_FOR
      const entry = isFresh ? known : { row, made: now, client: connect(provider, parts) }
      kept.set(provider.id, entry)
      try {
        return await entry.client
      } catch (error) {
        if (kept.get(provider.id) === entry) kept.delete(provider.id)
        throw providerFailure(provider, error)
      }
    },
  }
}

/** The label under which the vault keeps the secret of a provider. */
export function secretLabel(id: string): string {
  return `provider ${id}`
}

/**
 * The failure of a provider, in a sentence for the administrator. The error itself is left out: errors
 * of the library contain answers of the provider, and these contain tokens.
 */
export function providerFailure({ displayName }: Provider, error: unknown): SatchelError {
  if (error instanceof SatchelError) return error
  const reason = reasonsOf(error).join(': ')
  return new SatchelError('PROVIDER_FAILED', `The login provider ${displayName} failed: ${reason}`)
}

/** The provider's own error code (RFC 6749 §5.2), also if it comes with a 200. */
export function providerError(error: unknown): string | undefined {
  for (const cause of causes(error)) {
    const { body } = isRecord(cause.cause) ? cause.cause : {}
    const word = 'error' in cause ? cause.error : isRecord(body) ? body['error'] : undefined
    if (typeof word === 'string') return word
  }
  return undefined
}

interface Kept {
  readonly row: string
  readonly made: number
  readonly client: Promise<Configuration>
}

/** A discovery document changes rarely, but it does. */
const KEPT_FOR = HOUR
/** Seconds. The library's own limit; ours is shorter. */
const TIMEOUT_SECONDS = 15

async function connect(
  provider: Provider,
  { clock, vault, outbound }: ProviderClientParts,
): Promise<Configuration> {
  const openid = await import('openid-client')
  const authentication = await createAuthentication(provider, clock, vault)
  const fetch = fetchBy(outbound)
  const whereabouts = locate(provider)
  const metadata = {
    // The library reads the system's clock: this is how far ours is from it, in seconds.
    [openid.clockSkew]: Math.round((clock.now() - systemClock.now()) / 1000),
  }
  if (typeof whereabouts === 'string') {
    return await openid.discovery(
      new URL(whereabouts),
      provider.clientId,
      metadata,
      authentication,
      {
        // Whether http will do is decided by where it leads: see outbound.ts.
        execute: [openid.allowInsecureRequests, openid.enableNonRepudiationChecks],
        timeout: TIMEOUT_SECONDS,
        [openid.customFetch]: fetch,
      },
    )
  }
  const client = new openid.Configuration(
    toMetadata(whereabouts),
    provider.clientId,
    metadata,
    authentication,
  )
  openid.allowInsecureRequests(client)
  client.timeout = TIMEOUT_SECONDS
  client[openid.customFetch] = withoutIdTokens(fetch)
  return client
}

function toMetadata({
  issuer,
  authorizationUrl,
  tokenUrl,
  userInfoUrl,
}: Endpoints): ServerMetadata {
  return {
    // The library needs one.
    issuer: issuer ?? new URL(authorizationUrl).origin,
    authorization_endpoint: authorizationUrl,
    token_endpoint: tokenUrl,
    userinfo_endpoint: userInfoUrl,
  }
}

/** The client authentication at the token endpoint. */
async function createAuthentication(
  provider: Provider,
  clock: Clock,
  vault: Vault,
): Promise<ClientAuth> {
  const { None, ClientSecretBasic, ClientSecretPost } = await import('openid-client')
  const { id, type, sealedSecret, clientId, options } = provider
  if (sealedSecret === null) return None()
  const secret = vault.open(sealedSecret, secretLabel(id))
  if (PROVIDER_FACTS[type].credential === 'key') {
    return (server, ...rest) => {
      const signed = signClientSecret(secret, clientId, options, server.issuer, clock.now())
      ClientSecretPost(signed)(server, ...rest)
    }
  }
  const [post, basic] = [ClientSecretPost(secret), ClientSecretBasic(secret)]
  return (server, ...rest) => {
    const methods = server.token_endpoint_auth_methods_supported
    const takesPost = methods === undefined || methods.includes('client_secret_post')
    return (takesPost ? post : basic)(server, ...rest)
  }
}

/** Apple's client secret: a JWT, ES256, that its key signs for a few minutes. */
function signClientSecret(
  privateKey: string,
  clientId: string,
  { teamId = '', keyId = '' }: Provider['options'],
  audience: string,
  now: number,
): string {
  const issued = Math.floor(now / 1000)
  const header = { alg: 'ES256', kid: keyId }
  const claims = { iss: teamId, iat: issued, exp: issued + 300, aud: audience, sub: clientId }
  const text = [header, claims].map(encode).join('.')
  const key = { key: createPrivateKey(privateKey), dsaEncoding: 'ieee-p1363' } as const
  return `${text}.${sign('sha256', Buffer.from(text), key).toString('base64url')}`
}

function encode(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}

function fetchBy(outbound: Outbound): CustomFetch {
  return (url, { method, headers, body }) => {
    const isEmpty = body === undefined || body === null
    if (isEmpty || typeof body === 'string' || body instanceof URLSearchParams) {
      return outbound(url, { method, headers, ...(isEmpty ? {} : { body: String(body) }) })
    }
    throw new TypeError('a body of this kind is not sent to providers')
  }
}

/**
 * A provider without OpenID may still send id tokens. They are removed: nothing in them is used, and
 * they cannot be verified.
 */
function withoutIdTokens(fetch: CustomFetch): CustomFetch {
  return async (url, options) => {
    const response = await fetch(url, options)
    const body: unknown = await response
      .clone()
      .json()
      .catch(() => undefined)
    if (!isRecord(body) || !Object.hasOwn(body, 'id_token')) return response
    const { status, headers } = response
    const { id_token: _, ...rest } = body
    return Response.json(rest, { status, headers })
  }
}

/** The reasons that the outbound call, the provider or the library gives, in this order. */
function reasonsOf(error: unknown): string[] {
  const chain = [...causes(error)]
  const unreached = chain.find((cause) => cause instanceof OutboundError)
  if (unreached !== undefined) return [unreached.message]
  const word = providerError(error)
  if (word !== undefined) return [quoted(word)]
  const said = chain.filter((cause) => 'code' in cause && String(cause.code).startsWith('OAUTH_'))
  if (said.length > 0) return said.map(({ message }) => message)
  return [error instanceof Error ? error.message : 'unknown reason']
}

function* causes(error: unknown): Generator<Error> {
  for (let cause = error; cause instanceof Error; cause = cause.cause) yield cause
}

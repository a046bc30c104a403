import type { Configuration } from 'openid-client'
import { SatchelError } from '../../domain/value/error'
import type { LoginProof } from './login-state'
import { providerFailure } from './provider-client'
import {
  isOpenId,
  locate,
  PROVIDER_FACTS,
  usualScopes,
  type Claims,
  type Identity,
} from './provider-facts'
import type { Provider } from '../../domain/store/records'
import { isRecord } from '../../domain/value/value'

/** One login at one provider. */
export interface ProviderCall {
  readonly provider: Provider
  readonly client: Configuration
  /** The address that the provider sends the browser back to. */
  readonly callback: string
  /** The `state` parameter. */
  readonly state: string
  readonly proof: LoginProof
}

/** The address of the provider's login page. `scopes`: those that the application requested, or null. */
export async function beginAtProvider(
  { provider, client, callback, state, proof }: ProviderCall,
  scopes: readonly string[] | null,
): Promise<string> {
  const { buildAuthorizationUrl, calculatePKCECodeChallenge } = await import('openid-client')
  const facts = PROVIDER_FACTS[provider.type]
  const scope = chooseScopes(provider, scopes)
  const url = buildAuthorizationUrl(client, {
    ...facts.parameters,
    redirect_uri: callback,
    ...(scope === '' ? {} : { scope }),
    state,
    ...(isOpenId(provider) ? { nonce: proof.nonce } : {}),
    ...(usesPkce(provider, client)
      ? {
          code_challenge: await calculatePKCECodeChallenge(proof.verifier),
          code_challenge_method: 'S256',
        }
      : {}),
  })
  if (url.protocol === 'https:' || url.protocol === 'http:') return url.href
  throw new SatchelError('PROVIDER_FAILED', 'The login page of the provider is not a web page')
}

/**
 * The person, from the parameters that the provider gave the browser: they are checked (`iss`,
 * RFC 9207; `nonce`), the provider's code becomes tokens, and these identify the user. Throws
 * `NOT_AUTHORIZED` for a cancelled login and `PROVIDER_FAILED` for everything else.
 */
export async function identifyAtProvider(
  call: ProviderCall,
  query: URLSearchParams,
): Promise<Identity> {
  const { provider, client } = call
  requireConsent(query)
  try {
    const tokens = await exchange(call, query)
    const load = (path: string) => loadFrom(client, tokens, path)
    const claims = isOpenId(provider) ? await findClaims(client, tokens) : await load('')
    if (!isRecord(claims)) throw new Error('the description of the user is not an object')
    const identity = await PROVIDER_FACTS[provider.type].identify({ provider, claims, load })
    return { ...identity, name: identity.name ?? findName(query.get('user')) }
  } catch (error) {
    throw providerFailure(provider, error)
  }
}

/** The error codes of providers for a cancelled login. */
const CANCELLATIONS = new Set([
  'access_denied',
  'user_cancelled_authorize',
  'user_cancelled_login',
  'consent_required',
])

function requireConsent(query: URLSearchParams): void {
  if (!CANCELLATIONS.has(query.get('error') ?? '')) return
  throw new SatchelError('NOT_AUTHORIZED', 'access_denied: the login was cancelled')
}

async function exchange(call: ProviderCall, query: URLSearchParams) {
  const { authorizationCodeGrant } = await import('openid-client')
  const { provider, client, callback, state, proof } = call
  const returned = new URL(callback)
  returned.search = query.toString()
  // Without a known issuer the library could not compare it; callback and state identify the provider.
  if (!isNamed(provider)) returned.searchParams.delete('iss')
  return await authorizationCodeGrant(client, returned, {
    expectedState: state,
    ...(usesPkce(provider, client) ? { pkceCodeVerifier: proof.verifier } : {}),
    ...(isOpenId(provider) ? { expectedNonce: proof.nonce, idTokenExpected: true } : {}),
  })
}

type Tokens = Awaited<ReturnType<typeof exchange>>

/** The claims of the id token and, when it has no address, of the user info. */
async function findClaims(client: Configuration, tokens: Tokens): Promise<Claims> {
  const claims = tokens.claims()
  const { userinfo_endpoint } = client.serverMetadata()
  if (claims === undefined || claims['email'] !== undefined || userinfo_endpoint === undefined) {
    return claims ?? {}
  }
  const { fetchUserInfo } = await import('openid-client')
  return { ...claims, ...(await fetchUserInfo(client, tokens.access_token, claims.sub)) }
}

/** JSON from the provider's own interface: the user info, or `path` below it. */
async function loadFrom(client: Configuration, tokens: Tokens, path: string): Promise<unknown> {
  const { fetchProtectedResource } = await import('openid-client')
  const url = new URL(`${client.serverMetadata().userinfo_endpoint}${path}`)
  const headers = new Headers({ accept: 'application/json' })
  const response = await fetchProtectedResource(
    client,
    tokens.access_token,
    url,
    'GET',
    undefined,
    headers,
  )
  if (response.ok) return await response.json()
  throw new Error(`${url.host}${url.pathname} answers ${response.status}`)
}

/** False for a provider whose issuer is not configured. */
function isNamed(provider: Provider): boolean {
  const whereabouts = locate(provider)
  return typeof whereabouts === 'string' || whereabouts.issuer !== null
}

function usesPkce({ type }: Provider, client: Configuration): boolean {
  return PROVIDER_FACTS[type].knowsPkce || client.serverMetadata().supportsPKCE()
}

/** The requested scopes, else the configured ones; always with those that identify the user. May be empty. */
function chooseScopes(provider: Provider, scopes: readonly string[] | null): string {
  const { needed: own } = PROVIDER_FACTS[provider.type]
  const needed = isOpenId(provider) ? ['openid', 'email'] : own
  return [...new Set([...needed, ...(scopes ?? provider.scopes ?? usualScopes(provider))])].join(
    ' ',
  )
}

/** Apple sends a person's name once, beside the code. */
function findName(user: string | null): string | null {
  if (user === null) return null
  try {
    const { name } = JSON.parse(user) as { readonly name?: unknown }
    const { firstName = '', lastName = '' } = name as Readonly<Record<string, unknown>>
    return `${String(firstName)} ${String(lastName)}`.trim().slice(0, MAX_NAME_CHARACTERS) || null
  } catch {
    return null
  }
}

const MAX_NAME_CHARACTERS = 200

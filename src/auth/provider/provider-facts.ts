import { SatchelError } from '../../domain/value/error'
import type { Provider, ProviderOptions, ProviderType } from '../../domain/store/records'
import { isRecord } from '../../domain/value/value'

/** The facts of a type of providers (protocol.md §3.3). The options of a provider override them. */
export interface ProviderFacts {
  readonly displayName: string
  /** A client secret, or a key that signs one (Apple). */
  readonly credential: 'text' | 'key'
  /** The required options. */
  readonly requires: readonly (keyof ProviderOptions)[]
  /** The issuer, whose discovery document has the endpoints; undefined without such a document. */
  readonly issuer?: (options: ProviderOptions) => string
  /** The endpoints of a provider without a discovery document. */
  readonly endpoints?: Endpoints
  /** The scopes that are requested unless others are configured: see `usualScopes`. */
  readonly scopes: readonly string[]
  /** Scopes that are always requested from a provider without OpenID Connect. */
  readonly needed: readonly string[]
  /** True when it supports PKCE although its discovery document may not say so. */
  readonly knowsPkce: boolean
  /** More parameters for its login page. */
  readonly parameters: Readonly<Record<string, string>>
  readonly identify: Identify
}

export interface Endpoints {
  /** Null when no issuer is configured. */
  readonly issuer: string | null
  readonly authorizationUrl: string
  readonly tokenUrl: string
  readonly userInfoUrl: string
}

const OPENID = {
  credential: 'text',
  requires: [],
  scopes: ['openid', 'email', 'profile'],
  needed: [],
  knowsPkce: true,
  parameters: {},
  identify: identifyByClaims,
} as const satisfies Partial<ProviderFacts>

export const PROVIDER_FACTS: Readonly<Record<ProviderType, ProviderFacts>> = {
  google: {
    ...OPENID,
    displayName: 'Google',
    issuer: () => 'https://accounts.google.com',
  },
  microsoft: {
    ...OPENID,
    displayName: 'Microsoft',
    issuer: ({ tenant = 'common' }) => `https://login.microsoftonline.com/${tenant}/v2.0`,
    identify: identifyByMicrosoft,
  },
  github: {
    ...OPENID,
    displayName: 'GitHub',
    endpoints: {
      issuer: 'https://github.com/login/oauth',
      authorizationUrl: 'https://github.com/login/oauth/authorize',
      tokenUrl: 'https://github.com/login/oauth/access_token',
      userInfoUrl: 'https://api.github.com/user',
    },
    scopes: ['read:user', 'user:email'],
    needed: ['user:email'],
    identify: identifyByGitHub,
  },
  apple: {
    ...OPENID,
    displayName: 'Apple',
    credential: 'key',
    requires: ['teamId', 'keyId'],
    issuer: () => 'https://appleid.apple.com',
    scopes: ['openid', 'email', 'name'],
    knowsPkce: false,
    // Without it Apple gives no e-mail address.
    parameters: { response_mode: 'form_post' },
  },
  'custom-oauth2': { ...OPENID, displayName: 'OpenID' },
}

/**
 * The issuer, whose discovery document has the endpoints, or the endpoints themselves. Throws
 * `UNPROCESSABLE` when neither is known.
 */
export function locate({ type, options }: Pick<Provider, 'type' | 'options'>): string | Endpoints {
  const facts = PROVIDER_FACTS[type]
  const { issuer, authorizationUrl, tokenUrl, userInfoUrl } = { ...facts.endpoints, ...options }
  if (authorizationUrl !== undefined && tokenUrl !== undefined && userInfoUrl !== undefined) {
    return { issuer: issuer ?? null, authorizationUrl, tokenUrl, userInfoUrl }
  }
  const found = issuer ?? facts.issuer?.(options)
  if (found !== undefined) return found
  throw new SatchelError(
    'UNPROCESSABLE',
    'The addresses of the provider are missing: give --issuer, or --authorization-url, --token-url and --user-info-url',
  )
}

/** True for a provider with OpenID Connect: it issues id tokens. */
export function isOpenId(provider: Pick<Provider, 'type' | 'options'>): boolean {
  return typeof locate(provider) === 'string'
}

/** The default scopes of a provider. */
export function usualScopes(provider: Pick<Provider, 'type' | 'options'>): readonly string[] {
  const { endpoints, scopes } = PROVIDER_FACTS[provider.type]
  return isOpenId(provider) || endpoints !== undefined ? scopes : PLAIN_SCOPES
}

/** Providers without OpenID would refuse its scopes; most of them know this one. */
const PLAIN_SCOPES = ['email']

/** The identity of a person, as reported by a provider. */
export interface Identity {
  readonly email: string | null
  /** The provider made sure that the address is theirs. */
  readonly isVerified: boolean
  readonly name: string | null
}

export type Claims = Readonly<Record<string, unknown>>

/** The claims of a provider after a login. */
export interface ProviderAnswer {
  readonly provider: Provider
  /** The claims of the id token, or the user info. */
  readonly claims: Claims
  /** The JSON of the provider's own API at a path beneath the user info address. */
  readonly load: (path: string) => Promise<unknown>
}

export type Identify = (answer: ProviderAnswer) => Identity | Promise<Identity>

/** By the claims of OpenID Connect Core §5.1. */
export function identifyByClaims({ provider, claims }: ProviderAnswer): Identity {
  const verified = claims['email_verified']
  return {
    email: textOf(claims['email']),
    // Apple sends it as text; a missing one counts as verified only if the administrator said so.
    isVerified:
      isTrue(verified) || (verified === undefined && provider.options.trustsEmail === true),
    name: textOf(claims['name']),
  }
}

/**
 * An administrator of a tenant may write any address into its accounts, so among many tenants an
 * address proves nothing: unless Microsoft says that the domain is that tenant's (`xms_edov`), or
 * the account is a personal one. The administrators of a configured tenant are trusted.
 */
export function identifyByMicrosoft(answer: ProviderAnswer): Identity {
  const { provider, claims } = answer
  const { tenant = 'common' } = provider.options
  const isVerified =
    isTrue(claims['xms_edov']) ||
    claims['tid'] === PERSONAL_ACCOUNTS ||
    !ACCOUNTS_OF_MANY.has(tenant.toLowerCase())
  const identity = identifyByClaims(answer)
  return { ...identity, isVerified: identity.isVerified || isVerified }
}

/** By GitHub's own interface: the primary address, and whether it is verified. */
export async function identifyByGitHub({ claims, load }: ProviderAnswer): Promise<Identity> {
  const emails = await load('/emails')
  const list: readonly unknown[] = Array.isArray(emails) ? emails : []
  const primary = list.filter(isRecord).find((entry) => entry['primary'] === true)
  return {
    email: textOf(primary?.['email']),
    isVerified: primary?.['verified'] === true,
    name: textOf(claims['name']) ?? textOf(claims['login']),
  }
}

const PERSONAL_ACCOUNTS = '9188040d-6c67-4c5b-b112-36a304b66dad'
const ACCOUNTS_OF_MANY = new Set(['common', 'organizations'])

function isTrue(value: unknown): boolean {
  return value === true || value === 'true' || value === 1 || value === '1'
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' && value !== '' && value.isWellFormed() ? value : null
}

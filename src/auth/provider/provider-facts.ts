import { SatchelError } from '../../domain/value/error'
import {
  type Identify,
  identifyByClaims,
  identifyByGitHub,
  identifyByMicrosoft,
} from './provider-identity'
import type { Provider, ProviderOptions, ProviderType } from '../../domain/store/records'

/** The facts of a type of providers (protocol.md §3.3). An option of a provider goes first. */
export interface ProviderFacts {
  readonly displayName: string
  /** What it proves itself with: a client secret, or a key that signs one (Apple). */
  readonly credential: 'text' | 'key'
  /** The options it cannot do without. */
  readonly requires: readonly (keyof ProviderOptions)[]
  /** Whose discovery document says where everything is; undefined where there is no such document. */
  readonly issuer?: (options: ProviderOptions) => string
  /** Where everything is, without a document. */
  readonly endpoints?: Endpoints
  /** The scopes that are asked for unless others are configured: see `usualScopes`. */
  readonly scopes: readonly string[]
  /** Those that are asked for always, where `openid` and `email` are unknown. */
  readonly needed: readonly string[]
  /** Whether it knows PKCE although its discovery document may not say so. */
  readonly knowsPkce: boolean
  /** What else its login page is told. */
  readonly parameters: Readonly<Record<string, string>>
  readonly identify: Identify
}

export interface Endpoints {
  /** What it calls itself, or null when nobody said. */
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
 * The issuer whose discovery document says where everything is, or where everything is. Throws
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

/** True for a provider that speaks OpenID Connect: it gives id tokens. */
export function isOpenId(provider: Pick<Provider, 'type' | 'options'>): boolean {
  return typeof locate(provider) === 'string'
}

/** What a provider is asked for unless somebody says otherwise. */
export function usualScopes(provider: Pick<Provider, 'type' | 'options'>): readonly string[] {
  const { endpoints, scopes } = PROVIDER_FACTS[provider.type]
  return isOpenId(provider) || endpoints !== undefined ? scopes : PLAIN_SCOPES
}

/** Providers without OpenID would refuse its scopes; most of them know this one. */
const PLAIN_SCOPES = ['email']

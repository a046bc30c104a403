import type { Provider } from '../../domain/store/records'

/** The identity of a person, as reported by a provider. */
export interface Identity {
  readonly email: string | null
  /** The provider made sure that the address is theirs. */
  readonly isVerified: boolean
  readonly name: string | null
}

export type Claims = Readonly<Record<string, unknown>>

/** What a provider says after a login. */
export interface ProviderAnswer {
  readonly provider: Provider
  /** Of the id token, or the description of the user. */
  readonly claims: Claims
  /** What the provider's own interface has at a path beneath the description, as JSON. */
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
 * the account is a personal one. The administrators of a tenant that was named are believed.
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

export function isRecord(value: unknown): value is Claims {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

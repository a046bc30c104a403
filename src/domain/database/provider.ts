import type { Clock } from '../../clock'
import { quoted, SatchelError } from '../value/error'
import type { ReadTx, WriteTx } from '../store/store'

export const PROVIDER_TYPES = ['google', 'microsoft', 'github', 'apple', 'custom-oauth2'] as const

export type ProviderType = (typeof PROVIDER_TYPES)[number]

/** Somebody outside who says who a person is (spec.md §2.4). */
export interface Provider {
  /** Its name in addresses. */
  readonly id: string
  readonly type: ProviderType
  readonly displayName: string
  readonly iconUrl: string | null
  /** What the provider knows this database by. */
  readonly clientId: string
  /** The client secret, or Apple's private key in PEM, in the vault; null for a public client. */
  readonly sealedSecret: string | null
  /** What is asked for, or null for what its type asks for. */
  readonly scopes: readonly string[] | null
  readonly options: ProviderOptions
  /** ms since the epoch. */
  readonly created: number
}

/** What only some types need, and where a provider is if not where its type is. */
export interface ProviderOptions {
  /** Microsoft: whose accounts may log in, a tenant's id or domain or a word for many. */
  readonly tenant?: string
  /** Apple. */
  readonly teamId?: string
  readonly keyId?: string
  /** Whose discovery document says the rest (OpenID Connect Discovery 1.0). */
  readonly issuer?: string
  readonly authorizationUrl?: string
  readonly tokenUrl?: string
  readonly userInfoUrl?: string
  /** Its e-mail addresses are verified although it does not say so. */
  readonly trustsEmail?: true
}

/** Adds the provider, or replaces the one with its name, which keeps its place. */
export async function putProvider(
  tx: WriteTx,
  clock: Clock,
  draft: Omit<Provider, 'created'>,
): Promise<Provider> {
  const known = await tx.providers.find(draft.id)
  const provider = { ...draft, created: known?.created ?? clock.now() }
  await tx.providers.put(provider)
  return provider
}

/** Removes the provider. Throws `UNKNOWN_PROVIDER`. */
export async function removeProvider(tx: WriteTx, id: string): Promise<void> {
  if (!(await tx.providers.remove(id))) throw unknown(id)
}

/** In the order they were added. */
export async function listProviders(tx: ReadTx): Promise<readonly Provider[]> {
  return tx.remember('providers', async () => {
    const providers = await tx.providers.list()
    return providers.toSorted((a, b) => a.created - b.created)
  })
}

/** Throws `UNKNOWN_PROVIDER`. */
export async function getProvider(tx: ReadTx, id: string): Promise<Provider> {
  const provider = (await listProviders(tx)).find((candidate) => candidate.id === id)
  if (provider === undefined) throw unknown(id)
  return provider
}

function unknown(id: string): SatchelError {
  return new SatchelError('UNKNOWN_PROVIDER', `No login provider ${quoted(id)}`)
}

import { createPrivateKey } from 'node:crypto'
import { quoted, SatchelError } from '../../domain/value/error'
import { getProvider, putProvider } from '../../domain/database/provider'
import type { Database, ReadTx, Write } from '../../domain/store/store'
import type { SealedText, Vault } from '../../domain/store/vault'
import { isWebAddress } from '../../domain/value/web-address'
import type { Outbound } from '../../net/outbound'
import { createLoginStates } from './login-state'
import {
  createProviderClients,
  secretLabel,
  providerError,
  providerFailure,
} from './provider-client'
import { locate, PROVIDER_FACTS } from './provider-facts'
import { createProviderLogins, type ProviderLogins, callbackAddress } from './provider-login'
import type { SteadyClock } from '../steady-clock'
import {
  type Provider,
  PROVIDER_TYPES,
  type ProviderOptions,
  type ProviderType,
} from '../../domain/store/records'
import type { Configuration } from 'openid-client'

/** The login providers of one database. */
export interface Providers extends ProviderLogins {
  /** Adds a provider or replaces the one with its name. Throws `UNPROCESSABLE` with the reason. */
  put(draft: ProviderDraft, write?: Write): Promise<Provider>
  /** Asks the provider whether it knows us. Throws `UNKNOWN_PROVIDER`, `PROVIDER_FAILED`. */
  check(id: string, address: string | null): Promise<ProviderCheck>
}

export interface ProviderDraft {
  /** One of `PROVIDER_TYPES`. */
  readonly type: string
  /** Null: the type is taken as the id. */
  readonly id: string | null
  readonly displayName: string | null
  readonly iconUrl: string | null
  readonly clientId: string
  /** The client secret or the private key in PEM; null for a public client. */
  readonly secret: string | null
  readonly scopes: readonly string[] | null
  readonly options: ProviderOptions
}

export interface ProvidersParts {
  readonly database: Database
  readonly clock: SteadyClock
  readonly secretKey: Uint8Array
  readonly vault: Vault
  readonly outbound: Outbound
}

export function createProviders(parts: ProvidersParts): Providers {
  const { database, clock, secretKey, vault, outbound } = parts
  const clients = createProviderClients({ clock: clock.wall, vault, outbound })
  const states = createLoginStates(secretKey, database.id, clock)
  return {
    ...createProviderLogins({ database, clock, states, clients }),

    async put(draft, write: Write = (work) => database.write(work)) {
      const { secret, ...rest } = requireProvider(draft)
      const sealedSecret = secret === null ? null : vault.seal(secret, secretLabel(rest.id))
      return await write((tx) => putProvider(tx, clock.wall, { ...rest, sealedSecret }))
    },

    async check(id, address) {
      const provider = await database.read((tx) => getProvider(tx, id))
      return await checkAtProvider(provider, await clients.get(provider), address)
    },
  }
}

/** The secrets of the providers of a database as they are sealed. */
export function sealedProviders(tx: ReadTx): SealedText[] {
  return tx.providers.list().flatMap((provider) => {
    const { id, sealedSecret: sealed } = provider
    if (sealed === null) return []
    const replace: SealedText['replace'] = (tx, sealedSecret) =>
      tx.providers.put({ ...provider, sealedSecret })
    return [{ sealed, label: secretLabel(id), replace }]
  })
}

type CheckedDraft = Omit<Provider, 'created' | 'sealedSecret'> & { readonly secret: string | null }

function requireProvider(draft: ProviderDraft): CheckedDraft {
  const type = requireType(draft.type)
  const facts = PROVIDER_FACTS[type]
  const id = requireName(draft.id ?? type)
  const { clientId, iconUrl, scopes, options } = draft
  if (clientId.trim() === '') throw refusal('its client id is missing')
  for (const option of facts.requires) {
    if (options[option] === undefined) throw refusal(`${type} needs ${OPTION_NAMES[option]}`)
  }
  requireAddresses(type, options)
  if (iconUrl !== null) requireWebAddress(iconUrl, 'the icon')
  return {
    id,
    type,
    displayName: draft.displayName ?? (type === 'custom-oauth2' ? id : facts.displayName),
    iconUrl,
    clientId: clientId.trim(),
    secret: requireSecret(type, draft.secret),
    scopes,
    options,
  }
}

function requireType(text: string): ProviderType {
  const type = PROVIDER_TYPES.find((candidate) => candidate === text)
  if (type !== undefined) return type
  throw refusal(`${quoted(text)} is not a type of provider: use ${PROVIDER_TYPES.join(', ')}`)
}

function requireName(name: string): string {
  if (/^[a-z][a-z0-9-]{0,62}$/.test(name)) return name
  throw refusal(`${quoted(name)} is not a valid name: use lower-case letters, digits and "-"`)
}

/** Their names on the command line. */
const OPTION_NAMES: Readonly<Record<keyof ProviderOptions, string>> = {
  tenant: '--tenant',
  teamId: '--team-id',
  keyId: '--key-id',
  issuer: '--issuer',
  authorizationUrl: '--authorization-url',
  tokenUrl: '--token-url',
  userInfoUrl: '--user-info-url',
  trustsEmail: '--trust-email',
}

function requireAddresses(type: ProviderType, options: ProviderOptions): void {
  const { issuer, authorizationUrl, tokenUrl, userInfoUrl, tenant } = options
  const endpoints = { authorizationUrl, tokenUrl, userInfoUrl }
  for (const [name, url] of Object.entries({ issuer, ...endpoints })) {
    if (url !== undefined) requireWebAddress(url, OPTION_NAMES[name as keyof ProviderOptions])
  }
  const given = Object.values(endpoints).filter((url) => url !== undefined)
  const isPart = given.length > 0 && given.length < 3
  if (isPart && PROVIDER_FACTS[type].endpoints === undefined) {
    throw refusal('without a discovery document all three addresses are needed')
  }
  if (tenant !== undefined && !/^[\w.-]+$/.test(tenant)) {
    throw refusal('a tenant is an id, a domain, or common, organizations or consumers')
  }
  locate({ type, options })
}

function requireWebAddress(text: string, what: string): void {
  if (isWebAddress(text)) return
  throw refusal(`${what} must be an https address`)
}

function requireSecret(type: ProviderType, secret: string | null): string | null {
  const text = secret?.trim() ?? ''
  if (PROVIDER_FACTS[type].credential === 'text') {
    if (text !== '' || type === 'custom-oauth2') return text || null
    throw refusal(`${type} needs a client secret`)
  }
  if (isSigningKey(text)) return text
  throw refusal(`${type} needs the private key in PEM that it gave you (AuthKey_….p8)`)
}

function isSigningKey(pem: string): boolean {
  try {
    return createPrivateKey(pem).asymmetricKeyDetails?.namedCurve === 'prime256v1'
  } catch {
    return false
  }
}

function refusal(why: string): SatchelError {
  return new SatchelError('UNPROCESSABLE', `This provider cannot be added: ${why}`)
}

/** The metadata of a provider, and its answer about the client. */
export interface ProviderCheck {
  readonly issuer: string
  readonly authorizationUrl: string | null
  readonly tokenUrl: string | null
  /** The redirect address to register at the provider, or null while ours is unknown. */
  readonly callbackUrl: string | null
  /** `refused` when the client id or secret is wrong. */
  readonly client: 'accepted' | 'refused'
  /** The error code of its answer. */
  readonly answer: string
}

/**
 * Requests tokens with an invalid code: a provider refuses a wrong client id or secret before it looks
 * at the code. Throws `PROVIDER_FAILED`.
 */
export async function checkAtProvider(
  provider: Provider,
  client: Configuration,
  address: string | null,
): Promise<ProviderCheck> {
  const { issuer, authorization_endpoint, token_endpoint } = client.serverMetadata()
  const callbackUrl = address === null ? null : callbackAddress(address, provider.id)
  const answer = await tryCode(provider, client, callbackUrl ?? 'http://127.0.0.1/')
  return {
    issuer,
    authorizationUrl: authorization_endpoint ?? null,
    tokenUrl: token_endpoint ?? null,
    callbackUrl,
    client: REFUSALS.has(answer) ? 'refused' : 'accepted',
    answer,
  }
}

/** Error codes of RFC 6749 §5.2, and GitHub's own. */
const REFUSALS = new Set(['invalid_client', 'unauthorized_client', 'incorrect_client_credentials'])

async function tryCode(
  provider: Provider,
  client: Configuration,
  callback: string,
): Promise<string> {
  const { genericGrantRequest } = await import('openid-client')
  try {
    await genericGrantRequest(client, 'authorization_code', {
      code: 'satchel-provider-test',
      redirect_uri: callback,
      // As long as a verifier must be.
      code_verifier: 'satchel-provider-test'.padEnd(43, '-'),
    })
  } catch (error) {
    const answer = providerError(error)
    if (answer !== undefined) return answer
    throw providerFailure(provider, error)
  }
  return 'a token'
}

import { requireEmail } from '../../domain/value/email'
import { type ErrorCode, SatchelError } from '../../domain/value/error'
import { listOrigins } from '../../domain/database/origin'
import { getProvider } from '../../domain/database/provider'
import { requireRedirect, withParameter } from '../../domain/database/redirect'
import { newSecret } from '../../domain/value/secret'
import type { Database } from '../../domain/store/store'
import { requireUserId } from '../../domain/value/user-id'
import { issueCode } from '../grant/authorization-code'
import type { LoginState, LoginStates } from './login-state'
import { beginAtProvider, identifyAtProvider } from './provider-call'
import type { ProviderClients } from './provider-client'
import type { Identity } from './provider-facts'
import type { Clock } from '../../clock'
import type { Provider } from '../../domain/store/records'
import type { Person } from '../../domain/user/policy'
import { escapeUnits } from '../../domain/value/escape'
import { MAX_PRUNED_ROWS } from '../limits'

/** Logins with an outside provider (spec.md §4.4, protocol.md §3.3). */
export interface ProviderLogins {
  /**
   * Sends a browser to the provider. Throws `INVALID_REQUEST`, `ORIGIN_NOT_ALLOWED` and
   * `UNKNOWN_PROVIDER` while there is no other address to send it to.
   */
  begin(request: LoginRequest): Promise<LoginStep & { readonly browser: string }>
  /**
   * Sends a browser that comes from the provider back to its application, with a code or with the
   * error. Throws `INVALID_REQUEST` and `ORIGIN_NOT_ALLOWED` as `begin`.
   */
  finish(request: LoginReturn): Promise<LoginStep>
}

interface LoginContact {
  /** The name of the provider in the address. */
  readonly provider: string
  /** The secret that the browser keeps in a cookie, if it has one. */
  readonly browser: string | undefined
  /** The public address of the database. */
  readonly address: string
  readonly isDevelopment: boolean
}

export interface LoginRequest extends LoginContact {
  readonly redirectUri: string | null
  /** OAuth scopes separated by blanks, or null for those that are configured. */
  readonly scopes: string | null
}

export interface LoginReturn extends LoginContact {
  readonly query: URLSearchParams
}

/** Where the browser goes next. */
export interface LoginStep {
  readonly location: string
  /** The cause, for the log only. */
  readonly failure?: unknown
}

export interface ProviderLoginParts {
  readonly database: Database
  readonly clock: Clock
  readonly states: LoginStates
  readonly clients: ProviderClients
}

export function createProviderLogins(parts: ProviderLoginParts): ProviderLogins {
  const { database, clock, states, clients } = parts

  return {
    async begin(request) {
      const { address, redirectUri, isDevelopment } = request
      const redirect = await findRedirect(redirectUri, isDevelopment)
      const scopes = parseScopes(request.scopes)
      const provider = await database.read((tx) => getProvider(tx, request.provider))
      const browser = request.browser ?? newSecret()
      const login = { provider: provider.id, redirect: redirect.href }
      const { id, text: state, proof } = await states.begin(login, browser)
      try {
        const client = await clients.get(provider)
        const callback = callbackAddress(address, provider.id)
        const at = { provider, client, callback, state, proof }
        return { location: await beginAtProvider(at, scopes), browser }
      } catch (error) {
        return { ...failed(redirect, { id, provider: provider.id }, error), browser }
      }
    },

    async finish(request) {
      const state = await states.open(request.query.get('state'))
      const redirect = await findRedirect(state.redirect, request.isDevelopment)
      try {
        const code = await complete(state, request)
        return { location: returnAddress(redirect, state, { code }) }
      } catch (error) {
        return failed(redirect, state, error)
      }
    },
  }

  async function findRedirect(text: string | null, isDevelopment: boolean): Promise<URL> {
    const listed = await database.read((tx) => tx.remember('origins', () => listOrigins(tx)))
    return requireRedirect(text, { listed, isDevelopment })
  }

  /** The code for the application. */
  async function complete(state: LoginState, request: LoginReturn): Promise<string> {
    const { address, query } = request
    requireProvider(state, request.provider)
    const proof = states.prove(state, request.browser)
    await spend(state)
    const provider = await database.read((tx) => getProvider(tx, state.provider))
    const client = await clients.get(provider)
    const callback = callbackAddress(address, provider.id)
    const at = { provider, client, callback, state: query.get('state') ?? '', proof }
    const identity = await identifyAtProvider(at, query)
    const person = requirePerson(provider, identity)
    return await database.write((tx) => issueCode(tx, person, clock.now()))
  }

  /** Throws `INVALID_REQUEST` when it was spent before. */
  async function spend({ id, expires }: LoginState): Promise<void> {
    const isFirst = await database.write((tx) => {
      tx.prune('logins', clock.now(), MAX_PRUNED_ROWS)
      return tx.logins.spend(id, expires)
    })
    if (isFirst) return
    throw new SatchelError('INVALID_REQUEST', 'This login was used already: begin again')
  }
}

/** The redirect address to register at a provider. */
export function callbackAddress(address: string, provider: string): string {
  return `${address}/oauth/callback/${provider}`
}

/** The parameters added to the query of the application's address (protocol.md §3.3). */
const PARAMETER = 'dxc-auth'

/** The address to which the browser returns with the outcome of a login. */
export function returnAddress(
  redirect: URL,
  { id, provider }: Pick<LoginState, 'id' | 'provider'>,
  outcome: { readonly code: string } | { readonly error: string },
): string {
  const json = JSON.stringify({ ...outcome, provider, state: id })
  return withParameter(redirect, PARAMETER, Buffer.from(toAscii(json)).toString('base64url'))
}

/** The clients read it as Latin-1. */
function toAscii(json: string): string {
  return escapeUnits(json, /[^ -~]/g)
}

/** Refusals that the person caused or can resolve. */
const ABOUT_THE_LOGIN: readonly ErrorCode[] = [
  'INVALID_REQUEST',
  'NOT_AUTHORIZED',
  'UNKNOWN_PROVIDER',
]

/** Returns with the errors that concern the person; failures of a provider or the storage are for the administrator. */
function failed(
  redirect: URL,
  state: Pick<LoginState, 'id' | 'provider'>,
  error: unknown,
): LoginStep {
  const code = error instanceof SatchelError ? error.code : 'INTERNAL'
  if (error instanceof SatchelError && ABOUT_THE_LOGIN.includes(code)) {
    return { location: returnAddress(redirect, state, { error: error.message }) }
  }
  const culprit = code === 'PROVIDER_FAILED' ? 'login provider' : 'server'
  const message = `The login failed: the ${culprit} could not complete it. Try again later`
  return { location: returnAddress(redirect, state, { error: message }), failure: error }
}

function requireProvider(state: LoginState, provider: string): void {
  if (state.provider === provider) return
  throw new SatchelError(
    'INVALID_REQUEST',
    'This login was begun with another provider: begin again',
  )
}

/**
 * The person with an e-mail address, the same one for every login method. An address
 * that the provider did not verify may belong to another person: it leads to no user (promise 20).
 */
function requirePerson({ displayName }: Provider, { email, isVerified, name }: Identity): Person {
  if (email === null) {
    throw new SatchelError(
      'NOT_AUTHORIZED',
      `${displayName} gave no verified email address: add one to your account there and log in again`,
    )
  }
  if (!isVerified) {
    throw new SatchelError(
      'NOT_AUTHORIZED',
      `The email address is not verified at ${displayName}: verify it there and log in again`,
    )
  }
  const address = requireEmail(email)
  return { id: requireUserId(address, 'INVALID_REQUEST'), email: address, name }
}

/** RFC 6749 §3.3. Throws `INVALID_REQUEST`. */
function parseScopes(text: string | null): readonly string[] | null {
  if (text === null) return null
  if (/^[!#-[\]-~ ]{0,1000}$/.test(text)) return text.split(' ').filter((scope) => scope !== '')
  throw new SatchelError('INVALID_REQUEST', '"scopes" must be a list of scopes separated by spaces')
}

import { postJson } from '../http/setup'
import { expect } from 'bun:test'
import { openSession, type Session } from '../../src/control/session'
import { createTestClock } from '../auth/setup'
import { setupServer, type TestServer } from '../setup'
import {
  type Accounts,
  CLIENT_ID,
  CLIENT_SECRET,
  type OpenIdOptions,
  type OpenIdProvider,
  startOpenIdProvider,
} from './openid'
import { createVisitor, type Page, type Visitor } from './visitor'

/** The application that people log in to. */
export const APP = 'https://app.example.com'

export const ACCOUNTS: Accounts = {
  alice: { email: 'Alice@Example.com', email_verified: true, name: 'Alice Ångström' },
  mallory: { email: 'alice@example.com', email_verified: false, name: 'Mallory' },
  nobody: { name: 'Nobody' },
}

export interface LoginServer extends TestServer {
  readonly commands: Session
  /** Ends with the server. */
  own<T extends Disposable>(provider: T): T
  /** A browser that stops where the application is. */
  visitor(): Visitor
  /** The address that sends a browser to log in with a provider. */
  loginUrl(provider: string, redirect?: string, more?: Readonly<Record<string, string>>): string
  /** `POST /token` with these parameters. */
  ask(parameters: object): Promise<TokenReply>
  /** `POST /token` with this code. */
  exchange(code: string, more?: object): Promise<TokenReply>
  /** Asks for a mail with a code, and reads it where it is printed. */
  mailedCode(email: string): Promise<{ readonly otp_id: string; readonly otp: string }>
}

export interface TokenReply {
  readonly status: number
  readonly body: Readonly<Record<string, unknown>>
}

/** A server that lists `APP` and may call providers on this machine. Its clock is near the real one. */
export async function setupLogins(
  flags: Readonly<Record<string, unknown>> = {},
): Promise<LoginServer> {
  // Providers of tests sign with the time of the system.
  const clock = createTestClock(Date.now())
  const server = await setupServer({ allowPrivateAddresses: '127.0.0.0/8', ...flags }, clock)
  const owned = new DisposableStack()
  const commands = await openSession(server.folder, () => undefined)
  await commands.run('origin.add', { database: 'main', origin: APP, force: false })
  const ask = async (parameters: object) => {
    const response = await postJson(`${server.main}/token`, parameters)
    const body = (await response.json()) as Record<string, unknown>
    return { status: response.status, body }
  }
  return {
    ...server,
    commands,
    own: (provider) => owned.use(provider),
    visitor: () => createVisitor((url) => !url.hostname.startsWith('127.')),
    loginUrl: (provider, redirect = `${APP}/`, more = {}) =>
      `${server.main}/oauth/login/${provider}?${new URLSearchParams({ redirect_uri: redirect, ...more }).toString()}`,
    ask,
    exchange: (code, more = {}) =>
      ask({ grant_type: 'authorization_code', code, scopes: ['ACCESS_DB'], ...more }),
    async mailedCode(email) {
      const { body } = await ask({ grant_type: 'otp', email, scopes: ['ACCESS_DB'] })
      const otp_id = String(body['otp_id'])
      for (;;) {
        const line = server.lines.find((text) => text.includes(`"otp_id":"${otp_id}"`))
        const [, otp] = /"otp":"(\w+)"/.exec(line ?? '') ?? []
        if (otp !== undefined) return { otp_id, otp }
        await Bun.sleep(5)
      }
    },
    async [Symbol.asyncDispose]() {
      owned.dispose()
      await server[Symbol.asyncDispose]()
    },
  }
}

export type ProviderInput = Parameters<typeof inputOf>[0]

/** The input of `provider.add`, without optional fields. */
export function inputOf(given: {
  readonly type: string
  readonly name?: string
  readonly issuer?: string
  readonly clientId?: string
  readonly displayName?: string
  readonly iconUrl?: string
  readonly scopes?: readonly string[]
  readonly tenant?: string
  readonly teamId?: string
  readonly keyId?: string
  readonly authorizationUrl?: string
  readonly tokenUrl?: string
  readonly userInfoUrl?: string
  readonly trustsEmail?: boolean
}) {
  return {
    database: 'main',
    name: null,
    displayName: null,
    iconUrl: null,
    clientId: CLIENT_ID,
    scopes: null,
    tenant: null,
    teamId: null,
    keyId: null,
    issuer: null,
    authorizationUrl: null,
    tokenUrl: null,
    userInfoUrl: null,
    trustsEmail: false,
    ...given,
  }
}

/** Adds a provider with a secret, or without when it is null. */
export async function addProvider(
  { commands }: LoginServer,
  given: ProviderInput,
  secret: string | null = CLIENT_SECRET,
) {
  const streams = secret === null ? {} : { upload: new Blob([secret]).stream() }
  return await commands.run('provider.add', inputOf(given), streams)
}

/** A real OpenID provider that the database knows by this type (and its name, if it has one). */
export async function connectOpenId(
  server: LoginServer,
  given: ProviderInput,
  options: Partial<OpenIdOptions> & { readonly secret?: string } = {},
): Promise<OpenIdProvider> {
  const { secret = CLIENT_SECRET, ...rest } = options
  const callback = `${server.main}/oauth/callback/${given.name ?? given.type}`
  const started = await startOpenIdProvider({ accounts: ACCOUNTS, callback, ...rest })
  const provider = server.own(started)
  await addProvider(server, { issuer: provider.issuer, ...given }, secret)
  return provider
}

/** Logs in at the provider's own pages, up to where the browser leaves them. */
export async function logIn(visitor: Visitor, url: string, account = 'alice'): Promise<Page> {
  let page = await visitor.go(url)
  expect(page.html).toContain('name="login"')
  page = await visitor.submit(page, { login: account, password: 'any' })
  while (page.html.includes('value="consent"')) page = await visitor.submit(page)
  return page
}

/** The value of `dxc-auth`. */
export function answerOf(url: string): Readonly<Record<string, string>> {
  const value = new URL(url).searchParams.get('dxc-auth')
  if (value === null) throw new Error(`no dxc-auth in ${url}`)
  // As the clients read it.
  return JSON.parse(atob(value.replaceAll('-', '+').replaceAll('_', '/'))) as Record<string, string>
}

/** Logs in and gives the code that came back. */
export async function codeOfLogin(
  server: LoginServer,
  provider: string,
  account = 'alice',
): Promise<string> {
  const page = await logIn(server.visitor(), server.loginUrl(provider), account)
  const { code, error } = answerOf(page.url)
  if (code === undefined) throw new Error(`the login failed: ${error}`)
  return code
}

/** The answer of `GET /auth-providers`. */
export async function providersOf(server: LoginServer): Promise<unknown> {
  return (await fetch(`${server.main}/auth-providers`)).json()
}

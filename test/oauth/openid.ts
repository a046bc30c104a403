import { generateKeyPairSync } from 'node:crypto'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type ClientMetadata, type Configuration, Provider } from 'oidc-provider'

/** The claims of a provider about a person, by their login name. */
export type Accounts = Readonly<Record<string, Readonly<Record<string, unknown>>>>

export const CLIENT_ID = 'satchel-at-the-provider'
export const CLIENT_SECRET = 'the secret of the client at the provider'

export interface OpenIdOptions {
  readonly accounts: Accounts
  /** The address it may send browsers back to. */
  readonly callback: string
  readonly client?: Partial<ClientMetadata>
  readonly configuration?: Configuration
  /** Decides about a client secret, instead of comparing it. */
  readonly isClientSecret?: (given: string) => boolean | Promise<boolean>
}

/** A certified OpenID provider on loopback, with its own pages. */
export interface OpenIdProvider extends Disposable {
  readonly issuer: string
  /** Every request that reached it, `POST /token?…` with its body. */
  readonly requests: readonly ReceivedRequest[]
}

export interface ReceivedRequest {
  readonly method: string
  readonly path: string
  readonly parameters: URLSearchParams
}

export async function startOpenIdProvider(options: OpenIdOptions): Promise<OpenIdProvider> {
  const server = createServer()
  const { promise, resolve } = Promise.withResolvers<void>()
  server.listen(0, '127.0.0.1', resolve)
  await promise
  const { port } = server.address() as AddressInfo
  const issuer = `http://127.0.0.1:${port}`
  const provider = createProvider(issuer, options)
  const requests: ReceivedRequest[] = []
  const handle = provider.callback()
  server.on('request', (request, response) => {
    record(request, requests)
    void handle(request, response)
  })
  return {
    issuer,
    requests,
    [Symbol.dispose]() {
      server.close()
      server.closeAllConnections()
    },
  }
}

function createProvider(issuer: string, options: OpenIdOptions): Provider {
  const { accounts, callback, client = {}, configuration = {}, isClientSecret } = options
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: CLIENT_ID,
        client_secret: CLIENT_SECRET,
        token_endpoint_auth_method: 'client_secret_post',
        redirect_uris: [callback],
        ...client,
      },
    ],
    jwks: { keys: [SIGNING_KEY] },
    cookies: { keys: ['cookies of a test'] },
    ttl: { AccessToken: 600, Grant: 600, IdToken: 600, Interaction: 600, Session: 600 },
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'] },
    findAccount: (_, id) => {
      const claims = accounts[id]
      if (claims === undefined) return undefined
      return { accountId: id, claims: async () => ({ sub: id, ...claims }) }
    },
    ...configuration,
  })
  if (isClientSecret !== undefined) {
    provider.Client.prototype.compareClientSecret = isClientSecret
  }
  return provider
}

const SIGNING_KEY = {
  ...generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ format: 'jwk' }),
  kid: 'key-of-a-test',
  use: 'sig',
}

function record(request: IncomingMessage, requests: ReceivedRequest[]): void {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://localhost')
  const received = { method: request.method ?? '', path: pathname, parameters: searchParams }
  requests.push(received)
  if (request.method !== 'POST') return
  request.on('data', (chunk: Buffer) => {
    for (const [name, value] of new URLSearchParams(chunk.toString())) searchParams.set(name, value)
  })
}

import { expect, test } from 'bun:test'
import { randomBytes } from 'node:crypto'
import { createProviders } from '../../../src/auth/provider/providers'
import { createSteadyClock } from '../../../src/auth/steady-clock'
import { createVault } from '../../../src/auth/key/seal'
import { type ErrorCode, SatchelError } from '../../../src/domain/value/error'
import { addOrigin } from '../../../src/domain/database/origin'
import type { Database } from '../../../src/domain/store/store'
import { parseNetworks } from '../../../src/net/networks'
import { createOutbound } from '../../../src/net/outbound'
import { startPlainProvider } from '../../oauth/plain'
import { answerOf, APP } from '../../oauth/setup'
import { setupAuthority } from '../setup'

const ADDRESS = 'https://data.example.com/main'

/** A database that people log in to with a provider that lets everybody in. */
async function setup() {
  const base = await setupAuthority()
  const { clock, secretKey } = base
  const provider = startPlainProvider()
  let refusal: SatchelError | undefined
  const database: Database = {
    ...base.database,
    id: base.database.id,
    read: (work) => base.database.read(work),
    write: (work) => (refusal === undefined ? base.database.write(work) : Promise.reject(refusal)),
  }
  const open = (key: Uint8Array) =>
    createProviders({
      database,
      clock: createSteadyClock(clock),
      secretKey,
      vault: createVault(key),
      outbound: createOutbound({ allowed: parseNetworks('127.0.0.0/8')! }),
    })
  const providers = open(secretKey)
  await base.database.write((tx) => addOrigin(tx, clock, APP))
  await providers.put({
    type: 'custom-oauth2',
    id: 'plain',
    displayName: null,
    iconUrl: null,
    clientId: 'satchel',
    secret: 'the secret of the client',
    scopes: null,
    options: {
      authorizationUrl: `${provider.url}/auth`,
      tokenUrl: `${provider.url}/token`,
      userInfoUrl: `${provider.url}/me`,
    },
  })
  const contact = { provider: 'plain', address: ADDRESS, isDevelopment: false }
  const begin = (by = providers) =>
    by.begin({ ...contact, browser: undefined, redirectUri: APP, scopes: null })
  return {
    providers,
    /** With the secrets that another key sealed. */
    estranged: open(randomBytes(32)),
    begin,
    /** The answer to a browser that returns from the provider. */
    async finish(by = providers) {
      const { location, browser } = await begin()
      const response = await fetch(location, { redirect: 'manual' })
      const { searchParams: query } = new URL(response.headers.get('location') ?? '')
      return () => by.finish({ ...contact, browser, query })
    },
    breakDown(error: SatchelError | undefined) {
      refusal = error
    },
    async [Symbol.asyncDispose]() {
      provider[Symbol.dispose]()
      await base[Symbol.asyncDispose]()
    },
  }
}

const SERVER_FAILED = 'The login failed: the server could not complete it. Try again later'

test('a login that nothing disturbs ends with a code', async () => {
  await using server = await setup()
  const { location, failure } = await (await server.finish())()
  expect(answerOf(location)['code']).toBeString()
  expect(failure).toBeUndefined()
})

test.each<ErrorCode>(['STORAGE_FAILED', 'STORAGE_FULL', 'READ_ONLY', 'BUSY', 'INTERNAL'])(
  'what the storage says (%s) is told to the log, not to the application',
  async (code) => {
    await using server = await setup()
    const finish = await server.finish()
    const error = new SatchelError(code, '/var/lib/satchel is private')
    server.breakDown(error)
    const { location, failure } = await finish()
    expect(answerOf(location)).toMatchObject({ error: SERVER_FAILED, provider: 'plain' })
    expect(failure).toBe(error)
  },
)

test('a secret that another key sealed is a matter of the server, at the beginning and at the end', async () => {
  await using server = await setup()
  const steps = [
    await server.begin(server.estranged),
    await (await server.finish(server.estranged))(),
  ]
  for (const { location, failure } of steps) {
    expect(answerOf(location)['error']).toBe(SERVER_FAILED)
    expect(failure).toMatchObject({
      code: 'STORAGE_FAILED',
      message: expect.stringContaining('SATCHEL_SECRET_KEY'),
    })
  }
})

import * as fc from 'fast-check'
import { expect, test } from 'bun:test'
import { oauthError } from '../../src/auth/grant/oauth-error'
import { SatchelError } from '../../src/domain/value/error'
import { codeOf, setupAuthority } from './setup'

const NAMES = [
  'client_id',
  'client_secret',
  'scopes',
  'scope',
  'claims',
  'public_key',
  'expires_in',
  'not_before',
  'refresh_token',
  'time_stamp',
  'signing_algorithm',
  'signature',
]

test('every request is answered with a token or an OAuth error', async () => {
  await using server = await setupAuthority()
  const { clientId, clientSecret } = server.client
  const value = fc.oneof(
    fc.jsonValue({ maxDepth: 3 }),
    fc.string({ unit: 'binary' }),
    fc.constantFrom(clientId, clientSecret, 'RS256', '1h', 'ACCESS_DB', ['ACCESS_DB']),
  )
  const changes = fc.dictionary(fc.constantFrom(...NAMES), value, { maxKeys: 4 })
  const grantType = fc.constantFrom('client_credentials', 'client_credentials', 'refresh_token')
  const authorization = fc.oneof(
    fc.constant(null),
    fc.string({ unit: 'binary' }).map((text) => `Basic ${text}`),
    fc.string().map((text) => `Basic ${Buffer.from(text).toString('base64')}`),
  )
  await fc.assert(
    fc.asyncProperty(grantType, changes, authorization, async (grant_type, changed, header) => {
      const known = { client_id: clientId, client_secret: clientSecret, scopes: [] }
      const parameters = { ...known, ...changed, grant_type }
      try {
        const answer = await server.authority.grant({ parameters, authorization: header })
        expect(answer.type).toBe('tokens')
      } catch (error) {
        if (!(error instanceof SatchelError)) throw error
        expect(oauthError(error) ?? error.message).toHaveProperty('status')
      }
    }),
    { numRuns: 500, seed: 20_300_101 },
  )
})

test('no code can be requested where mail is not configured', async () => {
  await using server = await setupAuthority()
  for (const grant_type of ['otp', 'otp-email']) {
    const parameters = { grant_type, email: 'alice@example.com', scopes: [] }
    const refused = await codeOf(() => server.authority.grant({ parameters, authorization: null }))
    expect(refused).toBe('MAIL_NOT_CONFIGURED')
  }
})

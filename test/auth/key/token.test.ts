import { describe, expect, test } from 'bun:test'
import { createAuthority } from '../../../src/auth/authority'
import {
  codeOf,
  DAY,
  grantTokens,
  HOUR,
  refusalOf,
  setupAuthority,
  type TestAuthority,
} from '../setup'

describe('a server clock that jumps back (promise 11)', () => {
  test('leaves new tokens usable for their hour, by the time that clients see', async () => {
    await using server = await setupAuthority()
    server.clock.advance(DAY)
    await server.ask({})
    server.clock.advance(-DAY)
    const { accessToken, accessTokenExpiration } = await server.ask({ claims: { sub: 'alice' } })
    expect(accessTokenExpiration).toBe(server.clock.now() + HOUR)
    server.clock.advance(HOUR - 1)
    await server.verify(accessToken)
    server.clock.advance(1)
    expect(await codeOf(() => server.verify(accessToken))).toBe('INVALID_TOKEN')
  })

  test('leaves no token that a restart would make valid for years', async () => {
    await using server = await setupAuthority()
    server.clock.advance(365 * DAY)
    const { accessToken } = await server.ask({})
    server.clock.advance(-365 * DAY)
    await using again = await createAuthority(server.database, server.clock, server.secretKey)
    expect((await refusalOf(() => again.verify(accessToken))).message).toContain(
      'issued in the future',
    )
    const request = { grant_type: 'client_credentials', scopes: [], ...asBody(server) }
    const fresh = await grantTokens(again, request)
    await again.verify(fresh.accessToken)
  })

  test('does not shut out a user whom a clock ahead of time created', async () => {
    await using server = await setupAuthority()
    server.clock.advance(30 * DAY)
    await server.ask({ claims: { sub: 'alice' } })
    server.clock.advance(-30 * DAY)
    await using again = await createAuthority(server.database, server.clock, server.secretKey)
    const request = { ...asBody(server), scopes: [], claims: { sub: 'alice' } }
    const fresh = await grantTokens(again, { grant_type: 'client_credentials', ...request })
    expect(await again.verify(fresh.accessToken)).toMatchObject({ subject: 'alice' })
  })
})

function asBody({ client }: TestAuthority) {
  return { client_id: client.clientId, client_secret: client.clientSecret }
}

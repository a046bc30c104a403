import { describe, expect, test } from 'bun:test'
import { type KeyObject } from 'node:crypto'
import { CompactSign, type JWTHeaderParameters, SignJWT } from 'jose'
import { createAuthority } from '../../../src/auth/authority'
import {
  codeOf,
  DAY,
  grantTokens,
  HOUR,
  refusalOf,
  setupAuthority,
  stealPrivateKey,
  type TestAuthority,
} from '../setup'

/** A genuine token's parts, and the key that signed it, as an attacker would like to have them. */
async function setupForge() {
  const server = await setupAuthority()
  const { accessToken } = await server.ask({ scopes: ['ACCESS_DB'] })
  const [key] = (await server.database.read((tx) => tx.keys.list())).filter(
    ({ state }) => state === 'current',
  )
  const own = stealPrivateKey(server.secretKey, key!)
  const [header, payload] = accessToken.split('.', 2).map((part) => JSON.parse(atobUrl(part)))
  return {
    ...server,
    accessToken,
    own,
    publicJwk: JSON.parse(key!.publicKey) as Record<string, string>,
    header: header as JWTHeaderParameters,
    payload: payload as Record<string, unknown>,
    forge: (changes: object, signer: KeyObject | Uint8Array = own, claims: object = {}) =>
      new SignJWT({ ...payload, ...claims })
        .setProtectedHeader({ ...header, ...changes })
        .sign(signer),
    refused: (token: string) => codeOf(() => server.verify(token)),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  }
}

function atobUrl(text = ''): string {
  return Buffer.from(text, 'base64url').toString()
}

function part(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}

describe('a token is refused (promise 12)', () => {
  test('when anything of it was changed', async () => {
    await using server = await setupForge()
    const { accessToken: token } = server
    for (let at = 0; at < token.length; at += 7) {
      const other = token[at] === 'A' ? 'B' : 'A'
      const changed = token.slice(0, at) + other + token.slice(at + 1)
      expect(await server.refused(changed)).toBe('INVALID_TOKEN')
    }
    const [header, payload, signature] = token.split('.')
    const wider = part({ ...server.payload, scopes: ['ACCESS_DB', 'GLOBAL_READ'] })
    expect(await server.refused(`${header}.${wider}.${signature}`)).toBe('INVALID_TOKEN')
    expect(await server.refused(`${header}.${payload}.${'A'.repeat(86)}`)).toBe('INVALID_TOKEN')
  })

  test('when it is no token at all', async () => {
    await using server = await setupForge()
    for (const text of [
      '',
      '.',
      '..',
      '...',
      'a.b.c',
      'null',
      'Bearer x',
      '\u0000',
      'é.é.é',
      'x'.repeat(20_000),
      `${part(null)}.${part(null)}.AAAA`,
      `${part([])}.${part([])}.AAAA`,
      `${part({ alg: 'ES256', kid: 42, typ: 'at+jwt' })}.${part({})}.AAAA`,
      `${part({ ...server.header, b64: false, crit: ['b64'] })}.${part({})}.AAAA`,
      `${Buffer.from('{"alg":"ES256"').toString('base64url')}.${part({})}.AAAA`,
      `${server.accessToken}.${server.accessToken}`,
      `${server.accessToken}=`,
      ` ${server.accessToken}`,
    ]) {
      expect(await server.refused(text)).toBe('INVALID_TOKEN')
    }
  })

  test('when its payload is none', async () => {
    await using server = await setupForge()
    for (const payload of ['null', '[]', '42', 'x', '', '{"sub":']) {
      const token = await new CompactSign(Buffer.from(payload))
        .setProtectedHeader(server.header)
        .sign(server.own)
      expect(await server.refused(token)).toBe('INVALID_TOKEN')
    }
  })
})

describe('a token of ours is no access token (promise 13)', () => {
  test('on another database, even with the same signing key', async () => {
    await using server = await setupForge()
    const database = await server.store.create('other')
    await using other = await createAuthority(database, server.clock, server.secretKey)
    expect(await codeOf(() => other.verify(server.accessToken))).toBe('INVALID_TOKEN')
    const keys = await server.database.read((tx) => tx.keys.list())
    await database.write((tx) => {
      for (const key of tx.keys.list()) tx.keys.remove(key.id)
      for (const key of keys) tx.keys.put(key)
    })
    expect(await codeOf(() => other.verify(server.accessToken))).toBe('INVALID_TOKEN')
  })
})

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

import { describe, expect, test } from 'bun:test'
import { createPrivateKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { CompactSign, exportJWK, type JWTHeaderParameters, SignJWT, UnsecuredJWT } from 'jose'
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

const foreign = generateKeyPairSync('ec', { namedCurve: 'P-256' })

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
  test('but not when it is forged with nothing changed, so that the rest means something', async () => {
    await using server = await setupForge()
    const actor = await server.verify(server.accessToken)
    expect(await server.verify(await server.forge({}))).toEqual(actor)
  })

  test('without a signature', async () => {
    await using server = await setupForge()
    const none = new UnsecuredJWT(server.payload).encode()
    expect(await server.refused(none)).toBe('INVALID_TOKEN')
    const [header, payload] = server.accessToken.split('.')
    expect(await server.refused(`${header}.${payload}.`)).toBe('INVALID_TOKEN')
    for (const alg of ['none', 'None', 'NONE', '']) {
      const token = `${part({ ...server.header, alg })}.${payload}.`
      expect(await server.refused(token)).toBe('INVALID_TOKEN')
    }
  })

  test('signed with HS256 by the public key in any of its forms', async () => {
    await using server = await setupForge()
    const jwk = server.publicJwk
    const key = createPrivateKey({ key: await exportJWK(server.own), format: 'jwk' })
    const forms = [
      JSON.stringify(jwk),
      jwk['x']!,
      jwk['x']! + jwk['y']!,
      key.export({ type: 'pkcs8', format: 'pem' }).toString(),
    ]
    for (const form of forms) {
      const secret = new TextEncoder().encode(form)
      const token = await server.forge({ alg: 'HS256' }, secret)
      expect(await server.refused(token)).toBe('INVALID_TOKEN')
    }
  })

  test('signed with another algorithm or another curve', async () => {
    await using server = await setupForge()
    const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
    const p384 = generateKeyPairSync('ec', { namedCurve: 'P-384' })
    for (const alg of ['RS256', 'PS256']) {
      expect(await server.refused(await server.forge({ alg }, rsa.privateKey))).toBe(
        'INVALID_TOKEN',
      )
    }
    expect(await server.refused(await server.forge({ alg: 'ES384' }, p384.privateKey))).toBe(
      'INVALID_TOKEN',
    )
  })

  test('signed by another key, with our kid, another, or none', async () => {
    await using server = await setupForge()
    for (const kid of [
      server.header.kid,
      'unknown',
      '',
      '__proto__',
      '../../etc/passwd',
      undefined,
    ]) {
      const token = await server.forge({ kid }, foreign.privateKey)
      expect(await server.refused(token)).toBe('INVALID_TOKEN')
    }
    expect(await server.refused(await server.forge({ kid: 'unknown' }))).toBe('INVALID_TOKEN')
    expect(await server.refused(await server.forge({ kid: undefined }))).toBe('INVALID_TOKEN')
  })

  test('naming a key of its own in the header', async () => {
    await using server = await setupForge()
    const jwk = await exportJWK(foreign.publicKey)
    for (const header of [
      { jwk },
      { jku: 'https://evil.example/jwks.json' },
      { x5u: 'https://evil.example/cert.pem' },
      { x5c: ['AAAA'] },
      { x5t: 'AAAA' },
    ]) {
      for (const key of [foreign.privateKey, server.own]) {
        expect(await server.refused(await server.forge(header, key))).toBe('INVALID_TOKEN')
      }
    }
  })

  test('with a header that asks for more than we know', async () => {
    await using server = await setupForge()
    const signing = { ...server.header, crit: ['x'], x: 1 }
    const token = await new CompactSign(Buffer.from(JSON.stringify(server.payload)))
      .setProtectedHeader(signing)
      .sign(server.own, { crit: { x: true } })
    expect(await server.refused(token)).toBe('INVALID_TOKEN')
    expect(await server.refused(await server.forge({ cty: 'JWT' }))).toBe('INVALID_TOKEN')
  })

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
  test('with another type', async () => {
    await using server = await setupForge()
    for (const typ of ['JWT', 'rt+jwt', 'id_token', 'dpop+jwt', '', undefined]) {
      expect(await server.refused(await server.forge({ typ }))).toBe('INVALID_TOKEN')
    }
  })

  test('for another audience, or from another issuer', async () => {
    await using server = await setupForge()
    for (const claims of [
      { aud: 'other' },
      { aud: undefined },
      { iss: 'urn:satchel:other' },
      { iss: undefined },
    ]) {
      expect(await server.refused(await server.forge({}, server.own, claims))).toBe('INVALID_TOKEN')
    }
  })

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

  test('without the claims that ours have', async () => {
    await using server = await setupForge()
    for (const name of ['sub', 'exp', 'iat', 'jti', 'client_id', 'scopes']) {
      const token = await server.forge({}, server.own, { [name]: undefined })
      expect(await server.refused(token)).toBe('INVALID_TOKEN')
    }
  })
})

describe('a server clock that jumps back (promise 11)', () => {
  test('never revives a token that has expired', async () => {
    await using server = await setupAuthority()
    const { accessToken } = await server.ask({})
    await server.verify(accessToken)
    server.clock.advance(HOUR)
    expect(await codeOf(() => server.verify(accessToken))).toBe('INVALID_TOKEN')
    for (const back of [-1, -HOUR, -DAY]) {
      server.clock.advance(back)
      expect(await codeOf(() => server.verify(accessToken))).toBe('INVALID_TOKEN')
    }
  })

  test('never lengthens the life of one that has not', async () => {
    await using server = await setupAuthority()
    const { accessToken } = await server.ask({})
    server.clock.advance(HOUR / 2)
    await server.verify(accessToken)
    server.clock.advance(-DAY)
    await server.verify(accessToken)
    server.clock.advance(HOUR / 2)
    expect(await codeOf(() => server.verify(accessToken))).toBe('INVALID_TOKEN')
  })

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

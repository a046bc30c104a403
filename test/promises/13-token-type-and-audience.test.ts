import { Database } from 'bun:sqlite'
import { expect, test } from 'bun:test'
import { sign } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { decodeJwt, decodeProtectedHeader } from 'jose'
import { asClient, stealPrivateKey } from '../auth/setup'
import { public_key, refreshRequest } from '../http/login-setup'
import { ALICE, callerOf, type DataServer, setupData } from '../http/setup'
import type { SigningKey } from '../../src/domain/store/records'

/**
 * Promise 13: type and audience. Anything but an access token of this database is refused, even
 * when our own key signed it (ASVS 9.2.1–9.2.4).
 */

const PATHS = ['/my/plain', '/all/plain', '/public/plain', '/token/validate']

async function statuses(server: DataServer, token: string, base = server.main) {
  const caller = callerOf(base, token)
  return Promise.all(PATHS.map(async (path) => (await caller.get(path)).status))
}

const REFUSED = PATHS.map(() => 401)

/** Signs as `main` does: with the key that a thief of its folder would have. */
function stealSigner(server: DataServer) {
  const folder = join(server.folder, 'databases', 'main')
  const text = readFileSync(join(folder, 'secret.key'), 'utf8').trim()
  const secret = new Uint8Array(Buffer.from(text, 'base64url'))
  using database = new Database(join(folder, 'database.sqlite'), { readonly: true })
  const row = database
    .query<Pick<SigningKey, 'id' | 'sealedPrivateKey'>, []>(
      "SELECT id, sealed_private_key AS sealedPrivateKey FROM keys WHERE state = 'current'",
    )
    .get()
  if (row === null) throw new Error('There is no signing key')
  const key = stealPrivateKey(secret, row)
  return (header: object, claims: unknown) => {
    const input = [{ alg: 'ES256', typ: 'at+jwt', kid: row.id, ...header }, claims]
      .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
      .join('.')
    const signature = sign('sha256', Buffer.from(input), { key, dsaEncoding: 'ieee-p1363' })
    return `${input}.${signature.toString('base64url')}`
  }
}

test('promise 13: what our own key signed is refused when it is something else', async () => {
  await using server = await setupData()
  const token = await server.token({ sub: ALICE, scopes: ['ACCESS_DB', 'GLOBAL_READ'] })
  const claims = decodeJwt(token)
  const signAs = stealSigner(server)
  expect(decodeProtectedHeader(signAs({}, claims))).toEqual(decodeProtectedHeader(token))
  expect(await statuses(server, signAs({}, claims))).toEqual([200, 200, 200, 200])

  const now = Math.floor(server.clock.now() / 1000)
  const idToken = { ...claims, aud: claims['client_id'], nonce: 'n', auth_time: now }
  const foreign: [string, object, unknown][] = [
    ['an id_token', { typ: 'JWT' }, idToken],
    ['an id_token that says it is an access token', {}, idToken],
    ['no type', { typ: undefined }, claims],
    ['type JWT', { typ: 'JWT' }, claims],
    ['a refresh token', { typ: 'rt+jwt' }, claims],
    ['a sealed state', { typ: 'state+jwt' }, claims],
    ['type dpop+jwt', { typ: 'dpop+jwt' }, claims],
    ['a content type', { cty: 'JWT' }, claims],
    ['an extension that must be understood', { crit: ['x'], x: 1 }, claims],
    ['a key in the header', { jwk: { kty: 'EC' } }, claims],
    ['an address of keys', { jku: 'https://evil.example/jwks.json' }, claims],
    ['an address of certificates', { x5u: 'https://evil.example/cert.pem' }, claims],
    ['certificates', { x5c: ['AAAA'] }, claims],
    ['the hash of a certificate', { x5t: 'AAAA' }, claims],
    ['an unknown key', { kid: 'unknown' }, claims],
    ['no key', { kid: undefined }, claims],
    ['another audience', {}, { ...claims, aud: 'other' }],
    ['no audience', {}, { ...claims, aud: undefined }],
    ['another issuer', {}, { ...claims, iss: 'urn:satchel:other' }],
    ['no issuer', {}, { ...claims, iss: undefined }],
    ['an expired token', {}, { ...claims, exp: now }],
    ['a token without an end', {}, { ...claims, exp: undefined }],
    ['an end that is text', {}, { ...claims, exp: String(claims.exp) }],
    ['a token that begins later', {}, { ...claims, nbf: now + 60 }],
    ['no subject', {}, { ...claims, sub: undefined }],
    ['no client', {}, { ...claims, client_id: undefined }],
    ['an unknown client', {}, { ...claims, client_id: 'cUnknown' }],
    ['no scopes', {}, { ...claims, scopes: undefined }],
    ['no id', {}, { ...claims, jti: undefined }],
    ['no time of issue', {}, { ...claims, iat: undefined }],
    ...[null, [], 42].map((value): [string, object, unknown] => [
      `the claims ${JSON.stringify(value)}`,
      {},
      value,
    ]),
  ]
  for (const [name, header, changed] of foreign) {
    const answers = await statuses(server, signAs(header, changed))
    expect({ name, answers }).toEqual({ name, answers: REFUSED })
  }
})

test('promise 13: a token of one database opens no other, not even one of the same name', async () => {
  await using server = await setupData()
  const scopes = ['ACCESS_DB', 'GLOBAL_READ']
  const token = await server.token({ sub: ALICE, scopes })
  await server.commands.run('db.create', { name: 'other' })
  expect(await statuses(server, token, `${server.url}/other`)).toEqual(REFUSED)

  const other = await server.commands.run('db.create', { name: 'short-lived' })
  const ask = async (client: { clientId: string; clientSecret: string }) => {
    const answer = await callerOf(`${server.url}/short-lived`).post('/token', {
      ...asClient(client),
      scopes,
    })
    return (answer.body as { accessToken?: string }).accessToken
  }
  const before = await ask(other.client)
  if (before === undefined) throw new Error('There is no token')
  const known = callerOf(`${server.url}/short-lived`, before)
  expect((await known.get('/my/members')).status).toBe(200)
  await server.commands.run('db.delete', { database: 'short-lived', hard: true })
  expect((await known.get('/my/members')).status).toBe(404)
  await server.commands.run('db.create', { name: 'short-lived' })
  expect(await statuses(server, before, `${server.url}/short-lived`)).toEqual(REFUSED)
  expect(await ask(other.client)).toBeUndefined()
})

test('promise 13: a refresh token is no access token, an access token no refresh token', async () => {
  await using server = await setupData()
  const login = await server.anyone.post('/token', {
    ...asClient(server.client),
    scopes: ['ACCESS_DB', 'GLOBAL_READ'],
    public_key,
  })
  const { accessToken, refreshToken } = login.body as Record<string, string>
  expect(await statuses(server, refreshToken ?? '')).toEqual(REFUSED)
  const refresh = (text: string) =>
    server.anyone.post('/token', refreshRequest(text, server.clock.now()))
  expect((await refresh(accessToken ?? '')).status).toBe(401)
  expect((await refresh(refreshToken ?? '')).status).toBe(200)
})

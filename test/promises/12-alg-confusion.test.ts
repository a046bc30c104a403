import { expect, test } from 'bun:test'
import { createHmac, generateKeyPairSync, sign } from 'node:crypto'
import { calculateJwkThumbprint, exportSPKI, importJWK, type JWK } from 'jose'
import { ALICE, setupData } from '../http/setup'

/**
 * Promise 12: alg confusion. Tokens whose header picks another algorithm or key are refused, 100 %
 * (ASVS 9.1.1–9.1.3). The clock, claims and everything but header and signature are those of a
 * token that works.
 */

const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')

async function setupForger() {
  const server = await setupData()
  const token = (await server.as(ALICE)).token ?? ''
  const [header = '', payload = '', signature = ''] = token.split('.')
  const { body } = await server.anyone.get('/.well-known/jwks.json')
  const { keys } = body as { keys: JWK[] }
  const genuine = JSON.parse(Buffer.from(header, 'base64url').toString()) as Record<string, unknown>
  const published = keys.find(({ kid }) => kid === genuine['kid'])
  if (published === undefined) throw new Error('The key of the token is not published')
  return {
    server,
    genuine,
    published,
    keys,
    parts: { header, payload, signature },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  }
}

type Forger = Awaited<ReturnType<typeof setupForger>>

const own = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const ownRsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
const ownJwk = own.publicKey.export({ format: 'jwk' })

const signOwn = (input: string) =>
  sign('sha256', Buffer.from(input), { key: own.privateKey, dsaEncoding: 'ieee-p1363' })

async function forgeries({ genuine, published, keys, parts }: Forger): Promise<[string, string][]> {
  const { payload, signature, header } = parts
  const kid = genuine['kid']
  const withHeader = (
    changes: object,
    signer: (input: string) => Uint8Array | string = signOwn,
  ) => {
    const input = `${encode({ ...genuine, ...changes })}.${payload}`
    const made = signer(input)
    return `${input}.${typeof made === 'string' ? made : Buffer.from(made).toString('base64url')}`
  }
  const pem = await exportSPKI((await importJWK(published, 'ES256')) as CryptoKey)
  const secrets: [string, string | Uint8Array][] = [
    ['PEM', pem],
    ['PEM without its last line break', pem.trim()],
    ['JWK', JSON.stringify(published)],
    ['x', Buffer.from(published.x ?? '', 'base64url')],
    ['x as text', published.x ?? ''],
    ['kid', String(kid)],
    ['nothing', ''],
  ]
  const hmac = secrets.flatMap(([name, secret]) =>
    (['HS256', 'HS384', 'HS512'] as const).map((alg): [string, string] => {
      const hash = `sha${alg.slice(2)}`
      return [
        `${alg} with the ${name}`,
        withHeader({ alg }, (input) => createHmac(hash, secret).update(input).digest()),
      ]
    }),
  )
  const none = ['none', 'None', 'NONE', 'nOnE', '', null, undefined, ['none'], 0].flatMap(
    (alg): [string, string][] => [
      [`alg ${JSON.stringify(alg)} without a signature`, withHeader({ alg }, () => '')],
      [`alg ${JSON.stringify(alg)} with the old one`, withHeader({ alg }, () => signature)],
    ],
  )
  const thumbprint = await calculateJwkThumbprint(ownJwk)
  const url = 'http://127.0.0.1:1/keys.json'
  const certificate = Buffer.from(own.publicKey.export({ format: 'der', type: 'spki' }))
  const headers: [string, object][] = [
    ['a foreign key under our kid', {}],
    ['an unknown kid', { kid: 'unknown' }],
    ['the kid of the foreign key', { kid: thumbprint }],
    ['an empty kid', { kid: '' }],
    ['no kid', { kid: undefined }],
    ['a kid that is no text', { kid: 1 }],
    ['a kid that is a list', { kid: [kid] }],
    ['a kid that is a path', { kid: '../../../../dev/null' }],
    ['a kid that is SQL', { kid: "' OR '1'='1" }],
    ['a kid of Object', { kid: '__proto__' }],
    ['jwk', { jwk: ownJwk }],
    ['jwk without a kid', { jwk: ownJwk, kid: undefined }],
    ['jku', { jku: url }],
    ['x5u', { x5u: url }],
    ['x5c', { x5c: [certificate.toString('base64')] }],
    ['x5t', { x5t: thumbprint }],
    ['crit', { crit: ['b64'], b64: true }],
    ['crit of nothing', { crit: [] }],
    ['b64 false', { b64: false, crit: ['b64'] }],
    ['another type', { typ: 'JWT' }],
    ['no type', { typ: undefined }],
    ['ES384', { alg: 'ES384' }],
    ['EdDSA', { alg: 'EdDSA' }],
    ['lower case', { alg: 'es256' }],
    ['zip', { zip: 'DEF' }],
    ['enc', { enc: 'A256GCM' }],
  ]
  const foreign = headers.map(([name, changes]): [string, string] => [name, withHeader(changes)])
  // The old signature would fit only if unsigned parts had changed, and there are none.
  const kept = headers
    .filter(([, changes]) => Object.keys(changes).length > 0)
    .map(([name, changes]): [string, string] => [
      `${name}, the old signature`,
      withHeader(changes, () => signature),
    ])
  const rsa = (['RS256', 'PS256'] as const).map((alg): [string, string] => [
    alg,
    withHeader({ alg }, (input) => sign('sha256', Buffer.from(input), ownRsa.privateKey)),
  ])
  const otherKid = keys.map((key) => key.kid).find((id) => id !== kid)
  const bytes = Buffer.from(signature, 'base64url')
  const flipped = Buffer.from(bytes)
  flipped[10] = (flipped[10] ?? 0) ^ 1
  const der = Buffer.concat([Buffer.from([0x30, 0x44, 2, 32]), bytes.subarray(0, 32)])
  const broken: [string, string][] = [
    ['the kid of our next key', withHeader({ kid: otherKid }, () => signature)],
    ['no signature', `${header}.${payload}.`],
    ['two parts', `${header}.${payload}`],
    ['four parts', `${header}.${payload}.${signature}.x`],
    ['five parts', `${header}..${payload}.${signature}.x`],
    ['one bit flipped', `${header}.${payload}.${flipped.toString('base64url')}`],
    ['zeroes', `${header}.${payload}.${Buffer.alloc(64).toString('base64url')}`],
    ['a DER signature', `${header}.${payload}.${der.toString('base64url')}`],
    ['a longer signature', `${header}.${payload}.${signature}AA`],
    ['an empty header', `.${payload}.${signature}`],
    ['no JSON for a header', `${Buffer.from('x').toString('base64url')}.${payload}.${signature}`],
    ['a deep header', `${encode(JSON.parse(`${'['.repeat(500)}${']'.repeat(500)}`))}.${payload}.x`],
    ['another payload', `${header}.${encode({ sub: 'root' })}.${signature}`],
    ...['', '.', '...', 'a.b.c', 'null', 'x'.repeat(8_000)].map((text): [string, string] => [
      `the text ${text.slice(0, 9)}`,
      text,
    ]),
    ['a token twice', `${header}.${payload}.${signature}.${header}.${payload}.${signature}`],
    ['the payload spelled otherwise', `${header}.${payload}=.${signature}`],
  ]
  return [...hmac, ...none, ...foreign, ...kept, ...rsa, ...broken]
}

test('promise 12: tokens that pick their own algorithm or key are refused, every one of them', async () => {
  await using forger = await setupForger()
  const { server } = forger
  const all = await forgeries(forger)
  expect(all.length).toBeGreaterThan(90)
  const wrong: string[] = []
  for (const [name, token] of all) {
    for (const path of ['/my/plain', '/public/plain', '/token/validate']) {
      const answer = await server.anyone.send('GET', path, {
        headers: { authorization: `Bearer ${token}` },
      })
      if (answer.status !== 401) wrong.push(`${name} at ${path}: ${answer.status}`)
      expect(answer.text).not.toContain(ALICE)
    }
  }
  expect(wrong).toEqual([])
  const { header, payload, signature } = forger.parts
  const genuine = { headers: { authorization: `Bearer ${header}.${payload}.${signature}` } }
  expect((await server.anyone.send('GET', '/my/plain', genuine)).status).toBe(200)
})

test('promise 12: no key is fetched from where a token says', async () => {
  await using forger = await setupForger()
  let visits = 0
  using trap = Bun.serve({
    port: 0,
    fetch: () => {
      visits += 1
      return Response.json({ keys: [{ ...ownJwk, kid: 'trap', alg: 'ES256', use: 'sig' }] })
    },
  })
  for (const name of ['jku', 'x5u', 'iss']) {
    const header = { ...forger.genuine, kid: 'trap', [name]: trap.url.href }
    const input = `${encode(header)}.${forger.parts.payload}`
    const token = `${input}.${signOwn(input).toString('base64url')}`
    const answer = await forger.server.anyone.send('GET', '/my/plain', {
      headers: { authorization: `Bearer ${token}` },
    })
    expect(answer.status).toBe(401)
  }
  expect(visits).toBe(0)
})

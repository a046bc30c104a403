import { describe, expect, test } from 'bun:test'
import { generateKeyPairSync, sign } from 'node:crypto'
import { isSignedBy, requirePublicKey, parseTimespan } from '../../../src/auth/grant/parameters'
import { codeOf, DAY, HOUR, MINUTE, refusalOf, SECOND } from '../setup'

const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const pem = (key: typeof rsa.publicKey) => key.export({ type: 'spki', format: 'pem' }).toString()

describe('the public key of a device', () => {
  test('may be RSA from 2048 bits, as the clients write it: without a final newline', () => {
    expect(requirePublicKey(pem(rsa.publicKey).trimEnd())).toBe(pem(rsa.publicKey))
  })

  test('may be EC on P-256', () => {
    expect(requirePublicKey(pem(ec.publicKey))).toBe(pem(ec.publicKey))
  })

  test.each([
    ['nothing', ''],
    ['no string', 42],
    ['no PEM', 'MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8A'],
    ['broken', '-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----'],
    ['the private key', rsa.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()],
    ['of the old form', rsa.publicKey.export({ type: 'pkcs1', format: 'pem' }).toString()],
    ['too short', pem(generateKeyPairSync('rsa', { modulusLength: 1024 }).publicKey)],
    ['on another curve', pem(generateKeyPairSync('ec', { namedCurve: 'P-384' }).publicKey)],
    ['of another kind', pem(generateKeyPairSync('ed25519').publicKey)],
    ['endless', `${pem(rsa.publicKey)}${'\n'.repeat(10_000)}`],
  ])('is refused when it is %s', async (_, value) => {
    expect(await codeOf(() => requirePublicKey(value))).toBe('INVALID_REQUEST')
  })

  test('verifies signatures of its owner, with the algorithm names of the clients', () => {
    const signature = sign('sha256', Buffer.from('text'), rsa.privateKey).toString('base64')
    for (const name of ['RSASSA-PKCS1-v1_5', 'RSA256', 'RS256']) {
      expect(isSignedBy(pem(rsa.publicKey), name, 'text', signature)).toBe(true)
      expect(isSignedBy(pem(rsa.publicKey), name, 'texts', signature)).toBe(false)
    }
    const key = { key: ec.privateKey, dsaEncoding: 'ieee-p1363' } as const
    const short = sign('sha256', Buffer.from('text'), key).toString('base64')
    expect(isSignedBy(pem(ec.publicKey), 'ES256', 'text', short)).toBe(true)
    expect(isSignedBy(pem(ec.publicKey), 'ECDSA', 'text', short)).toBe(true)
  })

  test('vouches for nothing by an algorithm of another kind of key', () => {
    const signature = sign('sha256', Buffer.from('text'), rsa.privateKey).toString('base64')
    for (const name of ['ES256', 'ECDSA', 'none', 'HS256', 'rs256', '', 'constructor']) {
      expect(isSignedBy(pem(rsa.publicKey), name, 'text', signature)).toBe(false)
    }
  })

  test('vouches for nothing by another hash, padding or length', () => {
    const data = Buffer.from('text')
    const wrong = [
      sign('sha1', data, rsa.privateKey),
      sign('sha512', data, rsa.privateKey),
      sign('sha256', data, { key: rsa.privateKey, padding: 6 }),
      Buffer.alloc(0),
      Buffer.alloc(256),
      Buffer.alloc(10_000),
    ]
    for (const signature of wrong) {
      expect(isSignedBy(pem(rsa.publicKey), 'RS256', 'text', signature.toString('base64'))).toBe(
        false,
      )
    }
  })
})

describe('a timespan', () => {
  test.each([
    ['1h', HOUR],
    ['30 min', 30 * MINUTE],
    ['30 Minutes', 30 * MINUTE],
    ['2 days', 2 * DAY],
    ['2d', 2 * DAY],
    ['1.5 hrs', 1.5 * HOUR],
    ['.5s', SECOND / 2],
    ['-1h', -HOUR],
    ['1w', 7 * DAY],
    ['1 year', 365.25 * DAY],
    ['90 secs', 90 * SECOND],
    ['1500', 1500],
    ['1500ms', 1500],
    [1500, 1500 * SECOND],
    [0.5, 500],
    [0, 0],
  ])('%p is %p ms', (text, length) => {
    expect(parseTimespan(text, 'expires_in')).toBe(length)
  })

  test.each([
    [''],
    ['h'],
    ['1 fortnight'],
    ['1h30m'],
    ['1 h h'],
    ['1constructor'],
    ['1h\n'],
    ['1e3'],
    ['9'.repeat(101)],
    [Number.NaN],
    [Infinity],
    [true],
    [null],
    [{}],
    [['1h']],
  ])('is not %p', async (value) => {
    const refusal = await refusalOf(() => parseTimespan(value, 'expires_in'))
    expect(refusal.code).toBe('INVALID_REQUEST')
    expect(refusal.message).toContain('expires_in')
  })
})

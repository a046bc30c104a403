import { describe, expect, test } from 'bun:test'
import { hashSecret, newSecret, sameSecret } from '../../../src/domain/value/secret'

describe('secrets', () => {
  test('are 256 random bits in base64url', () => {
    const secrets = Array.from({ length: 100 }, newSecret)
    expect(new Set(secrets).size).toBe(100)
    for (const secret of secrets) expect(Buffer.from(secret, 'base64url').length).toBe(32)
  })

  test('are kept as their SHA-256 in base64url', () => {
    // FIPS 180-2, B.1
    expect(hashSecret('abc')).toBe('ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0')
  })

  test('are the same only when every character is', () => {
    expect(sameSecret('abc', 'abc')).toBe(true)
    for (const other of ['', 'abC', 'ab', 'abcd', 'äbc', 'bac']) {
      expect(sameSecret(other, 'abc')).toBe(false)
      expect(sameSecret('abc', other)).toBe(false)
    }
  })
})

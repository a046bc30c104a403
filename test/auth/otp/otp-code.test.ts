import { describe, expect, test } from 'bun:test'
import { createOtpHash, foldOtp, newOtp, OTP_BITS } from '../../../src/auth/otp/otp-code'

describe('a one-time code (promise 21)', () => {
  test('has eight characters, which the login dialog waits for, and 40 bits', () => {
    expect(OTP_BITS).toBe(40)
    for (let i = 0; i < 1000; i++) expect(newOtp()).toMatch(/^[0-9A-HJKMNP-TV-Z]{8}$/)
  })

  test('is as likely as every other, at every place', () => {
    const drawn = 32_000
    const counts = Array.from({ length: 8 }, () => new Map<string, number>())
    for (let i = 0; i < drawn; i++) {
      for (const [place, digit] of Array.from(newOtp()).entries()) {
        counts[place]!.set(digit, (counts[place]!.get(digit) ?? 0) + 1)
      }
    }
    const expected = drawn / 32
    for (const atPlace of counts) {
      expect(atPlace.size).toBe(32)
      // χ² with 31 degrees of freedom is above 80 once in 400,000 draws.
      const chi = [...atPlace.values()].reduce((sum, n) => sum + (n - expected) ** 2 / expected, 0)
      expect(chi).toBeLessThan(80)
    }
  })

  test('may be typed as it is read', () => {
    expect(foldOtp(' k7qm-2xwd ')).toBe('K7QM2XWD')
    expect(foldOtp('OILoil00')).toBe('01101100')
  })

  test('is kept as something that says nothing without the key and its id', () => {
    const [hash, other] = [createOtpHash(new Uint8Array(32)), createOtpHash(Buffer.alloc(32, 1))]
    expect(hash('id', 'K7QM2XWD')).toBe(hash('id', 'K7QM2XWD'))
    expect(hash('id', 'K7QM2XWD')).toMatch(/^[\w-]{43}$/)
    const all = [hash('id', 'K7QM2XWD'), hash('id2', 'K7QM2XWD'), other('id', 'K7QM2XWD')]
    expect(new Set(all).size).toBe(3)
  })
})

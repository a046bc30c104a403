import { createHmac, hkdfSync } from 'node:crypto'

/**
 * Crockford's 32 digits: nothing in it is read as something else. Eight of them are 40 bits, and what
 * the login dialog of the clients waits for before it sends a code by itself.
 */
const DIGITS = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const LENGTH = 8

/** How many bits somebody has to guess. */
export const OTP_BITS = LENGTH * Math.log2(DIGITS.length)

/** A new one-time code from the generator for keys (promise 21). */
export function newOtp(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(LENGTH))
  // 256 is a multiple of 32: every digit is as likely as every other.
  return Array.from(bytes, (byte) => DIGITS[byte % DIGITS.length]).join('')
}

/** A code as somebody typed it, in its one form. */
export function foldOtp(text: string): string {
  return text.toUpperCase().replaceAll(/[\s-]/g, '').replaceAll('O', '0').replaceAll(/[IL]/g, '1')
}

export type OtpHash = (otpId: string, otp: string) => string

/** The stored hash of a code: guessing it takes 2⁴⁰ tries, for each code anew, and the key. */
export function createOtpHash(secretKey: Uint8Array): OtpHash {
  const key = new Uint8Array(hkdfSync('sha256', secretKey, '', 'one-time codes', 32))
  return (otpId, otp) => createHmac('sha256', key).update(`${otpId} ${otp}`).digest('base64url')
}

import { unprocessable } from './error'
import { randomToken } from './id'

/** A new secret of 256 random bits: 43 characters of base64url. */
export function newSecret(): string {
  return randomToken(32)
}

/**
 * The stored form of a secret: base64url of its SHA-256. Secrets are random and long, so a
 * slow hash would protect nothing more (design.md §3).
 */
export function hashSecret(secret: string): string {
  return new Bun.CryptoHasher('sha256').update(secret).digest('base64url')
}

/**
 * The only comparison of secrets and of their hashes: the time it takes tells nothing about where
 * they differ, nor about the length of the one that is kept (promise 23).
 */
export function sameSecret(given: string, kept: string): boolean {
  return crypto.timingSafeEqual(digest(given), digest(kept))
}

const MAX_OVERLAP_DAYS = 365

/** Throws `UNPROCESSABLE` unless an old secret can stay valid for so many days beside a new one. */
export function requireOverlap(days: number, what: 'key' | 'secret'): void {
  if (days >= 0 && days <= MAX_OVERLAP_DAYS) return
  throw unprocessable(`The old ${what} can stay valid for 0 to ${MAX_OVERLAP_DAYS} days`)
}

function digest(text: string): Buffer {
  return new Bun.CryptoHasher('sha256').update(text).digest()
}

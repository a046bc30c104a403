import type { Clock } from '../clock'
import { SatchelError } from '../domain/value/error'
import { networkOf } from '../net/networks'
import { createCounter } from '../limits/counter'
import { DAY, SECOND, MINUTE, HOUR } from '../domain/value/time'

/** The limits of token requests, in seconds (design.md §4). */
export interface TokenLimits {
  /** The longest life a token may ask for. */
  readonly maxExpiresIn: number
  /** How far in the future a token may begin. */
  readonly maxNotBefore: number
  /** How wrong the clock of a client may be when it signs a refresh (promise 11). */
  readonly maxClockSkew: number
}

export const DEFAULT_LIMITS: TokenLimits = {
  maxExpiresIn: DAY / SECOND,
  maxNotBefore: DAY / SECOND,
  maxClockSkew: DAY / SECOND,
}

/** How long after its last signature a key can still be needed, ms. */
export function longestReach({ maxExpiresIn, maxNotBefore }: TokenLimits): number {
  // Tokens made before the limits were lowered count too.
  return Math.max((maxExpiresIn + maxNotBefore) * SECOND, 2 * DAY)
}

/** How many old rows of a kind one request forgets: more than it adds. */
export const MAX_PRUNED_ROWS = 1_000

/** Limits against guessing codes and flooding mailboxes (promise 21). Always in force. */
export interface OtpLimits {
  /** How long a code is valid, ms. */
  readonly life: number
  /** How often one code may be tried; also how often one network may try the codes of an address. */
  readonly tries: number
  /** How many codes one address is sent in an hour. */
  readonly perAddress: number
  /** How many codes one network may ask for in an hour. */
  readonly perNetwork: number
}

/**
 * A code has 40 bits. A caller who asks for codes can try those of one address 1,200 times a day, and
 * one without an id 720 times from each network: a guess in a hundred million with ten live codes.
 */
export const OTP_LIMITS: OtpLimits = {
  life: 10 * MINUTE,
  tries: 5,
  perAddress: 10,
  perNetwork: 300,
}

/** Limits how often one network may do something (promise 21). */
export interface Cap {
  /**
   * Counts one from this IP address, for one account if it is named, and returns how many are left.
   * Throws `TOO_MANY_REQUESTS` when that is one too many.
   */
  spend(address: string, account?: string): number
  /** Takes back a count, for an attempt that succeeded. */
  refund(address: string, account?: string): void
}

/** `window` in ms. */
export function createCap(clock: Clock, most: number, window = HOUR): Cap {
  const counter = createCounter(clock, { count: most, window })
  const keyOf = (address: string, account = '') => `${networkOf(address)} ${account}`
  return {
    spend(address, account) {
      const quota = counter.spend(keyOf(address, account))
      if (quota.isOver) throw tooMany(quota.reset)
      return quota.remaining
    },
    refund: (address, account) => counter.refund(keyOf(address, account)),
  }
}

/** `wait` in ms. */
export function tooMany(wait: number): SatchelError {
  const minutes = Math.max(1, Math.ceil(wait / MINUTE))
  return new SatchelError(
    'TOO_MANY_REQUESTS',
    `Too many login attempts: try again in ${minutes} minute${minutes === 1 ? '' : 's'}`,
    { retryAfter: Math.max(1, Math.ceil(wait / 1000)) },
  )
}

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

/** Limits against guessing codes and flooding mailboxes (promise 21). Always in force. */
export interface OtpLimits {
  /** How long a code is valid, ms. */
  readonly life: number
  /** How often one code may be tried. */
  readonly tries: number
  /** How many codes one address is sent in an hour. */
  readonly perAddress: number
  /** How many codes one network may ask for in an hour, and how many wrong ones it may try. */
  readonly perNetwork: number
}

/** With 40 bits a code, one address can be tried 1,200 times a day: a guess in a billion. */
export const OTP_LIMITS: OtpLimits = {
  life: 10 * MINUTE,
  tries: 5,
  perAddress: 10,
  perNetwork: 300,
}

/** Limits how much one network may do in an hour (promise 21). */
export interface Cap {
  /** Counts one from this IP address. Throws `TOO_MANY_REQUESTS` when that is one too many. */
  spend(address: string): void
  /** Takes back a count, for an attempt that succeeded. */
  refund(address: string): void
}

export function createCap(clock: Clock, most: number): Cap {
  const counter = createCounter(clock, { count: most, window: HOUR })
  return {
    spend(address) {
      const quota = counter.spend(networkOf(address))
      if (quota.isOver) throw tooMany(quota.reset)
    },
    refund: (address) => counter.refund(networkOf(address)),
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

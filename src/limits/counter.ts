import type { Clock } from '../clock'
import type { RateLimit } from './rate-limits'

/** The state of a limit for one key. */
export interface Quota {
  readonly limit: number
  readonly remaining: number
  /** ms until the whole limit is available again. */
  readonly reset: number
  /** True when the limit was reached. */
  readonly isOver: boolean
}

/** Counts per key; the window of a limit begins with the first count. */
export interface Counter {
  /** Counts one, unless the limit is reached. */
  spend(key: string): Quota
  /** The quota without counting; `isOver` when nothing remains. */
  look(key: string): Quota
  /** Takes one back. */
  refund(key: string): void
}

interface Count {
  used: number
  readonly ends: number
}

/** The maximum number of new keys in one window; beyond it, the keys of the previous window are dropped. */
const COUNTED = 50_000

/**
 * Counts in memory and synchronously, so that concurrent requests cannot exceed a limit. Memory is
 * bounded by two generations of keys: the older one is dropped when its windows have ended, or when
 * too many keys came. `clock` must not go back.
 * Own code, since the libraries for this read the real clock.
 */
export function createCounter(clock: Clock, { count: limit, window }: RateLimit): Counter {
  let young = new Map<string, Count>()
  let old = new Map<string, Count>()
  let next = -Infinity

  function find(key: string, now: number): Count | undefined {
    const count = young.get(key) ?? old.get(key)
    return count !== undefined && count.ends > now ? count : undefined
  }

  function begin(key: string, now: number): Count {
    if (now >= next || young.size >= COUNTED) {
      old = young
      young = new Map()
      next = now + window
    }
    const count = { used: 0, ends: now + window }
    young.set(key, count)
    return count
  }

  return {
    spend(key) {
      const now = clock.now()
      const count = find(key, now) ?? begin(key, now)
      const isOver = count.used >= limit
      if (!isOver) count.used += 1
      return { limit, remaining: limit - count.used, reset: count.ends - now, isOver }
    },

    look(key) {
      const now = clock.now()
      const { used, ends } = find(key, now) ?? { used: 0, ends: now + window }
      return { limit, remaining: limit - used, reset: ends - now, isOver: used >= limit }
    },

    refund(key) {
      const count = find(key, clock.now())
      if (count !== undefined && count.used > 0) count.used -= 1
    },
  }
}

import type { Clock } from '../clock'
import type { RateLimit } from './rate-limits'

/** The remainder of a limit. */
export interface Quota {
  readonly limit: number
  readonly remaining: number
  /** ms until all of it is there again. */
  readonly reset: number
  /** Nothing was left for the one that was just asked for. */
  readonly isOver: boolean
}

/** Counts for each key how many there were since the first, until the window of the limit ends. */
export interface Counter {
  /** Counts one, if there is one left. */
  spend(key: string): Quota
  /** The quota as it is: over when nothing is left. */
  look(key: string): Quota
  /** Takes one back. */
  refund(key: string): void
}

interface Count {
  used: number
  readonly ends: number
}

/** Keys that begin to be counted in one window; beyond, those of the window before are forgotten. */
const COUNTED = 50_000

/**
 * In memory, and at once: requests side by side get no more than one after another. What it holds is
 * bounded by two generations of keys: an older one holds nothing that could still count, unless more
 * keys came than are counted. `clock` must not go back.
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

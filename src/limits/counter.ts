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

/** Counts per key in a scope, such as a database; the window of a limit begins with the first count. */
export type Counter = ReturnType<typeof createCounter>

interface Count {
  used: number
  readonly ends: number
}

/** The maximum number of new keys in one window; beyond it, the keys of the previous window are dropped. */
const MAX_NEW_KEYS = 50_000

/**
 * Counts in memory and synchronously, so that concurrent requests cannot exceed a limit. Memory is
 * bounded by two generations of keys: the older one is dropped when its windows have ended, or when
 * too many keys came. `clock` must not go back.
 * Own code, since the libraries for this read the real clock.
 */
export function createCounter(clock: Clock, { count: limit, window }: RateLimit) {
  let young = new Counts()
  let old = new Counts()
  let next = -Infinity

  function find(key: string, scope: string, now: number): Count | undefined {
    const count = young.find(key, scope) ?? old.find(key, scope)
    return count !== undefined && count.ends > now ? count : undefined
  }

  function begin(key: string, scope: string, now: number): Count {
    if (now >= next || young.size >= MAX_NEW_KEYS) {
      old = young
      young = new Counts()
      next = now + window
    }
    return young.begin(key, scope, now + window)
  }

  return {
    /** Counts one, unless the limit is reached. */
    spend(key: string, scope = ''): Quota {
      const now = clock.now()
      const count = find(key, scope, now) ?? begin(key, scope, now)
      const isOver = count.used >= limit
      if (!isOver) count.used += 1
      return { limit, remaining: limit - count.used, reset: count.ends - now, isOver }
    },

    /** The quota without counting; `isOver` when nothing remains. */
    look(key: string, scope = ''): Quota {
      const now = clock.now()
      const { used, ends } = find(key, scope, now) ?? { used: 0, ends: now + window }
      return { limit, remaining: limit - used, reset: ends - now, isOver: used >= limit }
    },

    /** Takes one back. */
    refund(key: string, scope = '') {
      const count = find(key, scope, clock.now())
      if (count !== undefined && count.used > 0) count.used -= 1
    },
  }
}

/** A generation of counts. A map for each scope: one key for both would be a new text in each request. */
class Counts {
  size = 0
  readonly #byScope = new Map<string, Map<string, Count>>()

  find(key: string, scope: string): Count | undefined {
    return this.#byScope.get(scope)?.get(key)
  }

  begin(key: string, scope: string, ends: number): Count {
    let counts = this.#byScope.get(scope)
    if (counts === undefined) this.#byScope.set(scope, (counts = new Map()))
    if (!counts.has(key)) this.size += 1
    const count = { used: 0, ends }
    counts.set(key, count)
    return count
  }
}

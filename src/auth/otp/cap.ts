import type { Clock } from '../../clock'
import { SatchelError } from '../../domain/value/error'
import { networkOf } from '../../net/networks'
import { createCounter } from '../../limits/counter'

/** So many in an hour from one network, and no more (promise 21). */
export interface Cap {
  /** Counts one from this IP address. Throws `TOO_MANY_REQUESTS` when that is one too many. */
  spend(address: string): void
  /** Takes one back that turned out to be right. */
  refund(address: string): void
}

const HOUR = 60 * 60 * 1000

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
  const minutes = Math.max(1, Math.ceil(wait / 60_000))
  return new SatchelError(
    'TOO_MANY_REQUESTS',
    `Too many login attempts: try again in ${minutes} minute${minutes === 1 ? '' : 's'}`,
    { retryAfter: Math.max(1, Math.ceil(wait / 1000)) },
  )
}

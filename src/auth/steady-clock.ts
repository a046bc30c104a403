import type { Clock } from '../clock'

export interface SteadyClock extends Clock {
  /** How far it is ahead of the clock it reads, ms. */
  readonly lead: number
}

/**
 * A clock that never goes back: when the one it reads does, it goes on from where it was at the
 * same pace. Expired items stay expired, and new ones can still expire (promise 11).
 * It begins no earlier than at `start`, ms.
 */
export function createSteadyClock(clock: Clock, start = -Infinity): SteadyClock {
  let newest = clock.now()
  let lead = Math.max(0, start - newest)
  return {
    now() {
      const now = clock.now()
      if (now < newest) lead += newest - now
      newest = now
      return now + lead
    },
    get lead() {
      return lead
    },
  }
}

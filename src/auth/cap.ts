import type { Clock } from '../clock'
import { SatchelError } from '../domain/error'

/** So many in an hour from one network, and no more (promise 21). */
export interface Cap {
  /** Counts one from this IP address. Throws `TOO_MANY_REQUESTS` when that is one too many. */
  spend(address: string): void
  /** Takes one back that turned out to be right. */
  refund(address: string): void
}

const HOUR = 60 * 60 * 1000
/** Networks that are counted at the same time; beyond, the one that began first begins anew. */
const COUNTED = 100_000

/** Counted in memory and at once, so that requests side by side get no more than one after another. */
export function createCap(clock: Clock, most: number): Cap {
  const counts = new Map<string, { used: number; readonly ends: number }>()

  function countOf(network: string, now: number) {
    const known = counts.get(network)
    if (known !== undefined && known.ends > now) return known
    counts.delete(network)
    const count = { used: 0, ends: now + HOUR }
    counts.set(network, count)
    if (counts.size > COUNTED) forgetOldest()
    return count
  }

  function forgetOldest(): void {
    for (const network of counts.keys()) {
      counts.delete(network)
      return
    }
  }

  return {
    spend(address) {
      const now = clock.now()
      const count = countOf(networkOf(address), now)
      if (count.used >= most) throw tooMany(count.ends - now)
      count.used += 1
    },
    refund(address) {
      const count = counts.get(networkOf(address))
      if (count !== undefined && count.used > 0) count.used -= 1
    },
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

/** What one holder is usually given: an IPv4 address, or the first 64 bits of version 6. */
function networkOf(address: string): string {
  if (!address.includes(':')) return address
  const [head = '', tail] = address.split('::', 2)
  const first = head.split(':')
  const last = tail === undefined || tail === '' ? [] : tail.split(':')
  const missing = tail === undefined ? 0 : Math.max(0, 8 - first.length - last.length)
  const groups = [...first, ...Array.from({ length: missing }, () => '0'), ...last]
  return groups
    .slice(0, 4)
    .map((group) => Number.parseInt(group || '0', 16).toString(16))
    .join(':')
}

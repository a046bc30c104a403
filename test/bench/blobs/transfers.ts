import { percentile } from '../statistics'
import type { LoadSample } from '../wrk'
import { openWire } from './wire'

/** Blobs of one size, one way, over so many connections. */
export interface Transfers {
  readonly direction: 'in' | 'out'
  /** In bytes. */
  readonly size: number
  readonly connections: number
}

/** The most bytes that one round may write to the disk. */
const MOST_BYTES = 17 * 2 ** 30

let stamps = 0

/**
 * Moves blobs over connections that are kept, for some seconds, and one over each at least. All that
 * come in are different.
 */
export async function transfer(
  { direction, size, connections }: Transfers,
  url: string,
  token: string | undefined,
  seconds: number,
): Promise<LoadSample> {
  const times: number[] = []
  const most =
    direction === 'in' ? Math.max(1, Math.floor(MOST_BYTES / size / connections)) : Infinity
  const begin = performance.now()

  async function work(): Promise<void> {
    using wire = await openWire(url)
    for (let count = 0; count < most; count += 1) {
      const begun = performance.now()
      const stamp = String(++stamps).padStart(16, '0')
      await wire.exchange(
        direction === 'out'
          ? { method: 'GET', path: '/main/blob/1:blob', token }
          : { method: 'PUT', path: `/main/blob/b${stamp}`, token, size, stamp },
      )
      times.push(performance.now() - begun)
      if (performance.now() - begin > seconds * 1000) return
    }
  }

  await Promise.all(Array.from({ length: connections }, work))
  return {
    perSecond: (times.length / (performance.now() - begin)) * 1000,
    requests: times.length,
    p50: percentile(times, 0.5),
    p99: percentile(times, 0.99),
  }
}

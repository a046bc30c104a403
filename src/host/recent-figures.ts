import { statfs } from 'node:fs/promises'
import process from 'node:process'
import type { EngineFigures } from '../domain/store/meter'
import { Histogram } from '../domain/value/histogram'

/** The figures of some seconds. Null: nothing to measure, or unknown. */
export interface Figures {
  /** The end of these seconds, ms since the epoch. */
  readonly at: number
  /** Requests that were answered in a second, those of the page for administrators apart. */
  readonly requests: number
  /** Of these, those that the server failed, in a second. */
  readonly failures: number
  /** Half of the answers took so long at most, and 95 of 100, in ms. */
  readonly median: number | null
  readonly p95: number | null
  /** Transactions that were committed in a second. */
  readonly commits: number | null
  /** How long units have waited to be written, on average, in ms. */
  readonly wait: number | null
  /** Live connections. */
  readonly sockets: number
  /** The memory of the process, and the free disk below the data folder, in bytes. */
  readonly memory: number
  readonly free: number | null
}

/** The figures of the last hour. Disposing them ends their timer. */
export interface RecentFigures extends Disposable {
  /** Counts a request, which costs a few comparisons; `duration` in ms. */
  count(path: string, status: number, duration: number): void
  /** The oldest first. */
  list(): readonly Figures[]
}

export interface FigureSources {
  readonly folder: { readonly path: string; figures(): EngineFigures }
  readonly sockets: () => number
  readonly clock: { now(): number }
  readonly every: (ms: number, work: () => void) => Disposable
}

export const SECONDS_EACH = 10
/** An hour of them. */
export const MOST_FIGURES = 360

/** From a quarter of a millisecond to a minute, each half as large again as the one before. */
const BOUNDS = Array.from({ length: 32 }, (_, place) => 0.25 * 1.5 ** place)

export function createRecentFigures(sources: FigureSources): RecentFigures {
  const { folder, sockets, clock, every } = sources
  const figures: Figures[] = []
  let durations = new Histogram(BOUNDS)
  let failures = 0
  let before = engineNow()
  let free: number | null = null
  let isReadingDisk = false

  function engineNow() {
    const { meter } = folder.figures()
    if (meter === undefined) return null
    const { waits, commits } = meter
    return { commits, units: totalOf(waits), waited: waits.sum }
  }

  /** A disk over the network may answer late, or never. */
  async function readDisk(): Promise<void> {
    if (isReadingDisk) return
    isReadingDisk = true
    try {
      const { bavail, bsize } = await statfs(folder.path)
      free = bavail * bsize
    } catch {
      free = null
    } finally {
      isReadingDisk = false
    }
  }

  function sample(): void {
    const now = engineNow()
    const units = now === null || before === null ? 0 : now.units - before.units
    figures.push({
      at: clock.now(),
      requests: totalOf(durations) / SECONDS_EACH,
      failures: failures / SECONDS_EACH,
      median: quantile(durations, 0.5),
      p95: quantile(durations, 0.95),
      commits: now && before && (now.commits - before.commits) / SECONDS_EACH,
      wait: now && before && units > 0 ? ((now.waited - before.waited) * 1000) / units : null,
      sockets: sockets(),
      memory: process.memoryUsage.rss(),
      free,
    })
    if (figures.length > MOST_FIGURES) figures.shift()
    durations = new Histogram(BOUNDS)
    failures = 0
    before = now
    void readDisk()
  }

  void readDisk()
  const timer = every(SECONDS_EACH * 1000, sample)
  return {
    count(path, status, duration) {
      if (path === '/admin' || path.startsWith('/admin/')) return
      durations.observe(duration)
      if (status >= 500) failures += 1
    },
    list: () => figures,
    [Symbol.dispose]: () => timer[Symbol.dispose](),
  }
}

function totalOf({ counts }: Histogram): number {
  return counts.reduce((sum, count) => sum + count, 0)
}

/** The value that this part of the values does not exceed, between two bounds in proportion. */
function quantile(histogram: Histogram, part: number): number | null {
  const total = totalOf(histogram)
  if (total === 0) return null
  let left = total * part
  for (const [place, count] of histogram.counts.entries()) {
    const low = histogram.bounds[place - 1] ?? 0
    const high = histogram.bounds[place]
    if (high === undefined) return low
    if (count >= left) return low + ((high - low) * left) / count
    left -= count
  }
  return null
}

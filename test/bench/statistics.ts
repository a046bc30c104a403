/** The middle value; the mean of the two middle ones of an even count. NaN of none. */
export function median(values: readonly number[]): number {
  return (percentile(values, 0.5, Math.floor) + percentile(values, 0.5, Math.ceil)) / 2
}

/** The value below which the share `rank` (0…1) of the others lies, the nearest one that occurred. */
export function percentile(
  values: readonly number[],
  rank: number,
  nearest: (index: number) => number = Math.ceil,
): number {
  const sorted = values.toSorted((left, right) => left - right)
  return sorted[nearest((sorted.length - 1) * rank)] ?? Number.NaN
}

/** Two values between which the median lies, and how surely. */
export interface Interval {
  readonly low: number
  readonly high: number
  /** From 0 to 1. */
  readonly confidence: number
}

/**
 * The narrowest interval between two of the values that holds the median with a confidence of 95 %,
 * for any distribution (the sign test); from the least to the greatest of fewer than six.
 */
export function medianInterval(values: readonly number[]): Interval {
  const sorted = values.toSorted((left, right) => left - right)
  const count = sorted.length
  let left = 0
  while (left + 1 < count / 2 && confidenceBetween(left + 1, count) >= 0.95) left += 1
  return {
    low: sorted[left] ?? Number.NaN,
    high: sorted[count - 1 - left] ?? Number.NaN,
    confidence: confidenceBetween(left, count),
  }
}

/** How surely the median lies inside when `left` of `count` values are cut off at either end. */
function confidenceBetween(left: number, count: number): number {
  let ways = 1
  let outside = 0
  for (let below = 0; below <= left; below += 1) {
    outside += ways
    ways = (ways * (count - below)) / (below + 1)
  }
  return Math.max(0, 1 - (2 * outside) / 2 ** count)
}

export interface Point {
  readonly x: number
  readonly y: number
}

/** The line through points by least squares: its slope, and the standard error of that. NaN of fewer than three. */
export function slopeOf(points: readonly Point[]): {
  readonly slope: number
  readonly error: number
} {
  const mean = (values: readonly number[]) =>
    values.reduce((sum, value) => sum + value, 0) / values.length
  const [x, y] = [mean(points.map((each) => each.x)), mean(points.map((each) => each.y))]
  const spread = points.reduce((sum, each) => sum + (each.x - x) ** 2, 0)
  const slope = points.reduce((sum, each) => sum + (each.x - x) * (each.y - y), 0) / spread
  const rest = points.reduce((sum, each) => sum + (each.y - y - slope * (each.x - x)) ** 2, 0)
  return { slope, error: Math.sqrt(rest / (points.length - 2) / spread) }
}

import type { Random } from './random'

/** Two series of times that were taken in turn, and what tells one from the other. */
export interface Comparison {
  /** Welch's t of the two: beyond ±4.5 they differ by more than chance (promises.md 23). */
  readonly t: number
  /** How much longer the second takes on average, in the unit of the times. */
  readonly difference: number
}

/**
 * Whose turn it is, 0 or 1, `samples` times each, in an order that is drawn: what one turn leaves
 * behind meets either side alike.
 */
export function drawTurns(samples: number, random: Random): Uint8Array {
  const turns = new Uint8Array(2 * samples).fill(1, samples)
  for (let last = turns.length - 1; last > 0; last -= 1) {
    const drawn = random.between(0, last)
    const turn = turns[drawn]!
    turns[drawn] = turns[last]!
    turns[last] = turn
  }
  return turns
}

/** How far from 0 Welch's t may be. */
export const MOST_T = 4.5

/**
 * Compares two series of times. The slowest 5 % are left out: what else the
 * machine does at times says nothing about them, and hides what there is to see.
 */
export function compareTimes(one: Float64Array, other: Float64Array): Comparison {
  const all = Float64Array.from([...one, ...other]).toSorted()
  const slowest = all[Math.floor(all.length * 0.95)] ?? Infinity
  const first = describe(one.filter((time) => time <= slowest))
  const second = describe(other.filter((time) => time <= slowest))
  const difference = second.mean - first.mean
  const spread = Math.sqrt(first.variance / first.count + second.variance / second.count)
  return { t: difference === 0 ? 0 : difference / spread, difference }
}

function describe(times: Float64Array) {
  const count = times.length
  const mean = times.reduce((sum, time) => sum + time, 0) / count
  const variance = times.reduce((sum, time) => sum + (time - mean) ** 2, 0) / (count - 1)
  return { count, mean, variance }
}

import type { Mode } from './satchel'

/** The bar for a figure (design.md §7). */
export interface Bar {
  readonly limit: 'at least' | 'at most'
  readonly bar: number
  readonly goal?: number
  readonly unit: '×' | 's' | 'ms' | 'KB' | 'MB' | 'units'
}

/** One figure of the benchmark, measured once per round. */
export interface Figure {
  readonly title: string
  /** How Satchel was started; `development` unless told. */
  readonly mode?: Mode
  readonly bar: Bar
  readonly values: readonly number[]
  /** The value that represents the rounds: their median, or the worst for memory and files. */
  readonly value: number
  /** The two that were raced, when the figure is a ratio. */
  readonly floor?: LaneSummary
  readonly satchel?: LaneSummary
  /** Why there is no value. */
  readonly skipped?: string
}

/** How a contender did: medians of its rounds, and the most memory it had after one. */
export interface LaneSummary {
  readonly name: string
  readonly objectsPerSecond: number
  /** Latencies of a request in ms. */
  readonly p50: number
  readonly p99: number
  /** Resident memory in MB. */
  readonly megabytes: number
}

/** How two executables did in the same rounds. */
export interface Duel {
  readonly title: string
  readonly unit: string
  readonly isLowerBetter: boolean
  readonly before: readonly number[]
  readonly after: readonly number[]
  /** Why there is no value. */
  readonly skipped?: string
}

/** A ratio to the floor. */
export function ratio(bar: number, goal: number): Bar {
  return { limit: 'at least', bar, goal, unit: '×' }
}

export function atMost(bar: number, goal: number, unit: 's' | 'ms' | 'KB' | 'MB'): Bar {
  return { limit: 'at most', bar, goal, unit }
}

/** Whether the figure reaches the number; undefined when it was not measured. */
export function reaches({ bar, value }: Figure, number: number): boolean | undefined {
  if (Number.isNaN(value)) return undefined
  return bar.limit === 'at least' ? value >= number : value <= number
}

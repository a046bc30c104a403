import { type Point, slopeOf } from '../bench/statistics'

/** The figures of a day, at midnight, when nobody works. */
export interface Day {
  readonly day: number
  /** Of the process of the server without garbage and compiled code, bytes. */
  readonly memory: number
  readonly heap: number
  readonly descriptors: number
  /** The write-ahead logs of the databases, bytes. */
  readonly log: number
  /** The data folder without these, bytes. */
  readonly folder: number
  /** An export with blobs: what the users have, bytes. */
  readonly live: number
  /** Bytes that the server wrote to its log on this day. */
  readonly lines: number
  readonly requests: number
  /** Of the requests of this day, ms. */
  readonly p99: number
}

/** A quantity that must not grow. */
export interface Quantity {
  readonly name: string
  readonly unit: string
  readonly of: (day: Day) => number
}

const MIB = 1024 * 1024

export const QUANTITIES: readonly Quantity[] = [
  { name: 'memory', unit: 'MiB', of: ({ memory }) => memory / MIB },
  { name: 'heap', unit: 'MiB', of: ({ heap }) => heap / MIB },
  { name: 'descriptors', unit: '', of: ({ descriptors }) => descriptors },
  { name: 'log', unit: 'MiB', of: ({ log }) => log / MIB },
  {
    name: 'folder per live byte',
    unit: '',
    of: ({ folder, live }) => folder / live,
  },
  { name: 'log lines', unit: 'MiB a day', of: ({ lines }) => lines / MIB },
  { name: 'p99', unit: 'ms', of: ({ p99 }) => p99 },
]

/** The share of the days that is not judged: caches and the heap fill up, and the company makes its objects. */
const WARM_UP = 1 / 3
/** A slope of so many standard errors is no chance. */
const SURE = 3
/** Growth up to this share of the mean passes: the heap and files grow in pages. */
const ALLOWANCE = 0.05

export interface Verdict {
  readonly name: string
  readonly unit: string
  /** The judged days. */
  readonly from: number
  readonly to: number
  readonly mean: number
  /** A day, with its standard error. */
  readonly slope: number
  readonly error: number
  /** From the first to the last judged day, along the line. */
  readonly growth: number
  readonly isFlat: boolean
}

/** Judges each quantity after the warm-up. Needs five days. */
export function judge(days: readonly Day[]): Verdict[] {
  const judged = days.slice(Math.floor(days.length * WARM_UP))
  return QUANTITIES.map(({ name, unit, of }) => {
    const points = judged.map((day) => ({ x: day.day, y: of(day) }))
    return { name, unit, ...judgeLine(points) }
  })
}

/** A line is flat unless it grows by more than chance and more than the allowed share of the mean. */
export function judgeLine(points: readonly Point[]) {
  const { slope, error } = slopeOf(points)
  const [from, to] = [points[0]?.x ?? 0, points.at(-1)?.x ?? 0]
  const mean = points.reduce((sum, { y }) => sum + y, 0) / points.length
  const growth = slope * (to - from)
  const isSteep = slope > SURE * error && growth > ALLOWANCE * mean
  return { from, to, mean, slope, error, growth, isFlat: !isSteep }
}

import { DAY } from '../value/time'

/** How many backups are kept, by the units of time of which each has one. */
export interface Retention {
  readonly days: number
  readonly weeks: number
  readonly months: number
}

const UNITS = { d: 'days', w: 'weeks', m: 'months' } as const

/** Reads `7d,4w,12m`; undefined for another text, and for one that keeps none. */
export function parseRetention(text: string): Retention | undefined {
  const kept = { days: 0, weeks: 0, months: 0 }
  for (const part of text.split(',')) {
    const [, count, unit] = /^\s*(\d{1,4})([dwm])\s*$/.exec(part) ?? []
    if (unit === undefined) return undefined
    kept[UNITS[unit as keyof typeof UNITS]] = Number(count)
  }
  return kept.days + kept.weeks + kept.months > 0 ? kept : undefined
}

/**
 * The backups to keep, of these times (ms): the last one of each of the latest days, weeks and months that have one,
 * in UTC; always the last one of all.
 */
export function keptTimes(times: readonly number[], retention: Retention): ReadonlySet<number> {
  const newestFirst = times.toSorted((one, other) => other - one)
  const kept = new Set(newestFirst.slice(0, 1))
  for (const [unit, periodOf] of Object.entries(PERIODS)) {
    const periods = new Set<string>()
    for (const time of newestFirst) {
      const period = periodOf(time)
      if (periods.has(period) || periods.size >= retention[unit as keyof Retention]) continue
      periods.add(period)
      kept.add(time)
    }
  }
  return kept
}

const PERIODS: { readonly [Unit in keyof Retention]: (time: number) => string } = {
  days: (time) => new Date(time).toISOString().slice(0, 10),
  /** The first day of 1970 was a Thursday; a week begins with Monday. */
  weeks: (time) => String(Math.floor((time / DAY + 3) / 7)),
  months: (time) => new Date(time).toISOString().slice(0, 7),
}

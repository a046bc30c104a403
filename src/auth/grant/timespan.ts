import { quoted, SatchelError } from '../../domain/value/error'

/**
 * A timespan, in ms: text as the `ms` package reads it, `"1h"`, `"30 min"`, `"2 days"`, or a number
 * of seconds, as OAuth's `expires_in` is (protocol.md §2.1, RFC 6749 §5.1). Throws
 * `INVALID_REQUEST` naming `parameter`.
 */
export function parseTimespan(value: unknown, parameter: string): number {
  if (typeof value === 'number' && Number.isFinite(value)) return value * SECOND
  if (typeof value === 'string' && value.length <= MAX_LENGTH) {
    const [, amount, unit = 'ms'] = SPAN.exec(value) ?? []
    const length = LENGTHS.get(unit.toLowerCase())
    if (amount !== undefined && length !== undefined) return Number(amount) * length
  }
  throw new SatchelError(
    'INVALID_REQUEST',
    `${quoted(parameter)} must be a timespan such as "90s", "30 min" or "12h"`,
  )
}

const SPAN = /^(-?(?:\d+)?\.?\d+) *([a-z]+)?$/i
const MAX_LENGTH = 100

const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

const LENGTHS = new Map(
  [
    { length: 1, names: ['ms', 'msec', 'msecs', 'millisecond', 'milliseconds'] },
    { length: SECOND, names: ['s', 'sec', 'secs', 'second', 'seconds'] },
    { length: MINUTE, names: ['m', 'min', 'mins', 'minute', 'minutes'] },
    { length: HOUR, names: ['h', 'hr', 'hrs', 'hour', 'hours'] },
    { length: DAY, names: ['d', 'day', 'days'] },
    { length: 7 * DAY, names: ['w', 'week', 'weeks'] },
    { length: 365.25 * DAY, names: ['y', 'yr', 'yrs', 'year', 'years'] },
  ].flatMap(({ length, names }) => names.map((name) => [name, length] as const)),
)

import type { Clock } from '../clock'
import { DAY, HOUR, MINUTE, SECOND } from '../domain/value/time'
import { SatchelError } from '../domain/value/error'
import type { ClockChange } from '../host/test-mode'

/** The state of a movable clock. */
export interface ClockState {
  /** How far the clock is ahead of the machine's, ms. */
  readonly offset: number
  /** The time at which it stands still, ms; null while it runs. */
  readonly frozen: number | null
}

export const REAL_TIME: ClockState = { offset: 0, frozen: null }

/** A clock of one database that tests move. */
export interface MovableClock extends Clock {
  state: ClockState
}

export function clockAt(machine: Clock, state: ClockState): MovableClock {
  return {
    state,
    now() {
      return this.state.frozen ?? machine.now() + this.state.offset
    },
  }
}

/** The state after a change. Throws `INVALID_REQUEST`. */
export function changeClock(
  machine: Clock,
  before: ClockState,
  { advance, set, freeze }: ClockChange,
): ClockState {
  const real = machine.now()
  const now = before.frozen ?? real + before.offset
  const moved =
    (set === null ? now : readTime(set)) + (advance === null ? 0 : readDuration(advance))
  if (Math.abs(moved) > LATEST_TIME)
    throw refusal('the time must be between the years 1970 and 9999')
  const isFrozen = freeze ?? before.frozen !== null
  return { offset: moved - real, frozen: isFrozen ? moved : null }
}

const LATEST_TIME = Date.UTC(9999, 11, 31)

const MS_BY_UNIT: Readonly<Record<string, number>> = {
  d: DAY,
  h: HOUR,
  m: MINUTE,
  s: SECOND,
  ms: 1,
}

/** Milliseconds of `31d`, `1h30m` or `-90s`. Throws `INVALID_REQUEST`. */
export function readDuration(text: string): number {
  const [, sign, parts = ''] = /^(-?)((?:\d{1,12}(?:ms|[dhms]))+)$/.exec(text) ?? []
  if (parts === '') throw refusal('a duration must be written like 31d, 1h30m, 90s or -2m')
  const sum = [...parts.matchAll(/(\d{1,12})(ms|[dhms])/g)].reduce(
    (total, [, count, unit = '']) => total + Number(count) * (MS_BY_UNIT[unit] ?? 0),
    0,
  )
  return sign === '-' ? -sum : sum
}

function readTime(text: string): number {
  const time = /^\d{4}-\d{2}-\d{2}(?:T|$)/.test(text) ? Date.parse(text) : Number.NaN
  if (Number.isNaN(time)) throw refusal('"set" must be a time like 2027-01-31T09:00:00Z')
  return time
}

function refusal(sentence: string): SatchelError {
  return new SatchelError('INVALID_REQUEST', sentence)
}

import type { Clock } from '../clock'
import type { Database, WriteTx } from '../domain/store/store'
import { MINUTE } from '../domain/value/time'

/** `now` never goes back: tokens and codes begin and end by it (promise 11). */
export interface SteadyClock extends Clock {
  /** The clock of the machine, for times that are stored or shown. It may go back. */
  readonly wall: Clock
  /** How far `now` is ahead of `wall`, ms. */
  readonly lead: number
}

/**
 * When `clock` goes back, the steady clock continues from where it was at the same pace: expired
 * tokens stay expired, and new ones can still end. It begins no earlier than at `start`, ms.
 */
export function createSteadyClock(clock: Clock, start = -Infinity): SteadyClock {
  let newest = clock.now()
  let lead = Math.max(0, start - newest)
  return {
    now() {
      const now = clock.now()
      if (now < newest) lead += newest - now
      newest = now
      return now + lead
    },
    wall: clock,
    get lead() {
      return lead
    },
  }
}

/** Told when `clock` is `behind` the latest time of the database, ms, and whether it is believed. */
export type ReportClock = (behind: number, isBelieved: boolean) => void

/**
 * A steady clock that does not go back over a restart either: it continues from the latest time that
 * was stored in the database. `longest`: how long a token can live, ms. A clock that is further behind
 * than that is believed: it was far ahead before, or has just lost the time, and continuing from the
 * stored time would end valid tokens and lengthen new ones for as long as it is behind. Disposing
 * stores the time.
 */
export async function openSteadyClock(
  database: Database,
  clock: Clock,
  longest: number,
  report: ReportClock = () => undefined,
): Promise<SteadyClock & AsyncDisposable> {
  const latest = await database.read((tx) => tx.latestTime())
  const behind = latest - clock.now()
  const isBelieved = behind > longest
  if (behind >= MINUTE) report(behind, isBelieved)
  if (isBelieved) await database.write((tx) => beginAnew(tx, clock.now()))
  const steady = createSteadyClock(clock, isBelieved ? -Infinity : latest)
  let kept = isBelieved ? steady.now() : latest
  let seen = kept
  let writing: Promise<unknown> = Promise.resolve()

  function keep(): void {
    const time = seen
    kept = time
    // When a full disk or a busy store refuses the write, the next one follows in a minute.
    writing = database.write((tx) => raise(tx, time)).catch(() => undefined)
  }

  return {
    now() {
      seen = steady.now()
      // A crash loses at most the last minute.
      if (seen - kept >= MINUTE) keep()
      return seen
    },
    wall: clock,
    get lead() {
      return steady.lead
    },
    async [Symbol.asyncDispose]() {
      await writing
      if (seen > kept) keep()
      await writing
    },
  }
}

/** Codes with a time in the future would stay valid, and count, until then. */
function beginAnew(tx: WriteTx, now: number): void {
  while (tx.prune('codes', Number.MAX_SAFE_INTEGER, CODES_PER_STEP) === CODES_PER_STEP);
  tx.setLatestTime(now)
}

const CODES_PER_STEP = 1_000

/** Another process may have stored a later time. */
function raise(tx: WriteTx, time: number): void {
  if (time > tx.latestTime()) tx.setLatestTime(time)
}

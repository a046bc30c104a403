import type { Clock } from '../clock'
import type { Database, WriteTx } from '../domain/store/store'
import { createSteadyClock, type SteadyClock } from './steady-clock'

/** A steady clock that does not go back over a restart either. Closing it writes what is pending. */
export interface LastingClock extends SteadyClock, AsyncDisposable {}

/** Told when `clock` is `behind` the latest time of the database, ms, and whether it is believed. */
export type ReportClock = (behind: number, isBelieved: boolean) => void

/**
 * Goes on from the latest time by which anything of this database was judged, so that what was over
 * stays over. `longest`: how long a token can live, ms. A clock that is further behind than that is
 * believed: it was far ahead before, or has lost the time just now, and going on from there would end
 * what people have and lengthen what they get for as long as it is behind.
 */
export async function openLastingClock(
  database: Database,
  clock: Clock,
  longest: number,
  report: ReportClock = () => undefined,
): Promise<LastingClock> {
  const latest = await database.read((tx) => tx.time.latest())
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
    // What a full disk or a busy store refuses is written a minute later.
    writing = database.write((tx) => tx.time.keep(time)).catch(() => undefined)
  }

  return {
    now() {
      seen = steady.now()
      if (seen - kept >= MINUTE) keep()
      return seen
    },
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

/** ms. What a crash takes away is at most the last of them. */
const MINUTE = 60 * 1000

/** Codes of a time that is still to come would be good, and count, until then. */
async function beginAnew(tx: WriteTx, now: number): Promise<void> {
  await tx.codes.prune(Number.MAX_SAFE_INTEGER)
  await tx.time.reset(now)
}

// The end of history: docs/merging.md, "After a long time offline".

import type { Clock } from '../../clock'
import type { Database, WriteTx } from '../store/store'
import { AUDIT_KEPT_MS } from '../store/audit'
import { DAY, HOUR, MINUTE } from '../value/time'

interface HistoryKeeperParts {
  readonly database: Database
  readonly clock: Clock
  /** Called with errors; the next time tries again. */
  readonly report: (error: unknown) => void
  /** The time until the first look for old history, ms. */
  readonly after?: number
}

/**
 * How long deletions, operations with criteria, lost rows of members and clients are remembered, ms: a client
 * that was away for longer gets everything anew.
 */
const RETENTION_MS = 180 * DAY

/** How long it is remembered which users were deleted, for restores of older backups, ms. */
const ERASED_KEPT_MS = 2 * 365 * DAY

/** Removed in one unit. */
const UNIT_RECORDS = 1_000

/**
 * Forgets the history that no client is owed any more, in the background, while its database is open and this process
 * has the duty `history`.
 */
export function createHistoryKeeper(parts: HistoryKeeperParts) {
  const { database, clock, report, after = MINUTE } = parts
  let isStopped = false
  let working = Promise.resolve()
  const duty = database.duty('history', () => undefined)

  async function forgetOld(): Promise<void> {
    const before = clock.now() - RETENTION_MS
    await repeat((tx) => tx.prune('history', before, UNIT_RECORDS))
    await repeat((tx) => tx.prune('syncClients', before, UNIT_RECORDS))
    await repeat((tx) => tx.prune('audit', clock.now() - AUDIT_KEPT_MS, UNIT_RECORDS))
    await repeat((tx) => tx.prune('erasedUsers', clock.now() - ERASED_KEPT_MS, UNIT_RECORDS))
  }

  function forget(): Promise<void> {
    working = working.then(forgetOld).catch(report)
    return working
  }

  async function repeat(step: (tx: WriteTx) => number) {
    while (!isStopped && (await database.write(step)) > 0);
  }

  const look = () => void (duty.isMine && forget())
  const first = setTimeout(look, after)
  const timer = setInterval(look, 6 * HOUR)
  first.unref()
  timer.unref()
  return {
    /** Forgets now, after the work under way, with or without the duty. */
    forget,
    async [Symbol.asyncDispose]() {
      isStopped = true
      clearTimeout(first)
      clearInterval(timer)
      await working
      await duty[Symbol.asyncDispose]()
    },
  }
}

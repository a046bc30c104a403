import type { CheckpointRequest } from './checkpoint-worker'
import type { Meter } from '../domain/store/meter'
import type { Connection } from './connection'
import { type SharedWorker, shareWorker } from './shared-worker'

const MIB = 1024 * 1024
/** The worker copies the log when more than this is not in the database file yet (design.md §3). */
const MIN_COPIED_BYTES = 4 * MIB
/** Above this size the log is restarted between two groups. */
const RESTART_LOG_BYTES = 32 * MIB
/** What a reader prevented is tried again after this much growth, and after this part of the log. */
const RETRY_STEP = 4 * MIB
const RETRY_PART = 1 / 8
/** Above this, writes wait for the running checkpoint: the log is bounded even if the disk is slow. */
const WAL_HOLD = 48 * MIB
/** Only a reader makes the log longer than this. */
const WAL_MOST = 64 * MIB
/** A checkpoint that a reader prevented is tried again after this, ms, although nothing is written. */
const RETRY_AFTER_MS = 2_000
/** The log is emptied this long after an erasure, ms, whose next steps follow within it. */
const WIPE_AFTER_MS = 500
/** An emptying of the log copies no more than this in-line; the worker copies the rest before. */
const WIPE_IN_LINE = 256 * 1024

const EMPTY = { log: 0, unsaved: 0 }

export type Checkpoints = ReturnType<typeof createCheckpoints>

/** One checkpoint of the worker. */
interface Pass {
  /** Resolves when it has ended. */
  readonly ended: PromiseWithResolvers<void>
  /** Bytes in the log, and of these the ones to copy, when it began. */
  readonly log: number
  readonly unsaved: number
  /** Writes may wait for it. */
  readonly mayHoldUp: boolean
}

/**
 * Keeps checkpoints off the request path. A worker copies pages while the writer continues (PASSIVE);
 * since the log can only be reused while nothing is written, the writer restarts it itself when it
 * still grows, but never while much is unsaved: it would copy that in-line. A reader that holds a snapshot
 * stops both, and the log grows; nobody waits for that, and the worker catches up when the reader is
 * gone. The worker is started when it is first needed.
 */
export function createCheckpoints(
  request: CheckpointRequest,
  connection: Connection,
  report: (error: unknown) => void,
  meter?: Meter,
) {
  const pageSize =
    connection.prepare<{ page_size: number }>('PRAGMA page_size').get()?.page_size ?? 4096
  let worker: SharedWorker | undefined
  let hasFailed = false
  let isClosing = false
  let pass: Pass | undefined
  let last = { unsaved: 0, wasStopped: false }
  /** The sizes of the log from which on a pass and a restart are tried. */
  let passAt = 0
  let restartAt = RESTART_LOG_BYTES
  let retry: Timer | undefined
  /** The log holds erased rows, and is emptied now, or when a timer or a reader that is gone asks for it. */
  let wiping: 'no' | 'now' | 'later' = 'no'

  /**
   * Called between transactions: starts a checkpoint if the log is large enough. A promise is for the
   * next transaction to wait for. Does not throw: pages that were not copied stay in the log.
   */
  function consider(): Promise<void> | undefined {
    const { log, unsaved } = measure()
    // The worker and a restart exclude each other.
    if (pass === undefined) {
      if (unsaved > (wiping === 'now' ? WIPE_IN_LINE : MIN_COPIED_BYTES) && !hasFailed) {
        if (log >= passAt) begin(log, unsaved)
      } else if (wiping === 'now') truncate()
      else if (log > restartAt) restart(log)
    }
    return log > WAL_HOLD && pass?.mayHoldUp === true ? pass.ended.promise : undefined
  }

  /** Bytes in the log, and of these the ones that are not in the database file. */
  function measure(): { log: number; unsaved: number } {
    try {
      // Changes nothing, and is cheaper than reading the size of the file.
      const state = connection
        .prepare<{ log: number; checkpointed: number }>('PRAGMA wal_checkpoint(NOOP)')
        .get()
      if (state === null) return EMPTY
      return { log: state.log * pageSize, unsaved: (state.log - state.checkpointed) * pageSize }
    } catch (error) {
      report(error)
      return EMPTY
    }
  }

  function restart(log: number): void {
    restartAt = retryAt(log)
    try {
      // The next commit would shorten a long log too, and may never come.
      const kind = log > WAL_MOST ? 'TRUNCATE' : 'RESTART'
      const row = connection.prepare<{ busy: number }>(`PRAGMA wal_checkpoint(${kind})`).get()
      if (row?.busy !== 0) return
      restartAt = RESTART_LOG_BYTES
      if (meter !== undefined) meter.checkpoints += 1
    } catch (error) {
      report(error)
    }
  }

  function truncate(): void {
    wiping = 'later'
    try {
      const row = connection.prepare<{ busy: number }>('PRAGMA wal_checkpoint(TRUNCATE)').get()
      if (row?.busy === 0) wiping = 'no'
    } catch (error) {
      report(error)
    }
    if (wiping === 'later') retryAfter(RETRY_AFTER_MS)
  }

  function retryAfter(ms: number): void {
    clearTimeout(retry)
    if (!isClosing) retry = setTimeout(catchUp, ms).unref()
  }

  function begin(log: number, unsaved: number): void {
    clearTimeout(retry)
    // Passes that catch up take long, but each of them half as long as the one before, or writes wait.
    const isCatchingUp = last.wasStopped || (unsaved > WAL_HOLD && unsaved <= last.unsaved / 2)
    const begun = {
      ended: Promise.withResolvers<void>(),
      log,
      unsaved,
      mayHoldUp: !isCatchingUp,
    }
    pass = begun
    worker ??= shareWorker()
    worker.run({ ...request, kind: 'copy' }).then(
      ({ uncopied }) => end(begun, uncopied * pageSize),
      (error: unknown) => {
        hasFailed = true
        report(error)
        end(begun, 0)
      },
    )
  }

  function end({ ended, log, unsaved }: Pass, left: number): void {
    // Readers of a moment leave little behind.
    const wasStopped = left > unsaved / 2
    last = { unsaved, wasStopped }
    pass = undefined
    if (meter !== undefined) meter.checkpoints += 1
    passAt = wasStopped ? retryAt(log) : 0
    ended.resolve()
    if (wasStopped) retryAfter(RETRY_AFTER_MS)
    // Where nobody writes any more, nobody else makes the log small again.
    else if (unsaved > WAL_HOLD || wiping !== 'no') catchUp()
  }

  /** Called when a reader is gone that may have stopped checkpoints: they catch up at once. */
  function catchUp(): void {
    passAt = 0
    restartAt = RESTART_LOG_BYTES
    if (wiping === 'later') wiping = 'now'
    // The group under way considers it when it ends.
    if (!isClosing && !connection.db.inTransaction) void consider()
  }

  return {
    consider,
    measure,
    /** Empties the log, between transactions, as soon as no reader holds it: rows in it were erased. */
    wipe() {
      if (wiping !== 'no') return
      wiping = 'later'
      retryAfter(WIPE_AFTER_MS)
    },
    catchUp,
    async close() {
      isClosing = true
      clearTimeout(retry)
      if (worker === undefined) return
      worker.hold()
      await pass?.ended.promise
      if (!hasFailed) await worker.run({ ...request, kind: 'close' }).catch(report)
      worker.release()
    },
  }
}

/** The size of the log at which something that failed at this size is tried again. */
function retryAt(log: number): number {
  return log + Math.max(RETRY_STEP, log * RETRY_PART)
}

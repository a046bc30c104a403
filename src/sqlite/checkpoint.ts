import type { Connection } from './connection'

const MIB = 1024 * 1024
/** So much that is not in the database file yet makes the worker copy it (design.md §3). */
const WORTH_COPYING = 4 * MIB
/** Above this the log is restarted between two groups, whoever has to wait. */
const WAL_RESTART = 32 * MIB
/** A restart that a reader prevented is tried again after this much growth. */
const RETRY_STEP = 4 * MIB

export interface Checkpoints {
  /** Called between transactions: starts what the size of the log asks for. */
  consider(): void
  close(): Promise<void>
}

/**
 * Keeps checkpoints off the request path. A worker copies pages while the writer goes on (PASSIVE);
 * since the log can only be reused when the writer stands still, the writer restarts it itself
 * when it has grown in spite of that. The worker starts with the first need.
 */
export function createCheckpoints(file: string, connection: Connection): Checkpoints {
  const pageSize =
    connection.prepare<{ page_size: number }>('PRAGMA page_size').get()?.page_size ?? 4096
  let worker: Worker | undefined
  let isWorking = false
  let restartAt = WAL_RESTART

  function consider(): void {
    // Asks without doing anything, and costs less than to look at the file.
    const state = connection
      .prepare<{ log: number; checkpointed: number }>('PRAGMA wal_checkpoint(NOOP)')
      .get()
    if (state === null) return
    const size = state.log * pageSize
    if (size > restartAt) restart(size)
    else if ((state.log - state.checkpointed) * pageSize > WORTH_COPYING && !isWorking) askWorker()
  }

  function restart(size: number): void {
    const row = connection.prepare<{ busy: number }>('PRAGMA wal_checkpoint(RESTART)').get()
    restartAt = row?.busy === 0 ? WAL_RESTART : size + RETRY_STEP
  }

  function askWorker(): void {
    isWorking = true
    worker ??= startWorker()
    worker.postMessage({ file })
  }

  function startWorker(): Worker {
    const started = new Worker(new URL('./checkpoint-worker.ts', import.meta.url).href)
    started.unref()
    started.addEventListener('message', ({ data }: MessageEvent<'done' | 'closed'>) => {
      isWorking = false
      if (data === 'closed') hasClosed.resolve()
    })
    return started
  }

  const hasClosed = Promise.withResolvers<void>()
  return {
    consider,
    async close() {
      if (worker === undefined) return
      worker.postMessage('close')
      await Promise.race([hasClosed.promise, Bun.sleep(1_000)])
      worker.terminate()
    },
  }
}

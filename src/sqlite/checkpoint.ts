import { statSync } from 'node:fs'
import { type Connection, WAL_KEPT } from './connection'

/** Above this the log is restarted between two groups, whoever has to wait (design.md §3). */
const WAL_RESTART = 32 * 1024 * 1024
/** A restart that a reader prevented is tried again after this much growth. */
const RETRY_STEP = 4 * 1024 * 1024

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
  const wal = `${file}-wal`
  let worker: Worker | undefined
  let isWorking = false
  let restartAt = WAL_RESTART

  function consider(): void {
    const size = statSync(wal, { throwIfNoEntry: false })?.size ?? 0
    if (size > restartAt) restart(size)
    if (size > WAL_KEPT && !isWorking) askWorker()
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

import type { CheckpointAnswer, CheckpointRequest, CheckpointTask } from './checkpoint-worker'
import type { Connection } from './connection'

const MIB = 1024 * 1024
/** The worker copies the log when more than this is not in the database file yet (design.md §3). */
const WORTH_COPYING = 4 * MIB
/** Above this size the log is restarted between two groups. */
const WAL_RESTART = 32 * MIB
/** A restart that a reader prevented is tried again after this much growth. */
const RETRY_STEP = 4 * MIB
/** Above this, writes wait for the running checkpoint: the log is bounded even if the disk is slow. */
const WAL_HOLD = 48 * MIB

const EMPTY = { log: 0, unsaved: 0 }

/** In the executable the worker has its path below the root of the bundle (build.ts). */
const WORKER = new URL(
  import.meta.url.includes('/$bunfs/')
    ? './src/sqlite/checkpoint-worker.ts'
    : './checkpoint-worker.ts',
  import.meta.url,
).href

export interface Checkpoints {
  /**
   * Called between transactions: starts a checkpoint if the log is large enough. A promise is for the
   * next transaction to wait for. Does not throw: pages that were not copied stay in the log.
   */
  consider(): Promise<void> | undefined
  close(): Promise<void>
}

/**
 * Keeps checkpoints off the request path. A worker copies pages while the writer continues (PASSIVE);
 * since the log can only be reused while nothing is written, the writer restarts it itself when it
 * still grows. The worker is started when it is first needed.
 */
export function createCheckpoints(
  request: CheckpointRequest,
  connection: Connection,
  report: (error: unknown) => void,
): Checkpoints {
  const pageSize =
    connection.prepare<{ page_size: number }>('PRAGMA page_size').get()?.page_size ?? 4096
  let worker: SharedWorker | undefined
  let hasFailed = false
  /** The current task of the worker. */
  let work: PromiseWithResolvers<void> | undefined
  let restartAt = WAL_RESTART

  function consider(): Promise<void> | undefined {
    const { log, unsaved } = measure()
    // The worker and a restart exclude each other.
    if (work === undefined && log > restartAt) restart(log)
    else if (work === undefined && unsaved > WORTH_COPYING && !hasFailed) askWorker()
    return log > WAL_HOLD ? work?.promise : undefined
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

  function restart(size: number): void {
    restartAt = size + RETRY_STEP
    try {
      const row = connection.prepare<{ busy: number }>('PRAGMA wal_checkpoint(RESTART)').get()
      if (row?.busy === 0) restartAt = WAL_RESTART
    } catch (error) {
      report(error)
    }
  }

  function askWorker(): void {
    const asked = Promise.withResolvers<void>()
    work = asked
    worker ??= shareWorker()
    worker.run({ ...request, kind: 'copy' }).then(hasWorked, (error: unknown) => {
      hasFailed = true
      report(error)
      hasWorked()
    })
  }

  function hasWorked(): void {
    work?.resolve()
    work = undefined
  }

  return {
    consider,
    async close() {
      if (worker === undefined) return
      worker.hold()
      await work?.promise
      if (!hasFailed) await worker.run({ ...request, kind: 'close' }).catch(report)
      worker.release()
    },
  }
}

/** The damage in the structure of a file, in SQLite's words. Rejects when the worker has failed. */
export async function checkStructure(request: CheckpointRequest): Promise<readonly string[]> {
  const worker = shareWorker()
  worker.hold()
  try {
    return await worker.run({ ...request, kind: 'check' })
  } finally {
    worker.release()
  }
}

/** The worker of all databases of this process: one thread copies the logs of hundreds of them. */
interface SharedWorker {
  /** Resolves to the damage that a check has found. Rejects when the worker has failed. */
  run(task: Omit<CheckpointTask, 'id'>): Promise<readonly string[]>
  /** Keeps the process alive until the worker is released. */
  hold(): void
  /** Ends the worker with its last user. */
  release(): void
}

interface Running {
  readonly worker: Worker
  readonly tasks: Map<number, PromiseWithResolvers<readonly string[]>>
  users: number
  holders: number
  tasksSoFar: number
  failure: Error | undefined
}

let running: Running | undefined

function shareWorker(): SharedWorker {
  const shared = (running ??= startWorker())
  shared.users += 1
  return {
    run(task) {
      if (shared.failure !== undefined) return Promise.reject(shared.failure)
      const id = (shared.tasksSoFar += 1)
      const done = Promise.withResolvers<readonly string[]>()
      shared.tasks.set(id, done)
      shared.worker.postMessage({ ...task, id } satisfies CheckpointTask)
      return done.promise
    },
    hold() {
      shared.holders += 1
      shared.worker.ref()
    },
    release() {
      shared.users -= 1
      shared.holders -= 1
      if (shared.holders === 0) shared.worker.unref()
      if (shared.users > 0) return
      shared.worker.terminate()
      if (running === shared) running = undefined
    },
  }
}

function startWorker(): Running {
  const worker = new Worker(WORKER)
  worker.unref()
  const tasks: Running['tasks'] = new Map()
  const counts = { users: 0, holders: 0, tasksSoFar: 0 }
  const started: Running = { worker, tasks, ...counts, failure: undefined }
  worker.addEventListener('message', ({ data }: MessageEvent<CheckpointAnswer>) => {
    tasks.get(data.id)?.resolve(data.damage)
    tasks.delete(data.id)
  })
  worker.addEventListener('error', (event) => {
    // The next database that needs one gets another worker.
    if (running === started) running = undefined
    const failure = new Error('The checkpoint worker failed', {
      cause: event.error ?? event.message,
    })
    started.failure = failure
    for (const task of tasks.values()) task.reject(failure)
    tasks.clear()
  })
  return started
}

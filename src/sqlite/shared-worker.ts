import type { CheckpointAnswer, CheckpointTask } from './checkpoint-worker'

/** In the executable the worker has its path below the root of the bundle (build.ts). */
const WORKER = new URL(
  import.meta.url.includes('/$bunfs/')
    ? './src/sqlite/checkpoint-worker.ts'
    : './checkpoint-worker.ts',
  import.meta.url,
).href

/** The worker of all databases of this process: one thread copies the logs of hundreds of them. */
export type SharedWorker = ReturnType<typeof shareWorker>

interface Running {
  readonly worker: Worker
  readonly tasks: Map<number, PromiseWithResolvers<CheckpointAnswer>>
  users: number
  holders: number
  tasksSoFar: number
  failure: Error | undefined
}

let running: Running | undefined

export function shareWorker() {
  const shared = (running ??= startWorker())
  shared.users += 1
  return {
    /** Rejects when the worker has failed. */
    run: (task: Omit<CheckpointTask, 'id'>) => ask(shared, task),
    /** Keeps the process alive until the worker is released. */
    hold(): void {
      shared.holders += 1
      shared.worker.ref()
    },
    /** Ends the worker with its last user. */
    release(): void {
      shared.users -= 1
      shared.holders -= 1
      if (shared.holders === 0) shared.worker.unref()
      if (shared.users > 0) return
      shared.worker.terminate()
      if (running === shared) running = undefined
    },
  }
}

function ask(asked: Running, task: Omit<CheckpointTask, 'id'>): Promise<CheckpointAnswer> {
  if (asked.failure !== undefined) return Promise.reject(asked.failure)
  const id = (asked.tasksSoFar += 1)
  const done = Promise.withResolvers<CheckpointAnswer>()
  asked.tasks.set(id, done)
  asked.worker.postMessage({ ...task, id } satisfies CheckpointTask)
  return done.promise
}

function startWorker(): Running {
  const worker = new Worker(WORKER)
  worker.unref()
  const tasks: Running['tasks'] = new Map()
  const counts = { users: 0, holders: 0, tasksSoFar: 0 }
  const started: Running = { worker, tasks, ...counts, failure: undefined }
  worker.addEventListener('message', ({ data }: MessageEvent<CheckpointAnswer>) => {
    tasks.get(data.id)?.resolve(data)
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

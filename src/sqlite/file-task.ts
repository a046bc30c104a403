import { untilAborted } from '../domain/value/abort'
import { SatchelError } from '../domain/value/error'
import type { FileOutcome, FileTask } from './file-worker'
import type { LogIndex } from './private-file'

/** In the executable the worker has its path below the root of the bundle (build.ts). */
const WORKER = new URL(
  import.meta.url.includes('/$bunfs/') ? './src/sqlite/file-worker.ts' : './file-worker.ts',
  import.meta.url,
).href

/**
 * Does the work in a thread of its own, so that other databases are served meanwhile, and their logs are copied. Throws
 * what `openDatabase` throws; then the file is as it was. The signal ends it.
 */
export async function runFileTask(task: FileTask, signal?: AbortSignal): Promise<FileOutcome> {
  signal?.throwIfAborted()
  const worker = new Worker(WORKER)
  try {
    const outcome = await untilAborted(ask(worker, task), signal)
    const { failure } = outcome
    if (failure !== undefined) throw new SatchelError(failure.code, failure.message)
    return outcome
  } finally {
    worker.terminate()
  }
}

/**
 * The damage in the structure of a file, in SQLite's words. Takes minutes for a large one. The signal ends it. Rejects
 * when that fails.
 */
export async function checkStructure(
  file: string,
  index: LogIndex,
  signal?: AbortSignal,
): Promise<readonly string[]> {
  const { damage = [] } = await runFileTask({ kind: 'check', file, index }, signal)
  return damage
}

/**
 * `lockFolder` in a thread of its own, which alone waits when the disk hangs. Throws `READ_ONLY`, and `STORAGE_FAILED`
 * for a disk that is full.
 */
export async function lockFolderSoon(folder: string): Promise<AsyncDisposable | undefined> {
  const worker = new Worker(WORKER)
  using undo = new DisposableStack()
  undo.defer(() => worker.terminate())
  const { failure, isTaken } = await ask(worker, { kind: 'lock', folder })
  if (failure !== undefined) throw new SatchelError(failure.code, failure.message)
  if (isTaken === true) return undefined
  const owned = undo.move()
  return {
    async [Symbol.asyncDispose]() {
      using _ = owned
      await ask(worker, 'release')
    },
  }
}

function ask(worker: Worker, task: FileTask): Promise<FileOutcome> {
  return new Promise((resolve, reject) => {
    worker.addEventListener('message', ({ data }: MessageEvent<FileOutcome>) => resolve(data))
    worker.addEventListener('error', (event) => {
      reject(new Error('The work on a file failed', { cause: event.error ?? event.message }))
    })
    worker.postMessage(task)
  })
}

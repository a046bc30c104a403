import { SatchelError } from '../domain/value/error'
import type { FileOutcome, FileTask } from './file-worker'

/** In the executable the worker has its path below the root of the bundle (build.ts). */
const WORKER = new URL(
  import.meta.url.includes('/$bunfs/') ? './src/sqlite/file-worker.ts' : './file-worker.ts',
  import.meta.url,
).href

/**
 * Does the work in a thread of its own, so that other databases are served meanwhile. Throws what `openDatabase`
 * throws; then the file is as it was.
 */
export async function runFileTask(task: FileTask): Promise<void> {
  const worker = new Worker(WORKER)
  try {
    const { failure } = await ask(worker, task)
    if (failure !== undefined) throw new SatchelError(failure.code, failure.message)
  } finally {
    worker.terminate()
  }
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

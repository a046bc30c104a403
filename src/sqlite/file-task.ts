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

function ask(worker: Worker, task: FileTask): Promise<FileOutcome> {
  return new Promise((resolve, reject) => {
    worker.addEventListener('message', ({ data }: MessageEvent<FileOutcome>) => resolve(data))
    worker.addEventListener('error', (event) => {
      reject(new Error('The work on a file failed', { cause: event.error ?? event.message }))
    })
    worker.postMessage(task)
  })
}

import type { Database } from 'bun:sqlite'
import { type Durability, setDurability } from './durability'
import { type LogIndex, openDatabaseFile } from './private-file'

declare const self: Worker

export interface CheckpointRequest {
  readonly file: string
  readonly durability: Durability
  readonly index: LogIndex
}

/** A task of the worker, which answers with the same id when it is done. */
export interface CheckpointTask extends CheckpointRequest {
  readonly id: number
  /**
   * `copy`: copies what the log holds into the file, without holding up the writer. `close`: closes the
   * connection that did so.
   */
  readonly kind: 'copy' | 'close'
}

export interface CheckpointAnswer {
  readonly id: number
  /** The pages in the log that a copy has left there: readers need them to be only there, or the disk is full. */
  readonly uncopied: number
}

const connections = new Map<string, Database>()

self.addEventListener('message', ({ data }: MessageEvent<CheckpointTask>) => {
  const uncopied = data.kind === 'copy' ? copy(data) : 0
  if (data.kind === 'close') close(data)
  self.postMessage({ id: data.id, uncopied } satisfies CheckpointAnswer)
})

function copy(task: CheckpointTask): number {
  try {
    using passive = open(task).prepare<{ log: number; checkpointed: number }, []>(
      'PRAGMA wal_checkpoint(PASSIVE)',
    )
    const { log, checkpointed } = passive.get() ?? NOTHING
    return log - checkpointed
  } catch {
    // A full disk, for example. The log keeps what was not copied, and the next need asks again.
    return Number.MAX_SAFE_INTEGER
  }
}

const NOTHING = { log: 0, checkpointed: 0 }

function open({ file, durability, index }: CheckpointRequest): Database {
  const found = connections.get(file)
  if (found !== undefined) return found
  const opened = openDatabaseFile(file, 'write', index)
  try {
    opened.run('PRAGMA busy_timeout = 0')
    setDurability(opened, durability)
  } catch (error) {
    opened.close()
    throw error
  }
  connections.set(file, opened)
  return opened
}

function close({ file }: CheckpointRequest): void {
  const connection = connections.get(file)
  connections.delete(file)
  try {
    connection?.close()
  } catch {
    // The file is closed by the last connection, or with the process.
  }
}

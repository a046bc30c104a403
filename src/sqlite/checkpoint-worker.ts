import { Database } from 'bun:sqlite'
import { type Durability, setDurability } from './durability'

declare const self: Worker

export interface CheckpointRequest {
  readonly file: string
  readonly durability: Durability
}

/** A task of the worker, which answers with the same id when it is done. */
export interface CheckpointTask extends CheckpointRequest {
  readonly id: number
  /** Close the connection to the file instead of copying its log. */
  readonly isLast: boolean
}

const connections = new Map<string, Database>()

/** Copies what the log holds into the database file, without holding up the writer. */
self.addEventListener('message', ({ data }: MessageEvent<CheckpointTask>) => {
  try {
    if (data.isLast) close(data)
    else open(data).run('PRAGMA wal_checkpoint(PASSIVE)')
  } catch {
    // A full disk, for example. The log keeps what was not copied, and the next need asks again.
  }
  self.postMessage(data.id)
})

function open({ file, durability }: CheckpointRequest): Database {
  const found = connections.get(file)
  if (found !== undefined) return found
  const opened = new Database(file, { readwrite: true })
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
  connections.get(file)?.close()
  connections.delete(file)
}

import { Database } from 'bun:sqlite'
import { type Durability, setDurability } from './durability'

declare const self: Worker

export interface CheckpointRequest {
  readonly file: string
  readonly durability: Durability
}

let db: Database | undefined

/** Copies what the log holds into the database file, without holding up the writer. */
self.addEventListener('message', ({ data }: MessageEvent<CheckpointRequest | 'close'>) => {
  if (data === 'close') {
    db?.close()
    self.postMessage('closed')
    return
  }
  try {
    checkpoint(data)
  } catch {
    // A full disk, for example. The log keeps the pages that were not copied, for the next request.
  }
  self.postMessage('done')
})

function checkpoint({ file, durability }: CheckpointRequest): void {
  if (db === undefined) {
    const opened = new Database(file, { readwrite: true })
    try {
      opened.run('PRAGMA busy_timeout = 0')
      setDurability(opened, durability)
    } catch (error) {
      opened.close()
      throw error
    }
    db = opened
  }
  db.run('PRAGMA wal_checkpoint(PASSIVE)')
}

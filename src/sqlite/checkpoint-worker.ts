import { Database } from 'bun:sqlite'

declare const self: Worker

let db: Database | undefined

/** Copies what the log holds into the database file, without holding up the writer. */
self.addEventListener('message', (event: MessageEvent<{ file: string } | 'close'>) => {
  if (event.data === 'close') {
    db?.close()
    self.postMessage('closed')
    return
  }
  db ??= new Database(event.data.file)
  try {
    db.run('PRAGMA busy_timeout = 0')
    db.run('PRAGMA wal_checkpoint(PASSIVE)')
  } finally {
    self.postMessage('done')
  }
})

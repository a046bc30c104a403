import type { Connection } from './connection'

/** The reading connection's view of the database: of the last commit, for one turn of the event loop. */
export interface Snapshot {
  /** Called before a read; cheap when the turn has a snapshot already. */
  take(): void
  /** Called right after a commit and before a checkpoint that must not find a reader. */
  drop(): void
}

/**
 * Reads of one turn share a read transaction: taking the locks of the write-ahead log costs more
 * system calls than a point read does. It ends with the turn, so a slow client pins nothing.
 */
export function createSnapshot({ db, prepare }: Connection): Snapshot {
  let isTaken = false
  let isEnding = false

  function drop(): void {
    if (!isTaken) return
    isTaken = false
    // After an I/O error SQLite may have ended it already.
    if (db.inTransaction) prepare('COMMIT').run()
  }

  return {
    take() {
      if (isTaken) return
      prepare('BEGIN').run()
      isTaken = true
      if (isEnding) return
      isEnding = true
      setImmediate(() => {
        isEnding = false
        drop()
      })
    },
    drop,
  }
}

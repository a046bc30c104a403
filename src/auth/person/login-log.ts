import type { Clock } from '../../clock'
import type { Database } from '../../domain/store/store'

/**
 * Remembers who logged in and writes `lastLogin` in the background: a token costs no write of its
 * own (design.md §7). A crash loses at most the last `DELAY_MS`. `clock` is that of the machine, which may jump.
 */
export interface LoginLog extends AsyncDisposable {
  /** `at` in ms since the epoch. */
  note(userId: string, at: number): void
  flush(): Promise<void>
}

export function createLoginLog(database: Database, clock: Clock): LoginLog {
  const pending = new Map<string, number>()
  let timer: ReturnType<typeof setTimeout> | undefined
  let writing: Promise<void> = Promise.resolve()

  function flush(): Promise<void> {
    clearTimeout(timer)
    timer = undefined
    writing = writing.then(writePending)
    return writing
  }

  async function writePending(): Promise<void> {
    while (pending.size > 0) {
      const logins = [...pending].slice(0, LOGINS_PER_UNIT)
      for (const [userId] of logins) pending.delete(userId)
      try {
        await database.write((tx) => {
          const now = clock.now()
          // The clock may have been set back since.
          for (const [userId, at] of logins) {
            tx.users.noteLogin(userId, Math.min(at, now), now)
          }
        })
      } catch {
        // A full disk or a busy store. These logins are lost, the next ones will be noted: they are
        // not worth a failed or delayed request.
        return
      }
    }
  }

  return {
    note(userId, at) {
      pending.set(userId, at)
      if (pending.size >= LOGINS_PER_UNIT) void flush()
      else timer ??= setTimeout(() => void flush(), DELAY_MS).unref()
    },
    flush,
    [Symbol.asyncDispose]: flush,
  }
}

/** ms. The timer keeps no process alive: closing writes what is pending. */
const DELAY_MS = 5000
const LOGINS_PER_UNIT = 500

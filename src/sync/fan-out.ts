import type { Database, ReadTx } from '../domain/store/store'
import { SatchelError } from '../domain/value/error'
import { nextTurn } from '../domain/value/turn'
import type { Feed } from './feed'
import type { Outbox } from './outbox'
import type { PageSessions } from './page-sessions'
import type { Session } from './session'

export interface FanOutParts {
  readonly feed: Feed
  readonly outbox: Outbox
  readonly pages: PageSessions
  /** The database, opened if it is closed. */
  readonly open: () => Promise<Database>
  readonly isCrowded: () => boolean
  /** The database is gone. */
  readonly ended: () => void
  readonly report: (error: unknown) => void
}

/** The most sockets that one turn of the event loop serves, and how long it may take, ms. */
const TURN_SOCKETS = 256
const TURN_MS = 8
/** How many clients are told to pull at a time, and the pause before the next ones, ms. */
const TURN_PULLS = 16
const PULLS_PAUSE_MS = 20

/** Serves sessions that have something to look at, a few in a turn of the event loop. */
export function createFanOut(parts: FanOutParts) {
  const { feed, outbox, pages, open, report } = parts
  const due = new Set<Session>()
  const atNextTick = new Set<Session>()
  const postponed = new Set<Session>()
  let pulls = 0
  let isServing = false

  function start(): void {
    if (isServing || (due.size === 0 && !pages.areDue)) return
    isServing = true
    setImmediate(() => void serveAll())
  }

  async function serveAll(): Promise<void> {
    try {
      while (due.size > 0 || pages.areDue) {
        const database = await open()
        const before = pulls
        await database.read(serveSome)
        // Clients that pull at the same time wait for each other, and slow down everybody else.
        if (pulls > before && due.size > 0) await Bun.sleep(PULLS_PAUSE_MS)
        else await nextTurn()
      }
    } catch (error) {
      fail(error)
    } finally {
      isServing = false
      outbox.rest()
      feed.rest()
      start()
    }
  }

  function serveSome(tx: ReadTx): void {
    if (pages.areDue) pages.dismiss(tx)
    const revision = tx.revision()
    feed.start(revision)
    const start = performance.now()
    const before = pulls
    let count = 0
    for (const session of due) {
      due.delete(session)
      // The changes of a postponed session were read before, and were too many for a message.
      if (postponed.has(session) && !session.isDoubted && parts.isCrowded()) continue
      postponed.delete(session)
      try {
        session.serve(tx, revision)
      } catch (error) {
        session.failed()
        report(error)
      }
      count += 1
      if (count >= TURN_SOCKETS || performance.now() - start >= TURN_MS) return
      if (pulls - before >= TURN_PULLS) return
    }
  }

  function fail(error: unknown): void {
    const code = error instanceof SatchelError ? error.code : undefined
    if (code === 'UNKNOWN_DATABASE') parts.ended()
    else if (code !== 'BUSY') report(error)
    for (const session of due) atNextTick.add(session)
    due.clear()
    pages.postpone()
  }

  return {
    /** Something may have changed for the session: it is served after `start`. */
    wake: (session: Session) => void due.add(session),
    /** The client of the session waits, or has another revision: it is served after `start`, postponed or not. */
    serve(session: Session) {
      postponed.delete(session)
      due.add(session)
    },
    /** The session is served when fewer clients pull, because its client has to. */
    postpone: (session: Session) => void postponed.add(session),
    remove(session: Session) {
      for (const set of [due, atNextTick, postponed]) set.delete(session)
    },
    start,
    /** Called once a second. */
    tick() {
      for (const session of [...atNextTick, ...postponed]) due.add(session)
      atNextTick.clear()
      pages.resume()
      start()
    },
    /** Fewer clients are being answered: one more may pull. */
    resume() {
      const [next] = postponed
      if (next !== undefined) due.add(next)
    },
    /** A client was told to pull because it lacks more than a message may have. */
    pulls: () => void (pulls += 1),
  }
}

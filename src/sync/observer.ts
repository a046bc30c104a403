import type { Commit } from '../domain/store/store'
import type { Delivery } from '../host/live-event'
import type { LiveSession } from '../host/live-view'

/** Hears the fate of commits at the sockets of one database. Its methods must not throw, and return at once. */
export interface Observer {
  /** Called on the way of the writer. */
  committed(commit: Commit): void
  /** Concerns every commit up to `revision` that was not reported for this session before. */
  delivered(session: LiveSession, delivery: Delivery, revision: number): void
  joined(session: LiveSession): void
  left(session: LiveSession): void
}

import type { OpenDatabase } from './host'
import type { LiveEvent } from './live-event'

/** The live connections of a server, as administrators see them (design.md §7). */
export interface LiveView {
  /** The sockets of the database that are open. */
  sessions(host: OpenDatabase): Iterable<LiveSession>
  /**
   * `follower` hears of each commit from now on, and of its fate at each socket, until the result is disposed.
   * Throws `TOO_MANY_REQUESTS` when the database has too many followers.
   */
  follow(host: OpenDatabase, follower: Follower): Disposable
}

/** A socket that is open. */
export interface LiveSession {
  readonly client: {
    /** The local database of the client. */
    readonly identity: string
    /** Absent for a program. */
    readonly page?: { readonly origin: string } | undefined
  }
  /** Undefined when the token was not valid; `ends` is when it ends, ms. */
  readonly caller:
    | { readonly actor: { readonly subject: string | null }; readonly ends: number }
    | undefined
  describe(): SessionState
}

export interface SessionState {
  readonly phase: 'connecting' | 'working' | 'waiting' | 'muted' | 'closed'
  /** The revision that the client has, as it was sent to it; undefined before its first `ready`. */
  readonly revision: string | undefined
  /** When the client was told to pull, or that it may not listen, ms; 0: not since its revision changed. */
  readonly notifiedAt: number
}

/** Its methods must not throw, and return at once. */
export interface Follower {
  take(event: LiveEvent): void
  /** The database is gone. */
  ended(): void
}

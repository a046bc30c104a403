import type { Commit } from '../domain/store/store'
import type { Phase } from './phase'
import type { Caller, SocketClient } from './socket'

/** A socket that is open, for the list of administrators. */
export interface LiveSession {
  readonly client: SocketClient
  /** Undefined when the token was not valid. */
  readonly caller: Caller | undefined
  describe(): SessionState
}

export interface SessionState {
  readonly phase: Phase
  /** The revision that the client has, as it was sent to it; undefined before its first `ready`. */
  readonly revision: string | undefined
  /** When the client was told to pull, or that it may not listen, ms; 0: not since its revision changed. */
  readonly notifiedAt: number
  /** Messages wait in memory because the client reads slowly. */
  readonly isFull: boolean
}

/** The fate of a commit at a session. */
export type Delivery =
  | 'sent'
  /** None of the changes concerned the client: for instance it does not declare the table. */
  | 'nothing'
  | 'told-to-pull'
  /** A request of the client was answered with it. */
  | 'answered'
  | 'not-a-member'
  | 'token-expired'
  /** The page may not use the database any more, or the database is gone. */
  | 'refused'

/** Hears the fate of commits at the sockets of one database. Its methods must not throw. */
export interface Observer {
  /** `origin` of a unit names its writer. */
  committed(commit: Commit): void
  /** Concerns every commit up to `revision` that was not reported for this session before. */
  delivered(session: LiveSession, delivery: Delivery, revision: number): void
}

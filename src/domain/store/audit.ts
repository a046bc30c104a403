import { randomToken } from '../value/id'
import { DAY } from '../value/time'

/** A line about an operation that changed something or showed a secret; no value of it is kept. */
export interface AuditLine {
  /** Random, of the operation: a later line with the same one takes the place of the earlier. */
  readonly id: string
  /** When the operation began, ms since the epoch. */
  readonly at: number
  /** Its name in the table of operations. */
  readonly operation: string
  /** `begun` for work in many units that goes on, or was interrupted; else `done`, or the code of an error. */
  readonly result: string
  /** The way that it was asked for. */
  readonly door: 'command' | 'rest' | 'page' | 'job'
  /** The user of the operating system, for commands. */
  readonly uid: number | null
  /** The client that asked for the token. */
  readonly client: string | null
  /** The user id; null where a client or a command acts for itself. */
  readonly user: string | null
  /** The IP address. */
  readonly address: string | null
  /** The login to the page for administrators. */
  readonly session: string | null
}

/** A line about something that the server does by itself. */
export function lineOfServer(operation: string, at: number): Omit<AuditLine, 'result'> {
  const nobody = { uid: null, client: null, user: null, address: null, session: null }
  return { id: randomToken(12), at, operation, door: 'job', ...nobody }
}

/** The position of a line in the log, which is in order of time. */
export interface AuditCursor {
  /** ms since the epoch. */
  readonly at: number
  /** The number of a line, from 1; among lines of one time the later ones have higher numbers. */
  readonly seq: number
}

export type NumberedLine = AuditLine & AuditCursor

/** How long lines are kept, ms. */
export const AUDIT_KEPT_MS = 365 * DAY

export interface AuditReader {
  /** Up to `limit` lines after a position, in order. */
  list(after: AuditCursor, limit: number): NumberedLine[]
  /** Up to `limit` lines before a position, the newest first; none from before `since`, in ms. */
  listNewest(before: AuditCursor, since: number, limit: number): NumberedLine[]
}

export interface AuditWriter extends AuditReader {
  put(line: AuditLine): void
  /** Puts `id` in the place of a user who was erased, and removes the addresses. */
  rename(user: string, id: string): void
}

/**
 * The lines of the server itself, which belong to no database: changes are durable, and old lines gone, when a verb
 * returns. Verbs throw `STORAGE_FULL` and `STORAGE_FAILED`.
 */
export type ServerAudit = AuditWriter

/**
 * Plain JSON, for the page for administrators too, so that this file imports nothing. `at` in ms since the epoch.
 */
export type LiveEvent =
  /** First of all, with the newest revision; units that commit at this moment may still follow. */
  | { readonly kind: 'start'; readonly at: number; readonly revision: number }
  | CommitEvent
  | HeardEvent
  | RejectedEvent
  | SessionEvent
  /** So many events are left out: they were too many, or their reader is too slow. */
  | { readonly kind: 'missed'; readonly count: number }

/** A unit that took a revision. */
export interface CommitEvent {
  readonly kind: 'commit'
  readonly at: number
  readonly revision: number
  readonly tables: readonly TableChanges[]
  /** True when it changed more objects than are counted. */
  readonly hasMore: boolean
  /** The ids of its realms, or some of them. */
  readonly realms: readonly string[]
  /** Records of policy, as `CommitUnit` has them: `origins https://app.example.com`. */
  readonly records: readonly string[]
  readonly writer: Writer
}

/** The objects of one table, as they are since. One that was changed again meanwhile is with that revision. */
export interface TableChanges {
  readonly table: string
  readonly puts: number
  /** Objects that are gone, or left a realm. */
  readonly deletes: number
  /** Of all of them, or the first ones. */
  readonly keys: readonly string[]
}

export interface Writer {
  /** The user, or null. */
  readonly uid: string | null
  readonly email: string | null
  /** The API client, for a token of its own. */
  readonly client: string | null
  /** The local database, for changes that were synced. */
  readonly device: string | null
  /** The part of the program: `rest`, `sync`, `jobs`, `command` … */
  readonly door: string | null
}

/** What a socket got of the commits after `after` up to `revision`. */
export interface HeardEvent {
  readonly kind: 'heard'
  readonly after: number
  readonly revision: number
  readonly device: string
  readonly uid: string | null
  readonly outcome: Delivery
  /** From the newest of these commits, ms. */
  readonly afterMs: number
}

/** A row that was rejected, or a whole request. */
export interface RejectedEvent extends Omit<Rejection, 'subject' | 'device' | 'door'> {
  readonly kind: 'rejected'
  readonly at: number
  readonly writer: Writer
}

export interface Rejection {
  /** The user or the API client; null for an anonymous caller. */
  readonly subject: string | null
  /** The local database, for changes that are synced. */
  readonly device: string | null
  readonly door: 'rest' | 'sync'
  /** The transaction of a sync, or null. */
  readonly txid: string | null
  /** Null for a sync that was refused as a whole. */
  readonly table: string | null
  /** Null when the write names none, or several. */
  readonly key: string | null
  readonly code: string
  /** The missing permission or the wrong property. */
  readonly rule: string | null
  readonly message: string
}

/** The first rows that a request could not change, and how many there are. */
export interface Rejections {
  readonly first: readonly Rejection[]
  readonly count: number
}

export interface SessionEvent {
  readonly kind: 'session'
  readonly at: number
  readonly device: string
  readonly uid: string | null
  /** The page; null for a program. */
  readonly origin: string | null
  /** `there` for those that were open before. */
  readonly state: 'there' | 'opened' | 'closed'
}

/** The fate of a commit at a session. */
export type Delivery =
  | 'sent'
  /** None of the changes concerned the client: for instance it does not declare the table. */
  | 'nothing'
  | 'told-to-pull'
  /** The client was told to pull before, and has not come yet. */
  | 'behind'
  /** A request of the client was answered with it. */
  | 'answered'
  | 'not-a-member'
  | 'token-expired'
  /** The page may not use the database any more, or the database is gone. */
  | 'refused'

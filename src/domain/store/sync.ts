import type { RealmRef } from './realms'

// The part of the seam (`store.ts`, design.md §3) that live sync needs besides the objects.

/** A stretch of revisions that one opening of a database gave out (protocol.md §4.2). */
export interface Run {
  /** Random, so that a copied-back folder cannot repeat a revision unnoticed. */
  readonly id: string
  /** The revision of the database when the run began. */
  readonly first: number
}

export interface RunReader {
  /**
   * In the order in which they began; there is always one. The newest revision belongs to the last
   * one: an opening begins a run with its first change.
   */
  list(): readonly Run[]
  /** Removals and lost rows of `members` up to this revision may have been forgotten. */
  oldest(): number
}

/** The local database of a user that syncs (protocol.md §4.2). */
export interface SyncClient {
  readonly number: number
  readonly identity: string
  readonly subject: string
  /** The tables that it declares and marks for sync. */
  readonly tables: readonly string[]
  /** The `Y.Doc` properties by table (`textsDeclared`); empty: none. */
  readonly texts: string
  /** No later operation of it gets an earlier time than this, ms. */
  readonly floor: number
  /** The revision of its latest transaction that was rejected or repeated; 0 when there was none. */
  readonly rejected: number
  /** A revision after its latest answer with private rows sent as new ones; 0 when there was none. */
  readonly privates: number
  /** The time of its latest request that was noted, ms. */
  readonly seen: number
}

export interface SyncClientReader {
  find(subject: string, identity: string): SyncClient | undefined
  /** Up to `limit` clients whose numbers come after `after`, in order: all, or those of one user. */
  list(after: number, limit: number, subject?: string): SyncClient[]
}

export interface SyncClientWriter extends SyncClientReader {
  /**
   * The client with this identity, created if there is none: then those of its user that were seen longest
   * ago are removed, beyond `FIXED_LIMITS.userClients`.
   */
  ensure(subject: string, identity: string, now: number): SyncClient
  /** Replaces a client that is there. */
  put(client: SyncClient): void
  /**
   * Notes that the client is told how objects are, though none of them changed: one of its transactions
   * was rejected, or came again. The unit takes a revision for it.
   */
  noteCorrection(client: number): void
  /** Notes that an answer to the client has private rows as new ones. The unit takes a revision for it. */
  notePrivates(client: number): void
  /** Removes the clients of a user with their transactions and operations. */
  removeOfSubject(subject: string): void
}

/** A transaction of a client that was executed, or rejected. */
export interface AppliedTransaction {
  readonly client: number
  /** Of the unit that executed it; 0 when the transaction has changed nothing. */
  readonly revision: number
  /** Null when it was executed. */
  readonly rejection: AppliedRejection | null
  /** How many of its steps were executed; null when nothing is left to do. */
  readonly steps: number | null
}

export interface AppliedRejection {
  /** The code of the refusal. */
  readonly name: string
  readonly message: string
}

export interface AppliedReader {
  find(client: number, txid: string): AppliedTransaction | undefined
  /** That of any client of a user. */
  findOfUser(subject: string, txid: string): AppliedTransaction | undefined
  /** The keys of the rows that a step changes; undefined after the last one. Throws `DAMAGED`. */
  keysOf(client: number, txid: string, step: number): readonly string[] | undefined
}

export interface AppliedWriter extends AppliedReader {
  /**
   * Notes that this unit executes the transaction, or the last of its steps; or rejects it, or has executed so
   * many of its steps.
   */
  put(
    client: number,
    txid: string,
    at: number,
    outcome?: Partial<Pick<AppliedTransaction, 'rejection' | 'steps'>>,
  ): void
  /** Keeps the keys of a step until they are removed, or the transaction is forgotten. */
  putKeys(client: number, txid: string, step: number, keys: readonly string[]): void
  removeKeys(client: number, txid: string): void
  /** Forgets the transactions of a client from before this time, ms, except those that are named. */
  prune(client: number, before: number, kept: ReadonlySet<string>): void
}

/** The order of operations: no two have the same. */
export interface OperationOrder {
  readonly revision: number
  /** The order within the revision. */
  readonly position: number
}

/** An operation with criteria, kept for rows that arrive later (protocol.md §4.10). */
export interface CriteriaOperation extends OperationOrder {
  /** The number of the sync client whose operation it is. */
  readonly client: number
  /** The user of the sync client. */
  readonly subject: string
  readonly email: string | null
  readonly kind: 'modify' | 'delete'
  /** As the client sent them, JSON. */
  readonly criteria: string
  /** The changeSpec of a `modify`, JSON; null for a `delete`. */
  readonly change: string | null
  /** The time that it was given, ms. */
  readonly ts: number
  /** The revision that its client had seen; null when that is unknown. */
  readonly base: number | null
}

export interface CriteriaOperationReader {
  /** No operation has a later revision than this. */
  newest(): number
  /**
   * The operations on a table after this revision, of one user, or of users who are accepted in the realm and
   * were when they sent them: the last `limit`, in the order in which they were executed.
   */
  list(
    table: number,
    of: { readonly subject: string } | { readonly realm: RealmRef },
    revision: number,
    limit: number,
  ): readonly CriteriaOperation[]
}

export interface CriteriaOperationWriter extends CriteriaOperationReader {
  /**
   * Keeps an operation under the revision of the unit. Of its user only the last `most` on the table
   * stay.
   */
  put(
    table: number,
    operation: Omit<CriteriaOperation, keyof OperationOrder>,
    at: number,
    most: number,
  ): OperationOrder
}

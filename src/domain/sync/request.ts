import type { SatchelError } from '../value/error'
import type { WireObject } from '../value/value'
import type { PropertyChange } from './change'
import type { Criteria } from './criteria'
import type { DeclaredTable } from './declared'

/** The body of a request to `POST /sync` (protocol.md §4.2). */
export interface SyncRequest {
  /** Of the local database. */
  readonly clientIdentity: string
  /** The client knows BlobRefs: add-ons from 4.4 on do (protocol.md Appendix C.27). */
  readonly knowsBlobRefs: boolean
  /** The `dbId` of an earlier answer. */
  readonly dbId: string | undefined
  /** The tables that the client declares, without its internal ones. */
  readonly tables: ReadonlyMap<string, DeclaredTable>
  /** Undefined for a first sync. */
  readonly lastPull: LastPull | undefined
  readonly baseRevs: readonly BaseRevision[]
  /** In the order in which they first appear. */
  readonly transactions: readonly ClientTransaction[]
}

export interface LastPull {
  readonly serverRevision: unknown
  readonly realms: ReadonlySet<string>
  readonly inviteRealms: ReadonlySet<string>
}

export interface BaseRevision {
  readonly table: string
  readonly clientRev: number
  readonly serverRev: unknown
}

/** The operations that share a `txid`: all of them or none (protocol.md §4.10). */
export interface ClientTransaction {
  readonly txid: string
  /** Rows of anonymous work, uploaded at login: judged one by one. */
  readonly isUpload: boolean
  readonly operations: readonly Operation[]
  /** Why the transaction cannot be executed: then its keys are restored. */
  readonly refusal: SatchelError | undefined
}

/** One operation of a client (protocol.md §4.4). */
export interface Operation {
  readonly table: string
  /** In wire form: compound keys as JSON text, private keys with their user. */
  readonly keys: readonly string[]
  /** The clock of the client, ms; undefined for uploads. */
  readonly ts: number | undefined
  /** The position in the client's log of this table; undefined for uploads. */
  readonly rev: number | undefined
  /** The user of the client at that time. */
  readonly userId: string | undefined
  readonly action: Action
}

export type Action =
  | {
      readonly type: 'insert' | 'upsert'
      /** One per key; of a large request none once the operation was executed (`freeObjects`). */
      readonly values: WireObject[]
      /** One per key; null where the whole object counts. */
      readonly changes?: readonly (readonly PropertyChange[] | null)[]
    }
  | {
      readonly type: 'update'
      /** One per key, or one for all of them. */
      readonly changes: readonly (readonly PropertyChange[])[]
    }
  | {
      readonly type: 'modify'
      readonly query: Query
      readonly change: readonly PropertyChange[]
      /** The changeSpec as the client sent it. */
      readonly source: unknown
    }
  | { readonly type: 'delete'; readonly query: Query | undefined }

/** Criteria that are to be executed; chunks after the first only name more keys. */
export interface Query {
  readonly criteria: Criteria
  /** `criteria` as the client sent them. */
  readonly source: unknown
  readonly isFirstChunk: boolean
}

/** Frees the objects of executed transactions: one request may hold 256 MiB of them. */
export function freeObjects(transactions: readonly ClientTransaction[]): void {
  for (const { operations } of transactions) {
    for (const { action } of operations) if ('values' in action) action.values.length = 0
  }
}

/** What the version of a client's protocol says; callers that name none know all. */
export function knowsBlobRefs(version: unknown): boolean {
  return version !== 1 && version !== 2
}

/**
 * The request of a client whose clock is behind that of the database because a test has moved the latter,
 * `by` ms: the times of its operations are moved as far.
 */
export function movedBy(request: SyncRequest, by: number): SyncRequest {
  if (by === 0) return request
  const moved = (operation: Operation): Operation =>
    operation.ts === undefined ? operation : { ...operation, ts: operation.ts + by }
  const transactions = request.transactions.map((transaction) => ({
    ...transaction,
    operations: transaction.operations.map(moved),
  }))
  return { ...request, transactions }
}

import type { IndexEntry, Traces } from './objects'
import type { Membership } from './memberships'
import type { RealmRef } from './realms'
import type { Table } from './tables'

// The part of the seam (`store.ts`, design.md §3) that looks for damage (promises.md 3).

/** The kinds of damage. */
export type Problem =
  /** The checksum of a row is wrong: it is not as it was written. */
  | 'damaged'
  /** The structure of a file of the engine is broken. */
  | 'broken file'
  /** A row cannot be read, nor can those behind it. */
  | 'unreadable'
  /** A row contradicts its key, realm or owner, or the counters of the database. */
  | 'contradictory'
  /** An object lacks an index entry, a reference to a blob or the rights that it gives. */
  | 'missing entry'
  /** An index entry, a reference or rights that no object has. */
  | 'stale entry'

/** One row with damage. */
export interface Fault {
  readonly problem: Problem
  /** The table, or the kind of rows: `users`, `clients`, `tombstones`; for a broken file its name. */
  readonly table: string
  /** The key of the row, empty when it is not known; for a broken file the words of the engine. */
  readonly key: string
}

/** The result of one step of a verification. */
export interface CheckedStep {
  /** Rows that were looked at. */
  readonly checked: number
  readonly faults: readonly Fault[]
}

/** An object as the meaning of it is asked for. */
export interface WholeObject {
  readonly key: string
  readonly realm: RealmRef
  /** Null when the realm is not known. */
  readonly realmId: string | null
  readonly owner: string | null
  readonly value: string
}

/** The entries, references and rights that follow from an object. */
export interface Meaning extends Traces {
  readonly entries: readonly IndexEntry[]
  /** The rights that it gives, for rows of `realms` and `members`. */
  readonly membership: Membership | undefined
}

/** The domain's knowledge of objects. Undefined for one that contradicts itself, or is none. */
export type MeaningOf = (table: Table, object: WholeObject) => Meaning | undefined

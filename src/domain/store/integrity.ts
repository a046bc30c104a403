import type { IndexEntry, Traces } from './objects'
import type { Membership } from './memberships'
import type { RealmRef } from './realms'
import type { Awaitable } from './records'
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

/** The result of one step. */
export interface CheckedStep {
  /** Rows that were looked at. */
  readonly checked: number
  readonly faults: readonly Fault[]
  /** The place to go on after: plain text, the engine's own. Undefined at the end of the part. */
  readonly next: string | undefined
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

/** The domain's knowledge of objects. */
export interface Meanings {
  /** Undefined for an object that contradicts itself, or is none. */
  of(table: Table, object: WholeObject): Meaning | undefined
}

export interface IntegrityReader {
  /** The names of the parts that are checked in short steps: the engine's own. */
  parts(): Awaitable<readonly string[]>
  /** One step of a part after `after`, '' at its beginning. */
  check(part: string, after: string, meanings: Meanings): Awaitable<CheckedStep>
}

export interface IntegrityWriter extends IntegrityReader {
  /**
   * `check` that accepts what it finds: rows that are whole get a new checksum, entries that are missing
   * are added and stale ones removed. The faults are those that remain. Objects that it accepts take the
   * revision of the unit.
   */
  accept(part: string, after: string, meanings: Meanings): Awaitable<CheckedStep>
}

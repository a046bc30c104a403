import type { RealmRef } from './realms'
import type { Table } from './tables'

// The part of the seam (`store.ts`, design.md §3) that is about objects: how they lie, are found and are written.

/** An object as it lies in the store. `value` is the canonical wire text (design.md §3). */
export interface StoredObject {
  readonly seq: number
  readonly key: string
  readonly realm: RealmRef
  readonly owner: string | null
  readonly revision: number
  readonly value: string
  /**
   * The checksum of the object is wrong (promises.md 3): reading its `value` throws `DAMAGED`, which
   * names it. In a unit, `realm` is 0 and `owner` null unless they are certain.
   */
  readonly isDamaged?: true
}

/** A stored object with its history, which sync merges by. */
export interface TimedObject extends StoredObject {
  /** The revision at which it came into being, or into its realm. */
  readonly entered: number
  /** When it was last written, ms. */
  readonly updated: number
  /** The stamps of its properties as text; null: all have `updated` and `revision`. */
  readonly stamps: string | null
}

/** An object as its readers need it: the column that decides about them, and the value. */
export type ObjectText = Pick<StoredObject, 'realm' | 'value'>

/** The trace of an object that was removed, or left a realm. */
export interface Tombstone {
  readonly realm: RealmRef
  readonly revision: number
  /** The number of the sync client that removed it; null for other writers. */
  readonly client: number | null
  /** The revision at which the object had come into being; where it left a realm, into that. */
  readonly entered: number
}

export type StoredRow = Pick<StoredObject, 'seq' | 'realm' | 'value' | 'isDamaged'> & {
  /** Present when the query asks for keys. */
  readonly key?: string
}

/** How much one short read may take: it ends at whichever comes first. */
export interface ChunkSize {
  readonly rows: number
  readonly bytes: number
}

/**
 * Entries of one declared index with one of these keys, or in the range from `lower` up to before
 * `upper`.
 */
export interface IndexLookup {
  readonly index: number
  readonly keys: readonly Uint8Array[]
  readonly range?: { readonly lower: Uint8Array; readonly upper: Uint8Array }
}

/** What a page of objects is to hold. */
export interface PageQuery {
  /** The end of the page before, of the same query; absent: the first page. */
  readonly after?: PageEnd | undefined
  readonly size: ChunkSize
  /** Only rows of these realms; absent: of all. */
  readonly realms?: ReadonlySet<RealmRef> | undefined
  /** At least the rows that an index look-up finds; there may be others. */
  readonly lookup?: IndexLookup | undefined
  /** One text instead of rows, where the engine has it as cheaply. */
  readonly joined?: boolean
  /** Each row has its key. */
  readonly hasKeys?: boolean
  /** Absent: the order of creation. */
  readonly order?: PageOrder | undefined
}

/** The newest first, or all objects whose keys begin with `prefix`, by their keys as UTF-8; an order has rows only. */
export type PageOrder = 'newest' | { readonly prefix: string }

/** Where a page ended. An engine may keep more in it for the next page of the same query. */
export interface PageEnd {
  readonly seq: number
  /** The key of the last row that was visited, in the order of keys. */
  readonly key?: string
}

/** Objects in the order of the query. */
export interface Page {
  readonly rows: readonly StoredRow[]
  /** The values, joined by commas, instead of `rows`: it may be larger than the size of the page. */
  readonly text?: string
  /** True when each row has one of the keys of the look-up. */
  readonly isExact?: boolean
  /** Undefined when there is no more. */
  readonly next: PageEnd | undefined
}

/** The latest change of one object in one realm. */
export interface Change {
  /** The name of the table. */
  readonly table: string
  readonly key: string
  readonly realm: RealmRef
  readonly revision: number
  /** The object as it is now, or null: it was removed, or left this realm. */
  readonly object: TimedObject | null
}

/** Where `changes` goes on inside a revision: plain JSON, `place` is the engine's. */
export interface ChangePosition {
  readonly revision: number
  readonly place: string
}

export interface ChangeChunk {
  readonly changes: readonly Change[]
  /** The position to go on after, or undefined when there is no more. */
  readonly next: ChangePosition | undefined
}

/** Objects as a client gets them that has none of them yet. */
export interface Contents {
  /** The keys as JSON strings, and the values, in the same order; both joined by commas. */
  readonly keys: string
  readonly values: string
  /** The keys of damaged objects, which are not among those. */
  readonly damaged: readonly string[]
}

export interface ContentChunk extends Contents {
  /** The position to go on after, or undefined when there is no more. */
  readonly next: ChangePosition | undefined
}

export interface ObjectReader {
  /**
   * The objects of a realm that is being erased are not there, for any method. Where realms are
   * named, a large value of another realm does not leave the store: the time that it takes would tell
   * that it is there. An object of another realm then comes with an empty `value`, or with its own.
   */
  findText(table: Table, key: string, realms?: ReadonlySet<RealmRef>): ObjectText | undefined
  find(table: Table, key: string): StoredObject | undefined
  /** The objects that exist among these keys, with their history. */
  findMany(table: Table, keys: readonly string[]): Map<string, TimedObject>
  /**
   * One page of the objects that a query describes. The engine chooses the way. A page costs what it holds: it
   * may end early, even empty, with a `next`. Over all pages each object that is there throughout comes once.
   */
  page(table: Table, query: PageQuery): Page
  /**
   * What changed in these realms, in all tables or in the named ones, in the revisions after `after` up to `upTo`: each
   * object once, as it is now, and each object that is gone from a realm once. In the order of the
   * revisions; within one of them what is gone comes first, so that an object which moved arrives
   * after it left. What changes again between two chunks moves behind `upTo`. Costs a look-up for
   * each table and realm that changed since.
   */
  changes(
    realms: ReadonlySet<RealmRef>,
    after: number | ChangePosition,
    upTo: number,
    size: ChunkSize,
    tables?: ReadonlySet<string>,
  ): ChangeChunk
  /**
   * The realms in which a revision after `after` up to `upTo` changed something, without the
   * revisions of `except`; undefined when the engine does not know each of them any more.
   */
  realmsMoved(
    realms: ReadonlySet<RealmRef>,
    after: number,
    upTo: number,
    except: ReadonlySet<number>,
  ): ReadonlySet<RealmRef> | undefined
  /**
   * The objects among `changes` of one table in one realm, without their history, which makes it several
   * times as fast.
   */
  contents(
    table: Table,
    realm: RealmRef,
    after: number | ChangePosition,
    upTo: number,
    size: ChunkSize,
  ): ContentChunk
  /** All objects of one table in several realms; undefined when they are more than a chunk may have. */
  contentsTogether(
    table: Table,
    realms: readonly RealmRef[],
    upTo: number,
    size: ChunkSize,
  ): Contents | undefined
  /** The newest tombstone of a key in the living realms, or in those of them that `isIncluded`. */
  findTombstone(
    table: Table,
    key: string,
    isIncluded?: (realm: RealmRef) => boolean,
  ): Tombstone | undefined
  /** Which of these realms have a row of this table. Costs little for each of them. */
  realmsWith(table: Table, realms: ReadonlySet<RealmRef>): ReadonlySet<RealmRef>
  /** How many objects a table has, counted up to `most`. */
  count(table: Table, most: number): number
}

/** One read of `everyChange`. */
const CHUNK: ChunkSize = { rows: 500, bytes: 128 * 1024 }

/** `changes` of these tables, however many they are. */
export function* everyChange(
  objects: ObjectReader,
  realms: ReadonlySet<RealmRef>,
  since: number,
  upTo: number,
  tables: ReadonlySet<string>,
): Generator<Change> {
  for (let after: number | ChangePosition | undefined = since; after !== undefined;) {
    const { changes, next }: ChangeChunk = objects.changes(realms, after, upTo, CHUNK, tables)
    yield* changes
    after = next
  }
}

export interface IndexEntry {
  readonly index: number
  readonly key: Uint8Array
}

/** Differs for two entries of an object. */
export function entryName({ index, key }: IndexEntry): string {
  return `${index} ${Buffer.from(key.buffer, key.byteOffset, key.byteLength).toString('latin1')}`
}

/** Entries that are made while they are taken: thousands of them take time and memory. */
interface ManyEntries extends Iterable<IndexEntry> {
  /** How many there are at most. */
  readonly count: number
}

/** The entries of an object in the indexes. */
export interface Traces {
  /** In any order. They are taken once. */
  readonly entries: readonly IndexEntry[] | ManyEntries
  /** The ids of the blobs that it references, each once, be they there or not. */
  readonly blobs: readonly string[]
}

export interface ObjectPut extends Traces {
  readonly key: string
  readonly realm: RealmRef
  readonly owner: string | null
  readonly value: string
  /** The stamps of its properties as text; absent or null: all have the time of the put. */
  readonly stamps?: string | null
  /**
   * The object that this put replaces, with its traces; absent for a new object. Traces that both
   * have may be left out of both. Those of a damaged one are not known, and are looked for.
   */
  readonly previous?: TimedObject
  readonly previousTraces?: Traces
}

export interface ObjectRemoval extends Traces {
  /** The traces of a damaged object are not known, and are looked for. */
  readonly previous: TimedObject
  /** The revision at which the object came into being, where that was in another realm. */
  readonly born?: number
}

export interface ObjectWriter extends ObjectReader {
  find(table: Table, key: string, realms?: ReadonlySet<RealmRef>): TimedObject | undefined
  /**
   * Writes objects whose keys are all different. `now` is the operation time in ms. A new object
   * whose key is taken throws `CONFLICT`. Leaves a tombstone in a realm the object moved out of.
   */
  put(table: Table, puts: readonly ObjectPut[], now: number): void
  /**
   * `put` for new objects, in this order, up to the first whose key is taken; resolves to how many were put.
   * Objects without entries or with few are put fastest sixteen at a time.
   */
  insert(table: Table, puts: readonly ObjectPut[], now: number): number
  /** Removes objects, leaving tombstones. */
  remove(table: Table, removals: readonly ObjectRemoval[], now: number): void
  /** Adds entries of rows that were there before their index was declared. */
  addEntries(rows: readonly { seq: number; entries: Iterable<IndexEntry> }[]): void
  /** Drops up to `limit` entries of indexes that are no longer declared; how many it dropped. */
  dropEntries(limit: number): number
  /**
   * Erases up to `limit` rows, tombstones and uploads of a realm marked `erasing`, with the traces
   * of their values; how many, undefined when nothing is left: its ref is done with. A blob without other
   * uploaders and references is removed with the last of them.
   */
  erase(
    realm: RealmRef,
    limit: number,
    tracesOf: (table: Table, value: string) => Traces,
  ): number | undefined
}

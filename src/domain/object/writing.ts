import type { WireObject } from '../value/value'
import { type Access, held, type UnitAccess } from '../access/access'
import type { PermissionSet } from '../value/permission'
import type { Actor } from '../access/actor'
import { SatchelError } from '../value/error'
import type { StoredObject, TimedObject } from '../store/objects'
import type { Realm, RealmRef } from '../store/realms'
import type { ReadTx, WriteTx } from '../store/store'
import type { ViewName } from '../access/view'
import type { Draft } from './draft'
import type { Removals } from './limits'
import type { Table } from '../store/tables'

/**
 * The context of one writing request: its actor, view and unit, and the rules of the built-in
 * tables.
 */
export interface Writing {
  readonly tx: WriteTx
  readonly actor: Actor
  readonly subject: string
  /** Holds `GLOBAL_WRITE`: the access rules do not apply (design.md §5). */
  readonly isGlobal: boolean
  readonly view: ViewName
  readonly table: Table
  readonly access: Access
  /** The operation time, ms. */
  readonly now: number
  readonly rulesByTable: RulesByTable
  /** Absent where every value stays in its object. */
  readonly offload?: Offload | undefined
  /** The rights of the writer as the rows of earlier steps have left them: loading them takes long. */
  readonly rights?: { access: UnitAccess | undefined } | undefined
  /** Limits the index entries that the request removes; absent: any number. */
  readonly removals?: Removals | undefined
  /** The realms that its transaction makes, by id: their ids were not used before. */
  readonly newRealms?: ReadonlyMap<string, Realm>
  /** The realms that its drafts named so far, by id: no put of ordinary objects ends one. */
  readonly knownRealms?: Map<string, Realm>
}

/** A request to write through a view. */
export interface WriteRequest {
  readonly actor: Actor
  readonly view: ViewName
  /** ms since the epoch. */
  readonly now: number
  readonly rulesByTable: RulesByTable
}

/** The context of a request through a view, without the options of an upsert. */
export function writingInView(
  tx: WriteTx,
  { actor, view, now, rulesByTable }: WriteRequest,
  table: Table,
  access: Access,
): Writing {
  return {
    tx,
    actor,
    subject: actor.subject ?? '',
    isGlobal: actor.scopes.has('GLOBAL_WRITE'),
    view,
    table,
    access,
    now,
    rulesByTable,
  }
}

/** The rules of the built-in tables, handed in by the caller: this folder knows none of them. */
export type RulesByTable = ReadonlyMap<string, RowRules>

/**
 * The rules of a table, undefined for a table of application objects. Throws where a built-in table
 * has none: without them anyone could change permissions.
 */
export function rulesOf(rulesByTable: RulesByTable, table: Table): RowRules | undefined {
  const rules = rulesByTable.get(table.name)
  if (rules === undefined && table.builtIn) throw new Error(`no rules for ${table.name}`)
  return rules
}

/** A draft whose place is decided: complete, with the row it replaces. */
export interface Placement {
  readonly draft: Draft
  readonly key: string
  readonly realm: Realm
  readonly owner: string | null
  readonly previous: TimedObject | undefined
}

/** The special rules for rows of a built-in table (design.md §5.3–5.7). */
export interface RowRules {
  /** Completes a row and throws `UNPROCESSABLE` when it cannot be one of this table. */
  complete(draft: Draft): Draft
  /**
   * The rules for a writer without `GLOBAL_WRITE`. Returns the placement as it may be stored, or
   * undefined when the stored row stands as it is.
   */
  authorizePut(writing: Writing, placement: Placement): Placement | undefined
  authorizeRemoval(writing: Writing, previous: StoredObject): void
  /** Adds the server's own properties to a row that may be put. */
  complement?(writing: Writing, placement: Placement): Placement
  /** Follows a put, in its unit. */
  afterPut(writing: Writing, placement: Placement): void
  /** Follows or replaces the removal. True: it took care of the row itself. */
  remove(writing: Writing, previous: StoredObject): boolean
  /**
   * Asked before one row changes in a realm; `previous` is the row before, undefined for a new one. Returns
   * the check to make after the change, in its unit, if any: it throws `CONFLICT` for a state that the realm must
   * not be left in.
   */
  guard(
    writing: Writing,
    realm: RealmRef,
    previous: StoredObject | undefined,
  ): ((tx: WriteTx) => void) | undefined
}

/** A large value on its way out of an object. */
export interface ExtractedValue {
  readonly bytes: Uint8Array
  /** SHA-256 of the bytes in hex. */
  readonly hash: string
  /** The content type of the blob. */
  readonly type: string
  /** The names on the way to it. */
  readonly path: readonly string[]
  /** The BlobRef in its place; its `ref` is set when the object is stored (protocol.md §8.3). */
  readonly reference: WireObject
}

/** Moves the large values of one request out of its objects (protocol.md §8.2, §8.3). */
export interface Offload {
  /**
   * Extracts them from an object; `path` is its place in the request. Throws `UNPROCESSABLE`, and
   * `PAYLOAD_TOO_LARGE` when there are too many.
   */
  extract(table: Table, object: unknown, path: string): readonly ExtractedValue[]
  /** Remembers which values were extracted from the object of this draft. */
  note(draft: Draft, values: readonly ExtractedValue[]): void
  /**
   * Writes the bytes to the blob store and runs `record`; they cannot be removed before it ends,
   * and are discarded when it throws.
   */
  keep<T>(record: () => Promise<T>): Promise<T>
  /**
   * The draft with refs that name blobs, in the unit that stores it: the refs that the object had
   * for the same bytes, or those of new blobs uploaded by the actor. Throws what `noteBlob` throws.
   */
  settle(writing: Writing, draft: Draft, previous: TimedObject | undefined): Draft
}

/** Begins the offload of one request; undefined where every value stays in its object. */
export type BeginOffload = (tx: ReadTx) => Offload | undefined

export function heldIn(writing: Writing, realm: RealmRef): readonly PermissionSet[] {
  return held(writing.access, realm)
}

/** A row that is being judged. */
export interface JudgedRow {
  readonly table: { readonly name: string }
  readonly key: string
}

const rowsByRefusal = new WeakMap<SatchelError, JudgedRow>()

/** Notes the row that a refusal is about, unless it is known. */
export function noteRow(refusal: SatchelError, row: JudgedRow | undefined): void {
  if (row !== undefined && !rowsByRefusal.has(refusal)) rowsByRefusal.set(refusal, row)
}

/** The row that was noted for a refusal. */
export function rowOf(refusal: SatchelError): JudgedRow | undefined {
  return rowsByRefusal.get(refusal)
}

/** Runs `work`, and notes that its refusal is about the row with this key; undefined: it has none yet. */
export function aboutRow<T>(table: Table, key: string | undefined, work: () => T): T {
  try {
    return work()
  } catch (error) {
    if (key !== undefined && error instanceof SatchelError) noteRow(error, { table, key })
    throw error
  }
}

/** The refusal of design.md §5.6: says which permission was missing. */
export function refuse(permission: string, sentence: string): SatchelError {
  return new SatchelError('NOT_AUTHORIZED', `Not authorized: ${sentence}`, { reason: permission })
}

import { type Access, held } from '../access/access'
import type { PermissionSet } from '../value/permission'
import type { Actor } from '../access/actor'
import type { Offload } from '../blob/offload'
import { SatchelError } from '../value/error'
import type { SendInvitation } from '../rows/invitation'
import type { StoredObject } from '../store/objects'
import type { Realm, RealmRef } from '../store/realms'
import type { WriteTx } from '../store/store'
import type { ViewName } from '../access/view'
import type { Draft } from './draft'
import type { Awaitable } from '../store/records'
import type { Table } from '../store/tables'

/** What one request writes with: who, through which view, in which unit. */
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
  /** Absent where rows come from a file: an import writes to nobody. */
  readonly sendInvitation?: SendInvitation
  /** What becomes blobs; absent where nothing does. */
  readonly offload?: Offload
}

/** A draft whose place is decided: complete, with the row it replaces. */
export interface Placement {
  readonly draft: Draft
  readonly key: string
  readonly realm: Realm
  readonly owner: string | null
  readonly previous: StoredObject | undefined
}

/** What is special about the rows of a built-in table (design.md §5.3–5.7). */
export interface RowRules {
  /** Completes a row and throws `UNPROCESSABLE` when it cannot be one of this table. */
  complete(draft: Draft): Draft
  /**
   * The rules for a writer without `GLOBAL_WRITE`. Returns the placement as it may be stored, or
   * undefined when the stored row stands as it is.
   */
  authorizePut(writing: Writing, placement: Placement): Awaitable<Placement | undefined>
  authorizeRemoval(writing: Writing, previous: StoredObject): Awaitable<void>
  /** What the server has to say in a row that may be put, whoever puts it. */
  complement?(writing: Writing, placement: Placement): Awaitable<Placement>
  /** Follows a put, in its unit. */
  afterPut(writing: Writing, placement: Placement): Awaitable<void>
  /** Follows or replaces the removal. True: it took care of the row itself. */
  remove(writing: Writing, previous: StoredObject): Awaitable<boolean>
}

export function heldIn(writing: Writing, realm: RealmRef): readonly PermissionSet[] {
  return held(writing.access, realm)
}

/** The refusal of design.md §5.6: says which permission was missing. */
export function refuse(permission: string, sentence: string): SatchelError {
  return new SatchelError('NOT_AUTHORIZED', `Not authorized: ${sentence}`, { reason: permission })
}

// One write against what others wrote: docs/merging.md, "A property belongs to its latest writer",
// "put and add" and "Deleted objects".

import { type WireObject, getOwn, setOwn } from '../value/value'
import {
  collide,
  newStamps,
  type Path,
  type Rival,
  type Stamp,
  stampOf,
  stampPlace,
  stampRemoval,
  type Stamps,
  stampWrite,
} from '../object/stamps'
import { type PropertyChange, modified, removeAt, setAt, valueAt } from './change'

/** The state of one key while the operations of a transaction are applied to it. */
export type RowState =
  | { readonly kind: 'absent' }
  | {
      /** Deleted; a tombstone says when. */
      readonly kind: 'dead'
      /** The revision of the deletion. */
      readonly revision: number
      /** The client that deleted it, undefined when it was no client of sync. */
      readonly client: number | undefined
      /** The revision at which the dead row had come into being. */
      readonly entered: number
    }
  | {
      readonly kind: 'row'
      /** Owned by this state and changed in place. */
      readonly object: WireObject
      readonly stamps: Stamps
      /** The revision at which the row came into being, or into its realm. */
      readonly entered: number
    }

/** The origin of an operation in time. */
export interface Authorship {
  /** The corrected time of the operation, ms. */
  readonly ts: number
  /** The revision that the client had seen; undefined when that cannot be said: then only times count. */
  readonly base: number | undefined
  /**
   * The revisions of earlier operations of the request, which those that follow have seen. Absent for an
   * operation that is replayed: later ones of its client may have reached the row before it.
   */
  readonly written?: { includes(revision: number): boolean }
  /** The client whose operation it is. */
  readonly client: number
  /** The revision of this transaction. */
  readonly revision: number
  /** Values of the creation of a row do not resist it, unless it is known to be later. */
  readonly isByCriteria?: boolean
  /** Keeps what the client has not seen of the row. */
  readonly row?: { unseen?: Unseen | undefined }
}

/** What the client of a request has not seen of a row. */
export interface Unseen {
  /** The place that the client assumes, though its write of it has lost. */
  realmId?: unknown
  owner?: unknown
  /** Its own criteria removed the row, which it had in another state. */
  isGone?: true
  /** Another client had made the row before it did. */
  isMade?: true
}

/** The result of an operation on a row. */
export interface Merged {
  readonly state: RowState
  /** True when the row now is what its client has assumed, as far as this operation goes. */
  readonly isAsSent: boolean
  /** The latest time among the operation and what it had seen and replaced, ms: the client's floor. */
  readonly latest: number
}

/** Merges a whole object, as `put` and `add` send it; `type` is that of the operation. */
export function mergeWhole(
  state: RowState,
  type: 'insert' | 'upsert',
  values: WireObject,
  by: Authorship,
): Merged {
  if (state.kind !== 'row') {
    const staysDead = type === 'upsert' && outlives(state, by)
    return staysDead ? unchanged(state, by) : created(values, by)
  }
  const { object, stamps } = state
  const rival = rivalOf(by)
  // The client makes the row, without knowing that of another client.
  const isCreation = !rival.isSeen(stamps.rest) && by.row?.unseen?.isMade !== true
  if (isCreation) noteUnseen(by, { isMade: true })
  let isAsSent = true
  let latest = by.ts
  for (const name of new Set([...Object.keys(object), ...Object.keys(values)])) {
    const isLeftOut = !Object.hasOwn(values, name)
    // Without a place an object stays where it is.
    if (isLeftOut && isPlaceName(name)) {
      isAsSent = false
      continue
    }
    const written = isLeftOut
      ? removeSeen(object, stamps, name, by, rival)
      : isPlaceName(name) && !isCreation
        ? moveSeen(object, stamps, [name, values[name]], by, rival)
        : write(object, stamps, { path: [name], kind: 'set', value: values[name] }, by, rival)
    isAsSent &&= written.isAsSent
    latest = Math.max(latest, written.latest)
  }
  return { state, isAsSent, latest }
}

/** The properties that say where an object is and whose. */
type PlaceName = 'realmId' | 'owner'

function isPlaceName(name: string): name is PlaceName {
  return name === 'realmId' || name === 'owner'
}

/** A `put` removes what it lacks and had seen. */
function removeSeen(
  object: WireObject,
  stamps: Stamps,
  name: string,
  by: Authorship,
  rival: Rival,
): Written {
  const survivors = stampRemoval(stamps, name, rival, stampBy(by))
  if (survivors === undefined) return { isAsSent: false, latest: by.ts }
  const values = survivors.map((path) => ({ path, value: valueAt(object, path) }))
  removeAt(object, [name])
  for (const { path, value } of values) if (value !== undefined) assign(object, path, value)
  return { isAsSent: survivors.length === 0, latest: by.ts }
}

/** A `put` moves or gives away what it had seen elsewhere; otherwise it only repeats the place. */
function moveSeen(
  object: WireObject,
  stamps: Stamps,
  [name, value]: readonly [PlaceName, unknown],
  by: Authorship,
  rival: Rival,
): Written {
  const { ts, row } = by
  const before = getOwn(object, name)
  const isSame = before === value
  const isRepeated = row?.unseen !== undefined && isAssumed(row.unseen, name, value)
  if (isRepeated) return { isAsSent: isSame, latest: ts }
  if (isSame && rival.isSeen(stampOf(stamps, [name]))) return { isAsSent: true, latest: ts }
  if (!stampPlace(stamps, name, { before, after: value }, rival, stampBy(by))) {
    noteUnseen(by, { [name]: value })
    return { isAsSent: isSame, latest: ts }
  }
  delete row?.unseen?.[name]
  setOwn(object, name, value)
  return { isAsSent: true, latest: ts }
}

/** Merges changes of properties: those of an update, or of a `modify` whose criteria the row satisfies. */
export function mergeChanges(
  state: RowState,
  changes: readonly PropertyChange[],
  by: Authorship,
): Merged {
  if (state.kind !== 'row') return unchanged(state, by)
  const rival = rivalOf(by)
  let isAsSent = true
  let latest = by.ts
  for (const change of changes) {
    const written = write(state.object, state.stamps, change, by, rival)
    isAsSent &&= written.isAsSent
    latest = Math.max(latest, written.latest)
  }
  return { state, isAsSent, latest }
}

/** A later operation of another client that had not seen the deletion does not undo it. */
function outlives(state: RowState & { kind: 'dead' | 'absent' }, by: Authorship): boolean {
  if (by.row?.unseen?.isGone === true) return true
  if (state.kind === 'absent') return false
  const { revision, client, entered } = state
  if (client === by.client || by.written?.includes(revision) === true) return false
  const base = by.base ?? 0
  return base < revision && entered <= base
}

function created(values: WireObject, by: Authorship): Merged {
  const { ts, revision } = by
  const object = { ...values }
  return {
    state: { kind: 'row', object, stamps: newStamps(stampBy(by)), entered: revision },
    isAsSent: true,
    latest: ts,
  }
}

function unchanged(state: RowState, { ts }: Authorship): Merged {
  return { state, isAsSent: false, latest: ts }
}

function stampBy({ ts, revision, client }: Authorship): Stamp {
  return [ts, revision, client]
}

/**
 * An operation has seen all up to its base, and what its request did before it: but not what replayed
 * operations of other clients wrote meanwhile.
 */
function rivalOf({
  ts,
  base = -1,
  written,
  client,
  revision,
  isByCriteria = false,
}: Authorship): Rival {
  return {
    ts,
    client,
    isByCriteria,
    isSeen: ([, its, writer = 0]) => {
      if (its <= base) return true
      if (written === undefined) return false
      return (writer === client || writer === 0) && (its === revision || written.includes(its))
    },
  }
}

interface Written {
  readonly isAsSent: boolean
  readonly latest: number
}

/** Merges the write of one path. */
function write(
  object: WireObject,
  stamps: Stamps,
  change: PropertyChange,
  by: Authorship,
  rival: Rival,
): Written {
  const { path } = change
  const [name = ''] = path
  const { ts } = by
  const found = collide(stamps, path, rival, Object.hasOwn(object, name))
  const latest = Math.max(ts, found.latest)
  if (change.kind === 'modify') {
    assign(object, path, modified(change.modification, valueAt(object, path)))
    stampWrite(stamps, path, { ...found, latest: found.top }, stampBy(by))
    return { isAsSent: false, latest }
  }
  const isPlace = isPlaceName(name) && path.length === 1
  if (found.isLost) {
    if (isPlace && change.kind === 'set') noteUnseen(by, { [name]: change.value })
    return { isAsSent: false, latest: ts }
  }
  if (isPlace) delete by.row?.unseen?.[name]
  const survivors = found.survivors.map((below) => ({ below, value: valueAt(object, below) }))
  // A client makes the missing object from which it removes something, and the server does not.
  const isMade = change.kind === 'remove' && path.length > 1 && !valueAt(object, path.slice(0, -1))
  if (change.kind === 'set') assign(object, path, copyOfValue(change.value))
  else removeAt(object, path)
  for (const { below, value } of survivors) {
    if (value === undefined) removeAt(object, below)
    else assign(object, below, value)
  }
  stampWrite(stamps, path, found, stampBy(by))
  return { isAsSent: survivors.length === 0 && !isMade, latest }
}

function noteUnseen({ row }: Authorship, added: Unseen): void {
  if (row !== undefined) row.unseen = Object.assign(row.unseen ?? {}, added)
}

function isAssumed(unseen: Unseen, name: PlaceName, value: unknown): boolean {
  return Object.hasOwn(unseen, name) && unseen[name] === value
}

/** One change may be made to many rows, and is kept for later ones: each row gets its own copy of the value. */
function copyOfValue(value: unknown): unknown {
  return typeof value === 'object' && value !== null ? structuredClone(value) : value
}

function assign(object: WireObject, path: Path, value: unknown): void {
  if (path.length === 1) setOwn(object, path[0] ?? '', value)
  else setAt(object, path, value)
}

/** The changes without those of the primary key, which clients strip as well (protocol.md §4.8). */
export function withoutKey(
  primaryKey: readonly string[],
  changes: readonly PropertyChange[],
): readonly PropertyChange[] {
  return changes.filter(({ path }) => !primaryKey.includes(path.join('.')))
}

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
import { type Change, modified, removeAt, setAt, valueAt } from './change'

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
export interface Origin {
  /** The corrected time of the operation, ms. */
  readonly ts: number
  /** The revision that the client had seen; undefined when that cannot be said: then only times count. */
  readonly base: number | undefined
  /**
   * The revisions of earlier operations of the request, which those that follow have seen. Absent for an
   * operation that is replayed: later ones of its client may have reached the row before it.
   */
  readonly own?: { includes(revision: number): boolean }
  /** The client whose operation it is. */
  readonly client: number
  /** The revision of this transaction. */
  readonly revision: number
  /** Values of the creation of a row do not resist it, unless it is known to be later. */
  readonly isByCriteria?: boolean
  /** Notes what the client does not know of the row. */
  readonly row?: { unknown?: Unknown | undefined }
}

/**
 * What the client of a request does not know of a row: by `realmId` and `owner` what it assumes there,
 * though its write of them has lost; by `GONE` that its own criteria removed the row, which it had in
 * another state; by `MADE` that another client had made the row before it did.
 */
export type Unknown = Map<string, unknown>

export const GONE = '$gone'
const MADE = '$made'

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
  origin: Origin,
): Merged {
  if (state.kind !== 'row') {
    const staysDead = type === 'upsert' && outlives(state, origin)
    return staysDead ? unchanged(state, origin) : created(values, origin)
  }
  const { object, stamps } = state
  const rival = rivalOf(origin)
  // The client makes the row, without knowing that of another client.
  const isCreation = !rival.isSeen(stamps.rest) && origin.row?.unknown?.has(MADE) !== true
  if (isCreation) noteUnknown(origin, MADE, true)
  let isAsSent = true
  let latest = origin.ts
  for (const name of new Set([...Object.keys(object), ...Object.keys(values)])) {
    const isLeftOut = !Object.hasOwn(values, name)
    // Without a place an object stays where it is.
    if (isLeftOut && PLACES.has(name)) {
      isAsSent = false
      continue
    }
    const written = isLeftOut
      ? removeSeen(object, stamps, name, origin, rival)
      : PLACES.has(name) && !isCreation
        ? moveSeen(object, stamps, [name, values[name]], origin, rival)
        : write(object, stamps, { path: [name], kind: 'set', value: values[name] }, origin, rival)
    isAsSent &&= written.isAsSent
    latest = Math.max(latest, written.latest)
  }
  return { state, isAsSent, latest }
}

const PLACES: ReadonlySet<string> = new Set(['realmId', 'owner'])

/** A `put` removes what it lacks and had seen. */
function removeSeen(
  object: WireObject,
  stamps: Stamps,
  name: string,
  { ts, ...origin }: Origin,
  rival: Rival,
): Written {
  const survivors = stampRemoval(stamps, name, rival, stampBy({ ts, ...origin }))
  if (survivors === undefined) return { isAsSent: false, latest: ts }
  const values = survivors.map((path) => ({ path, value: valueAt(object, path) }))
  removeAt(object, [name])
  for (const { path, value } of values) if (value !== undefined) assign(object, path, value)
  return { isAsSent: survivors.length === 0, latest: ts }
}

/** A `put` moves or gives away what it had seen elsewhere; otherwise it only repeats the place. */
function moveSeen(
  object: WireObject,
  stamps: Stamps,
  [name, value]: readonly [string, unknown],
  origin: Origin,
  rival: Rival,
): Written {
  const { ts, row } = origin
  const before = getOwn(object, name)
  const isSame = before === value
  const isRepeated = row?.unknown?.has(name) === true && row.unknown.get(name) === value
  if (isRepeated) return { isAsSent: isSame, latest: ts }
  if (isSame && rival.isSeen(stampOf(stamps, [name]))) return { isAsSent: true, latest: ts }
  if (!stampPlace(stamps, name, { before, after: value }, rival, stampBy(origin))) {
    noteUnknown(origin, name, value)
    return { isAsSent: isSame, latest: ts }
  }
  row?.unknown?.delete(name)
  setOwn(object, name, value)
  return { isAsSent: true, latest: ts }
}

/** Merges changes of properties: those of an update, or of a `modify` whose criteria the row satisfies. */
export function mergeChanges(state: RowState, changes: readonly Change[], origin: Origin): Merged {
  if (state.kind !== 'row') return unchanged(state, origin)
  const rival = rivalOf(origin)
  let isAsSent = true
  let latest = origin.ts
  for (const change of changes) {
    const written = write(state.object, state.stamps, change, origin, rival)
    isAsSent &&= written.isAsSent
    latest = Math.max(latest, written.latest)
  }
  return { state, isAsSent, latest }
}

/** A later operation of another client that had not seen the deletion does not undo it. */
function outlives(state: RowState & { kind: 'dead' | 'absent' }, origin: Origin): boolean {
  if (origin.row?.unknown?.has(GONE) === true) return true
  if (state.kind === 'absent') return false
  const { revision, client, entered } = state
  if (client === origin.client || origin.own?.includes(revision) === true) return false
  const base = origin.base ?? 0
  return base < revision && entered <= base
}

function created(values: WireObject, origin: Origin): Merged {
  const { ts, revision } = origin
  const object = { ...values }
  return {
    state: { kind: 'row', object, stamps: newStamps(stampBy(origin)), entered: revision },
    isAsSent: true,
    latest: ts,
  }
}

function unchanged(state: RowState, { ts }: Origin): Merged {
  return { state, isAsSent: false, latest: ts }
}

function stampBy({ ts, revision, client }: Origin): Stamp {
  return [ts, revision, client]
}

/**
 * An operation has seen all up to its base, and what its request did before it: but not what replayed
 * operations of other clients wrote meanwhile.
 */
function rivalOf({ ts, base = -1, own, client, revision, isByCriteria = false }: Origin): Rival {
  return {
    ts,
    client,
    isByCriteria,
    isSeen: ([, its, by = 0]) => {
      if (its <= base) return true
      if (own === undefined) return false
      return (by === client || by === 0) && (its === revision || own.includes(its))
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
  change: Change,
  origin: Origin,
  rival: Rival,
): Written {
  const { path } = change
  const [name = ''] = path
  const { ts } = origin
  const found = collide(stamps, path, rival, Object.hasOwn(object, name))
  const latest = Math.max(ts, found.latest)
  if (change.kind === 'modify') {
    assign(object, path, modified(change.modification, valueAt(object, path)))
    stampWrite(stamps, path, { ...found, latest: found.top }, stampBy(origin))
    return { isAsSent: false, latest }
  }
  const isPlace = PLACES.has(name) && path.length === 1
  if (found.isLost) {
    if (isPlace && change.kind === 'set') noteUnknown(origin, name, change.value)
    return { isAsSent: false, latest: ts }
  }
  if (isPlace) origin.row?.unknown?.delete(name)
  const survivors = found.survivors.map((below) => ({ below, value: valueAt(object, below) }))
  // A client makes the missing object from which it removes something, and the server does not.
  const isMade = change.kind === 'remove' && path.length > 1 && !valueAt(object, path.slice(0, -1))
  if (change.kind === 'set') assign(object, path, copyOfValue(change.value))
  else removeAt(object, path)
  for (const { below, value } of survivors) {
    if (value === undefined) removeAt(object, below)
    else assign(object, below, value)
  }
  stampWrite(stamps, path, found, stampBy(origin))
  return { isAsSent: survivors.length === 0 && !isMade, latest }
}

function noteUnknown({ row }: Origin, name: string, value: unknown): void {
  if (row === undefined) return
  row.unknown ??= new Map()
  row.unknown.set(name, value)
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
  changes: readonly Change[],
): readonly Change[] {
  return changes.filter(({ path }) => !primaryKey.includes(path.join('.')))
}

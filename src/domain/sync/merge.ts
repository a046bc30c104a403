import { type WireObject, getOwn, setOwn } from '../value/value'
import { type Path, type Stamps, collide, newStamps, stampOf, stampWrite } from '../object/stamps'
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
  /** The revisions of earlier operations of the request, which those that follow have seen. */
  readonly own: { includes(revision: number): boolean }
  /** The client whose operation it is. */
  readonly client: number
  /** The revision of this transaction. */
  readonly revision: number
}

/** The result of an operation on a row. */
export interface Merged {
  readonly state: RowState
  /** True when the row now is what its client has assumed, as far as this operation goes. */
  readonly isAsSent: boolean
  /** The latest time that a path of it got, ms: the client's floor. */
  readonly latest: number
}

/** Rules 2 and 4 of merging for a whole object; `type` is that of the operation. */
export function mergeWhole(
  state: RowState,
  type: 'insert' | 'upsert',
  values: WireObject,
  origin: Origin,
): Merged {
  if (state.kind !== 'row') {
    const staysDead = type === 'upsert' && state.kind === 'dead' && outlives(state, origin)
    return staysDead ? unchanged(state, origin) : created(values, origin)
  }
  const { object, stamps } = state
  const isSeen = seenBy(origin)
  const fixed = placesChangedSince(stamps, origin, isSeen)
  let isAsSent = true
  let latest = origin.ts
  for (const name of new Set([...Object.keys(object), ...Object.keys(values)])) {
    if (fixed.has(name)) {
      isAsSent &&= getOwn(object, name) === getOwn(values, name)
      continue
    }
    const change: Change = Object.hasOwn(values, name)
      ? { path: [name], kind: 'set', value: values[name] }
      : { path: [name], kind: 'remove' }
    const written = write(object, stamps, change, origin, isSeen)
    isAsSent &&= written.isAsSent
    latest = Math.max(latest, written.latest)
  }
  return { state, isAsSent, latest }
}

/** Rule 3 of merging, and what `modify` does to a row that matches. */
export function mergeChanges(state: RowState, changes: readonly Change[], origin: Origin): Merged {
  if (state.kind !== 'row') return unchanged(state, origin)
  const isSeen = seenBy(origin)
  let isAsSent = true
  let latest = origin.ts
  for (const change of changes) {
    const written = write(state.object, state.stamps, change, origin, isSeen)
    isAsSent &&= written.isAsSent
    latest = Math.max(latest, written.latest)
  }
  return { state, isAsSent, latest }
}

/** A later operation of another client that had not seen the deletion does not undo it. */
function outlives({ revision, client, entered }: RowState & { kind: 'dead' }, origin: Origin) {
  if (client === origin.client || origin.own.includes(revision)) return false
  const base = origin.base ?? 0
  return base < revision && entered <= base
}

function created(values: WireObject, { ts, revision }: Origin): Merged {
  const object = { ...values }
  return {
    state: { kind: 'row', object, stamps: newStamps([ts, revision]), entered: revision },
    isAsSent: true,
    latest: ts,
  }
}

function unchanged(state: RowState, { ts }: Origin): Merged {
  return { state, isAsSent: false, latest: ts }
}

/** An object that was moved or given away meanwhile is not brought back by a `put`. */
function placesChangedSince(
  stamps: Stamps,
  { base }: Origin,
  isSeen: (revision: number) => boolean,
): ReadonlySet<string> {
  if (base === undefined) return new Set()
  return new Set(['realmId', 'owner'].filter((name) => !isSeen(stampOf(stamps, [name])[1])))
}

/** What an operation has seen: all up to its base, and what its request did before it. */
function seenBy({ base = -1, own, revision }: Origin): (other: number) => boolean {
  return (other) => other <= base || other === revision || own.includes(other)
}

interface Written {
  readonly isAsSent: boolean
  readonly latest: number
}

/** Rule 1 of merging: one path. */
function write(
  object: WireObject,
  stamps: Stamps,
  change: Change,
  { ts, revision }: Origin,
  isSeen: (revision: number) => boolean,
): Written {
  const { path } = change
  const found = collide(stamps, path, ts, isSeen)
  if (change.kind === 'modify') {
    assign(object, path, modified(change.modification, valueAt(object, path)))
    return { isAsSent: false, latest: stampWrite(stamps, path, found, ts, revision) }
  }
  if (found.isLost) return { isAsSent: false, latest: found.latest }
  const survivors = found.survivors.map((below) => ({ below, value: valueAt(object, below) }))
  // A client makes the missing object from which it removes something, and the server does not.
  const isMade = change.kind === 'remove' && path.length > 1 && !valueAt(object, path.slice(0, -1))
  if (change.kind === 'set') assign(object, path, copyOfValue(change.value))
  else removeAt(object, path)
  for (const { below, value } of survivors) {
    if (value === undefined) removeAt(object, below)
    else assign(object, below, value)
  }
  const latest = stampWrite(stamps, path, found, ts, revision)
  return { isAsSent: survivors.length === 0 && !isMade, latest }
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

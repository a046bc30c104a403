import type { TimedObject } from '../store/objects'
import type { OperationOrder } from '../store/sync'
import { type WireObject, changedProperties } from '../value/value'

/** The names on the way to a value, as a stored object spells them (a leading `$` is doubled). */
export type Path = readonly string[]

/** The write of a value: its time by the clock of its writer, ms, its revision, and the sync client; 0: no client. */
export type Stamp = readonly [ts: number, revision: number, client?: number, over?: Replaced]

/**
 * The write that a `put` replaced without competing with it: the stamp keeps the time of that write, so
 * that a write which had not seen the `put` wins or loses as it would have without it.
 */
interface Replaced {
  /** The revision of the replaced write. */
  readonly r: number
  /** The time of the `put`, ms, and the value that it replaced, where several may compete. */
  readonly t?: number
  readonly v?: unknown
  /** 1: the replaced value came with the creation of the object. */
  readonly b?: 1
}

/**
 * The stamps of one object, which its holder changes in place. A path has its own stamp, else that
 * of its nearest ancestor, else `rest`. Removed properties keep theirs.
 */
export interface Stamps {
  rest: Stamp
  readonly properties: Map<string, PropertyStamps>
  /** The kept operations that have counted in it, or changed a list: none does so twice. */
  ran?: Ran
}

/** Operations as revision and position, the latest of them; all up to a revision count as well. */
interface Ran {
  readonly upTo: number
  readonly places: readonly (readonly [revision: number, position: number])[]
}

/** Operations that one object tells apart. */
const MOST_RAN = 32

interface PropertyStamps {
  own: Stamp | undefined
  /** By the path inside the property, its names joined with dots. */
  readonly below: Map<string, Stamp>
}

/** Deeper paths of one property that are told apart; with more, the property is one value. */
const MAX_BELOW = 100

export function copyStamps({ rest, properties, ...more }: Stamps): Stamps {
  const copies = [...properties].map(
    ([name, { own, below }]) => [name, { own, below: new Map(below) }] as const,
  )
  return { ...more, rest, properties: new Map(copies) }
}

/** True when the operation has counted in the object, or may have, long ago. */
export function hasCounted({ ran }: Stamps, { revision, position }: OperationOrder): boolean {
  if (ran === undefined) return false
  const isListed = ran.places.some(([its, place]) => its === revision && place === position)
  return isListed || revision <= ran.upTo
}

export function noteCounted(stamps: Stamps, operation: OperationOrder): void {
  if (hasCounted(stamps, operation)) return
  const { upTo = 0, places = [] } = stamps.ran ?? {}
  const { revision, position } = operation
  const all = [...places, [revision, position] as const].toSorted(([one], [other]) => one - other)
  const dropped = all.length > MOST_RAN ? all.shift() : undefined
  stamps.ran = { upTo: Math.max(upTo, dropped?.[0] ?? 0), places: all }
}

/** A writer that competes with what others wrote (docs/merging.md, "A property belongs to its latest writer"). */
export interface Rival {
  /** The time of the write, ms. */
  readonly ts: number
  readonly client: number
  /** Values of the creation of an object do not resist an operation with criteria. */
  readonly isByCriteria: boolean
  /** True for the stamp of a write that the client had seen. */
  readonly isSeen: (stamp: Stamp) => boolean
}

/** The stamps that a write to a path competes with. */
export interface Collision {
  /** Something unseen and later stands there: the write loses. */
  readonly isLost: boolean
  /** Paths below that are unseen and later: they survive inside what is written. */
  readonly survivors: readonly Path[]
  /** The latest time among what the write replaces and had seen, ms; 0 for none. */
  readonly latest: number
  /** The latest time of all that stands there and may resist other writes, ms. */
  readonly top: number
  /** The property was never written. */
  readonly isNew?: true
}

export function newStamps(rest: Stamp): Stamps {
  return { rest, properties: new Map() }
}

/**
 * Holds a write against what is there; `isThere`: the object has the property. What its client had seen
 * never wins over it. Of two writes at the same time that of the larger client number wins.
 */
export function collide(stamps: Stamps, path: Path, rival: Rival, isThere = true): Collision {
  // The property was never written, not by the creation of the object either.
  if (!isThere && !stamps.properties.has(nameOf(path))) return NO_COLLISION
  const stamp = stampOf(stamps, path)
  const isLost = isStronger(stamps, stamp, rival)
  const survivors: Path[] = []
  let latest = rival.isSeen(stamp) ? stamp[0] : 0
  // A value that gives way to one operation with criteria does so to the next.
  let top = rival.isByCriteria && isOfCreation(stamps, stamp) ? 0 : stamp[0]
  for (const [inside, below] of descendants(stamps, path)) {
    top = Math.max(top, below[0])
    if (isStronger(stamps, below, rival)) survivors.push([nameOf(path), ...inside.split('.')])
    else if (rival.isSeen(below)) latest = Math.max(latest, below[0])
  }
  return { isLost, survivors, latest, top }
}

const NO_COLLISION: Collision = { isLost: false, survivors: [], latest: 0, top: 0, isNew: true }

function isStronger(stamps: Stamps, stamp: Stamp, rival: Rival): boolean {
  const [time, , client = 0] = stamp
  if (time < rival.ts || (time === rival.ts && client <= rival.client)) return false
  return !rival.isSeen(stamp) && !(rival.isByCriteria && isOfCreation(stamps, stamp))
}

function isOfCreation({ rest }: Stamps, stamp: Stamp): boolean {
  return stamp === rest || stamp[3]?.b === 1
}

/** Stamps a write; what it replaces has no stamp of its own any more. */
export function stampWrite(
  stamps: Stamps,
  path: Path,
  { survivors, latest, isNew }: Pick<Collision, 'survivors' | 'latest' | 'isNew'>,
  [ts, ...rest]: Stamp,
): void {
  const stamp: Stamp = [Math.max(ts, latest), ...rest]
  const kept = new Set(survivors.map(insideOf))
  for (const [inside] of descendants(stamps, path)) {
    if (!kept.has(inside)) stamps.properties.get(nameOf(path))?.below.delete(inside)
  }
  const property = propertyOf(stamps, nameOf(path))
  if (path.length === 1) property.own = stamp
  else property.below.set(insideOf(path), stamp)
  // The value around the path was made for it, and resists no write.
  if (path.length > 1 && isNew === true) property.own = [0, ...rest]
  if (property.below.size > MAX_BELOW) merge(stamps, property)
}

/**
 * Stamps that a `put` removes a property which it had seen, and gives the paths inside which it had not:
 * they stay. Undefined when it had not seen the property.
 */
export function stampRemoval(
  stamps: Stamps,
  name: string,
  { isSeen }: Rival,
  own: Stamp,
): readonly Path[] | undefined {
  const replaced = stampOf(stamps, [name])
  if (!isSeen(replaced)) return undefined
  const survivors = descendants(stamps, [name]).filter(([, stamp]) => !isSeen(stamp))
  const property = propertyOf(stamps, name)
  property.own = inPlaceOf(stamps, replaced, own)
  property.below.clear()
  for (const [inside, stamp] of survivors) property.below.set(inside, stamp)
  return survivors.map(([inside]) => [name, ...inside.split('.')])
}

/**
 * Stamps that a `put` changes the place of an object, a property that it had seen; of two that had seen
 * the same place the later one counts. False when it had not, or only repeats it: the place stays.
 */
export function stampPlace(
  stamps: Stamps,
  name: string,
  { before, after }: { readonly before: unknown; readonly after: unknown },
  rival: Rival,
  own: Stamp,
): boolean {
  const replaced = stampOf(stamps, [name])
  const [time, , client = 0, over] = replaced
  if (!rival.isSeen(replaced)) {
    const beaten = over?.t !== undefined && over.v !== after && rival.isSeen([time, over.r])
    const isLater = beaten && isAfter([rival.ts, rival.client], [over.t ?? 0, client])
    if (!isLater) return false
  }
  propertyOf(stamps, name).own = inPlaceOf(stamps, replaced, own, {
    t: own[0],
    v: over?.t === undefined ? before : over.v,
  })
  return true
}

function isAfter(one: readonly [number, number], other: readonly [number, number]): boolean {
  return one[0] > other[0] || (one[0] === other[0] && one[1] > other[1])
}

function inPlaceOf(
  stamps: Stamps,
  replaced: Stamp,
  [, revision, client = 0]: Stamp,
  more: Pick<Replaced, 't' | 'v'> = {},
): Stamp {
  const [time, r, , over] = replaced
  const born = isOfCreation(stamps, replaced) ? ({ b: 1 } as const) : {}
  return [time, revision, client, { r: over?.r ?? r, ...born, ...more }]
}

/** Stamps what a writer without history replaces (REST, imports): its changes always win. */
export function stampReplacement(
  stamps: Stamps,
  before: WireObject,
  after: WireObject,
  stamp: Stamp,
): void {
  for (const name of changedProperties(before, after)) {
    const { latest } = collide(stamps, [name], ALWAYS)
    stampWrite(stamps, [name], { survivors: [], latest }, stamp)
  }
}

const ALWAYS: Rival = { ts: Infinity, client: 0, isByCriteria: false, isSeen: () => true }

/** The stamps of an object that such a writer replaces at `now`, ms, as text for the store. */
export function replacedStamps(
  { stamps, updated, revision }: TimedObject,
  before: WireObject,
  after: WireObject,
  now: number,
  ownRevision: number,
): string | null {
  const read = readStamps(stamps, updated, revision)
  stampReplacement(read, before, after, [now, ownRevision])
  return formatStamps(read, now, ownRevision)
}

/** The names of the properties written after a revision; undefined when all of them were. */
export function namesSince(stamps: Stamps, revision: number): Set<string> | undefined {
  return stamps.rest[1] > revision ? undefined : stampedSince(stamps, revision)
}

/** The names of the properties with a stamp of their own after a revision, also of removed ones. */
export function stampedSince(stamps: Stamps, revision: number): Set<string> {
  const names = new Set<string>()
  for (const [name, { own, below }] of stamps.properties) {
    const isNew = (stamp: Stamp) => stamp[1] > revision
    if ((own !== undefined && isNew(own)) || below.values().some(isNew)) names.add(name)
  }
  return names
}

interface StoredStamps {
  /** `rest` */
  readonly r: Stamp
  /** Properties as a whole. */
  readonly p?: readonly (readonly [string, Stamp])[]
  /** Paths inside properties. */
  readonly b?: readonly (readonly [string, readonly (readonly [string, Stamp])[]])[]
  /** `ran` */
  readonly m?: Ran
}

/** Reads the stamps of a row; null when every path has the row's own time and revision. */
export function readStamps(text: string | null, ts: number, revision: number): Stamps {
  if (text === null) return newStamps([ts, revision])
  const { r, p = [], b = [], m } = JSON.parse(text) as StoredStamps
  const stamps = newStamps(r)
  if (m !== undefined) stamps.ran = m
  for (const [name, own] of p) propertyOf(stamps, name).own = own
  for (const [name, below] of b) {
    for (const [inside, stamp] of below) propertyOf(stamps, name).below.set(inside, stamp)
  }
  return stamps
}

/** The text of stamps for a row with this time and revision; null when the row says it all. */
export function formatStamps(
  { rest, properties, ran }: Stamps,
  ts: number,
  revision: number,
): string | null {
  const [time, its, client = 0] = rest
  const isPlain = properties.size === 0 && ran === undefined && client === 0
  if (isPlain && time === ts && its === revision) return null
  const p: [string, Stamp][] = []
  const b: [string, [string, Stamp][]][] = []
  for (const [name, { own, below }] of properties) {
    if (own !== undefined) p.push([name, own])
    if (below.size > 0) b.push([name, [...below]])
  }
  const stored: StoredStamps = {
    r: rest,
    ...(p.length === 0 ? {} : { p }),
    ...(b.length === 0 ? {} : { b }),
    ...(ran === undefined ? {} : { m: ran }),
  }
  return JSON.stringify(stored)
}

/** The revision at which the object came into being. */
export function birthOf({ rest: [, revision] }: Stamps): number {
  return revision
}

/** The stamp that counts for a path. */
export function stampOf({ rest, properties }: Stamps, path: Path): Stamp {
  const property = properties.get(nameOf(path))
  if (property === undefined) return rest
  return nearest(property.below, path) ?? property.own ?? rest
}

/** The stamp of the longest of these paths that leads to a value, or is its own. */
function nearest(below: PropertyStamps['below'], path: Path): Stamp | undefined {
  if (below.size === 0 || path.length === 1) return undefined
  const inside = `${insideOf(path)}.`
  let found: Stamp | undefined
  let length = -1
  // There are few of them, and the path may have many names.
  for (const [ancestor, stamp] of below) {
    if (ancestor.length <= length || inside[ancestor.length] !== '.') continue
    if (!inside.startsWith(ancestor)) continue
    found = stamp
    length = ancestor.length
  }
  return found
}

function descendants({ properties }: Stamps, path: Path): (readonly [string, Stamp])[] {
  const below = properties.get(nameOf(path))?.below
  if (below === undefined || below.size === 0) return []
  if (path.length === 1) return [...below]
  const prefix = `${insideOf(path)}.`
  const found: (readonly [string, Stamp])[] = []
  for (const entry of below) if (entry[0].startsWith(prefix)) found.push(entry)
  return found
}

/** One stamp for the whole property, as new and as late as the newest and latest of its parts. */
function merge({ rest }: Stamps, property: PropertyStamps): void {
  const parts = [property.own ?? rest, ...property.below.values()]
  const [ts, , client = 0] = parts.reduce((latest, one) => (one[0] > latest[0] ? one : latest))
  property.own = [ts, Math.max(...parts.map(([, revision]) => revision)), client]
  property.below.clear()
}

function propertyOf({ properties }: Stamps, name: string): PropertyStamps {
  const known = properties.get(name)
  if (known !== undefined) return known
  const property = { own: undefined, below: new Map<string, Stamp>() }
  properties.set(name, property)
  return property
}

function nameOf(path: Path): string {
  return path[0] ?? ''
}

function insideOf(path: Path): string {
  return path.slice(1).join('.')
}

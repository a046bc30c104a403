import type { TimedObject } from '../store/objects'
import { type WireObject, changedProperties } from '../value/value'

/** The names on the way to a value, as a stored object spells them (a leading `$` is doubled). */
export type Path = readonly string[]

/** The time at which a value was written, by the clock of its writer in ms, and the revision. */
export type Stamp = readonly [ts: number, revision: number]

/**
 * The stamps of one object, which its holder changes in place. A path has its own stamp, else that
 * of its nearest ancestor, else `rest`. Removed properties keep theirs.
 */
export interface Stamps {
  rest: Stamp
  readonly properties: Map<string, PropertyStamps>
}

interface PropertyStamps {
  own: Stamp | undefined
  /** By the path inside the property, its names joined with dots. */
  readonly below: Map<string, Stamp>
}

/** Deeper paths of one property that are told apart; with more, the property is one value. */
const MAX_BELOW = 100

export function copyStamps({ rest, properties }: Stamps): Stamps {
  const copies = [...properties].map(
    ([name, { own, below }]) => [name, { own, below: new Map(below) }] as const,
  )
  return { rest, properties: new Map(copies) }
}

/** The stamps that a write to a path competes with (rule 1 of merging). */
export interface Collision {
  /** Something newer than the write's base and later than the write stands there: it loses. */
  readonly isLost: boolean
  /** Paths below that are newer and later: they survive inside what is written. */
  readonly survivors: readonly Path[]
  /** The latest time among what the write replaces, ms. */
  readonly latest: number
}

export function newStamps(rest: Stamp): Stamps {
  return { rest, properties: new Map() }
}

/**
 * Holds a write at time `ts`, ms, against what is there. Writes of revisions that its client had seen
 * never win over it.
 */
export function collide(
  stamps: Stamps,
  path: Path,
  ts: number,
  isSeen: (revision: number) => boolean,
): Collision {
  const isStronger = ([time, revision]: Stamp) => time > ts && !isSeen(revision)
  const stamp = stampOf(stamps, path)
  if (isStronger(stamp)) return { isLost: true, survivors: [], latest: stamp[0] }
  const survivors: Path[] = []
  let latest = stamp[0]
  for (const [inside, below] of descendants(stamps, path)) {
    if (isStronger(below)) survivors.push([nameOf(path), ...inside.split('.')])
    else latest = Math.max(latest, below[0])
  }
  return { isLost: false, survivors, latest }
}

/** Stamps a write; what it replaces has no stamp of its own any more. Gives the time it got. */
export function stampWrite(
  stamps: Stamps,
  path: Path,
  { survivors, latest }: Pick<Collision, 'survivors' | 'latest'>,
  ts: number,
  revision: number,
): number {
  const stamp: Stamp = [Math.max(ts, latest), revision]
  const kept = new Set(survivors.map(insideOf))
  for (const [inside] of descendants(stamps, path)) {
    if (!kept.has(inside)) stamps.properties.get(nameOf(path))?.below.delete(inside)
  }
  const property = propertyOf(stamps, nameOf(path))
  if (path.length === 1) property.own = stamp
  else property.below.set(insideOf(path), stamp)
  if (property.below.size > MAX_BELOW) merge(stamps, property)
  return stamp[0]
}

/** Stamps what a writer without history replaces (REST, imports): its changes always win. */
export function stampReplacement(
  stamps: Stamps,
  before: WireObject,
  after: WireObject,
  ts: number,
  revision: number,
): void {
  for (const name of changedProperties(before, after)) {
    const { latest } = collide(stamps, [name], Infinity, () => true)
    stampWrite(stamps, [name], { survivors: [], latest }, ts, revision)
  }
}

/** The stamps of an object that such a writer replaces at `now`, ms, as text for the store. */
export function replacedStamps(
  { stamps, updated, revision }: TimedObject,
  before: WireObject,
  after: WireObject,
  now: number,
  ownRevision: number,
): string | null {
  const read = readStamps(stamps, updated, revision)
  stampReplacement(read, before, after, now, ownRevision)
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
}

/** Reads the stamps of a row; null when every path has the row's own time and revision. */
export function readStamps(text: string | null, ts: number, revision: number): Stamps {
  if (text === null) return newStamps([ts, revision])
  const { r, p = [], b = [] } = JSON.parse(text) as StoredStamps
  const stamps = newStamps(r)
  for (const [name, own] of p) propertyOf(stamps, name).own = own
  for (const [name, below] of b) {
    for (const [inside, stamp] of below) propertyOf(stamps, name).below.set(inside, stamp)
  }
  return stamps
}

/** The text of stamps for a row with this time and revision; null when the row says it all. */
export function formatStamps(
  { rest, properties }: Stamps,
  ts: number,
  revision: number,
): string | null {
  if (properties.size === 0 && rest[0] === ts && rest[1] === revision) return null
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
  }
  return JSON.stringify(stored)
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
  property.own = [
    Math.max(...parts.map(([ts]) => ts)),
    Math.max(...parts.map(([, revision]) => revision)),
  ]
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

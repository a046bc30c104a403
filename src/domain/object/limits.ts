import { quoted, SatchelError, unprocessable } from '../value/error'
import type { Table, TableIndex } from '../store/tables'
import { propertyAt } from '../value/property'
import { isRecord, type WireObject } from '../value/value'
import type { Draft } from './draft'

/**
 * How much one request may write (design.md §6 limits by default). Each name is that of the setting
 * which changes it. An import knows only the limit of each object's index entries.
 */
export interface WriteLimits {
  /** Objects in a request. */
  readonly maxObjects: number
  /** Rows of `realms`, `members` and `roles` in a request. */
  readonly maxRows: number
  /** Index entries of one object, at every door (design.md §3). */
  readonly maxEntries: number
  /** Index entries of all objects in a request, and those that it removes from replaced objects. */
  readonly maxRequestEntries: number
  /** Properties of one object, those of the objects inside it included. */
  readonly maxProperties: number
  /** Levels of nesting; REST bodies are checked before they are parsed. */
  readonly maxDepth: number
}

/** Throws `UNPROCESSABLE` when a request has too many objects for this table. */
export function requireFewObjects(table: Table, count: number, limits: WriteLimits): void {
  const { maxObjects, maxRows } = limits
  if (table.builtIn && count > maxRows) {
    throw refusal(
      'maxRows',
      `A request may write ${maxRows} rows of ${quoted(table.name)}, and this one has ${count}`,
    )
  }
  if (count > maxObjects) {
    throw refusal(
      'maxObjects',
      `A request may write ${maxObjects} objects, and this one has ${count}`,
    )
  }
}

/** Throws `UNPROCESSABLE`. `path` is the place of the object in the request. */
export function requireFewProperties(
  { object, text }: Draft,
  path: string,
  { maxProperties }: WriteLimits,
): void {
  // The shortest property is `"":0,`.
  if (text.length <= maxProperties * SHORTEST) return
  const properties = countProperties(object)
  if (properties <= maxProperties) return
  throw refusal(
    'maxProperties',
    `An object may have ${maxProperties} properties, and ${nameOf(path)} has ${properties}`,
  )
}

/** Throws `UNPROCESSABLE` for an object of sync that is nested more deeply than a REST body may be. */
export function requireFewLevels({ object, text }: Draft, { maxDepth }: WriteLimits): void {
  // Each level has two brackets.
  if (text.length <= 2 * maxDepth || isWithin(object, maxDepth)) return
  throw refusal('maxDepth', `An object may have ${maxDepth} levels of nesting`)
}

function isWithin(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return true
  if (levels === 0) return false
  for (const member of Object.values(value)) {
    const isFlat = typeof member !== 'object' || member === null
    if (!isFlat && !isWithin(member, levels - 1)) return false
  }
  return true
}

/**
 * Returns how many index entries an object has at the most. Throws `UNPROCESSABLE` when one may not have so many.
 * `path` is the place of the object in the request.
 */
export function requireFewEntries(
  table: Table,
  object: WireObject,
  path: string,
  { maxEntries }: Pick<WriteLimits, 'maxEntries'>,
): number {
  const counts = table.indexes.map((index) => countEntries(index, object))
  const total = counts.reduce((sum, count) => sum + count, 0)
  if (total <= maxEntries) return total
  const { name } = table.indexes[counts.indexOf(Math.max(...counts))]!
  throw unprocessable(
    `An object may have ${maxEntries} index entries, and ${nameOf(path)} has ${total}, most of them for ${quoted(name)}: index less of it, or change the setting maxEntries`,
    'maxEntries',
  )
}

/**
 * Counts the index entries of one request. The result is called with each object and its path in
 * the request, before anything else looks at its values, and throws `UNPROCESSABLE` for the one that
 * is too much.
 */
export function createEntryLimiter(
  table: Table,
  limits: WriteLimits,
): (object: unknown, path: string) => void {
  const { maxRequestEntries } = limits
  let total = 0
  return (object, path) => {
    if (table.indexes.length === 0 || !isRecord(object)) return
    total += requireFewEntries(table, object, path, limits)
    if (total <= maxRequestEntries) return
    throw refusal(
      'maxRequestEntries',
      `The objects of a request may have ${maxRequestEntries} index entries, and ${nameOf(path)} exceeds that`,
    )
  }
}

/** Counts the index entries that a request removes from the objects that it replaces. */
export interface Removals {
  /** How many they are so far. */
  readonly total: number
  /**
   * Adds those of one object, before they are removed. Throws `UNPROCESSABLE` when they become too many, unless
   * the object is the first: it may have got more than a request may replace when an index was declared.
   */
  note(removed: number): void
}

/** Goes on counting from `total`, where the earlier steps of the unit have ended. */
export function countRemovals({ maxRequestEntries }: WriteLimits, total: number): Removals {
  return {
    total,
    note(this: { total: number }, removed) {
      const isFirst = this.total === 0
      this.total += removed
      if (isFirst || this.total <= maxRequestEntries) return
      throw refusal(
        'maxRequestEntries',
        `A request may replace ${maxRequestEntries} index entries of stored objects, and this one exceeds that`,
      )
    },
  }
}

const SHORTEST = 5

function nameOf(path: string): string {
  return path === '' ? 'this one' : `the object at ${path}`
}

function refusal(setting: keyof WriteLimits, sentence: string): SatchelError {
  return unprocessable(
    `${sentence}: write less at once, import a file with satchel import, or change the setting ${setting}`,
    setting,
  )
}

/** Every element of an indexed array counts: to find equal ones would cost what the limit saves. */
function countEntries({ multi, compound, paths }: TableIndex, object: WireObject): number {
  const value = compound ? null : propertyAt(object, paths[0]!)
  if (multi && Array.isArray(value)) return value.length
  return value === undefined ? 0 : 1
}

/** The nesting was limited when the body was read. */
function countProperties(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  const isArray = Array.isArray(value)
  // Of a long array, `Object.values` takes a hundred times as long as a walk.
  const members: unknown[] = isArray ? value : Object.values(value)
  let count = isArray ? 0 : members.length
  for (const member of members) count += countProperties(member)
  return count
}

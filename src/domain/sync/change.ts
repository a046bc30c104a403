// Paths and property modifications: docs/merging.md, "Counting is not overwriting".

import type { WriteLimits } from '../object/limits'
import type { Path } from '../object/stamps'
import { isNameText } from '../value/key'
import { timeOfDate } from '../value/time'
import { SatchelError, quoted, unprocessable } from '../value/error'
import { FIXED_LIMITS, mostOf } from '../value/fixed-limits'
import { type WireObject, getOwn, isRecord, presentIn, setOwn } from '../value/value'

/** The effect of one entry of a changeSpec on the value at its path (protocol.md §4.4, §4.6). */
export type PropertyChange =
  | { readonly path: Path; readonly kind: 'set'; readonly value: unknown }
  | { readonly path: Path; readonly kind: 'remove' }
  | { readonly path: Path; readonly kind: 'modify'; readonly modification: Modification }

/** A property modification: executed on the current value, whatever the client saw. */
type Modification =
  | { readonly add: number | readonly unknown[] }
  | { readonly remove: number | readonly unknown[] }
  | { readonly replacePrefix: readonly [string, string] }

/** How far past its end a list may be written: a hole is filled with null. */
const MAX_HOLE = 1_000

/** How much a changeSpec may change: no more than an object has (`WriteLimits`). */
export type SpecLimits = Pick<WriteLimits, 'maxProperties' | 'maxDepth'>

const NO_LIMITS: SpecLimits = { maxProperties: Infinity, maxDepth: Infinity }

/**
 * Reads a changeSpec. Throws `UNPROCESSABLE` naming the path of what cannot be executed, or the limit that
 * it exceeds.
 */
export function readChangeSpec(spec: WireObject, limits = NO_LIMITS): PropertyChange[] {
  const names = Object.keys(spec)
  requireFewNames(names, limits)
  return names.map((name) => {
    const path = pathOfSpec(name)
    const value = spec[name]
    if (isRecord(value)) {
      if (getOwn(value, '$t') === 'undefined') return { path, kind: 'remove' }
      const given = modificationIn(value)
      if (given !== undefined) {
        return { path, kind: 'modify', modification: readModification(given, name) }
      }
    }
    return { path, kind: 'set', value }
  })
}

/** A change of so many characters may be made to any number of objects. */
const FREE_CHARACTERS = 1_024

/** How many characters a changeSpec copies into so many objects, as the limit of them counts. */
export function copiesOf(spec: unknown, objects: number): number {
  if (objects < 2) return 0
  return Math.max(0, (JSON.stringify(spec)?.length ?? 0) - FREE_CHARACTERS) * objects
}

/** Throws `UNPROCESSABLE` when the changes of a transaction copy more into its objects. */
export function requireFewCopies(characters: number): void {
  const { copiedCharacters } = FIXED_LIMITS
  if (characters <= copiedCharacters.most) return
  throw unprocessable(
    `The changes of a transaction copy at most ${mostOf(copiedCharacters)} into several objects each: change fewer of them at once`,
    'changeSpec',
  )
}

/** Each name on the way to a value counts. */
function requireFewNames(paths: readonly string[], limits: SpecLimits): void {
  const { pathCharacters } = FIXED_LIMITS
  let total = paths.length
  for (const path of paths) {
    if (!isNameText(path)) {
      throw refusal(path, 'is a name that is not well-formed Unicode or has U+0000 in it')
    }
    if (path.length > pathCharacters.most) {
      throw refusal(path, `is a path of more than ${mostOf(pathCharacters)}`)
    }
    const dots = countDots(path)
    if (dots >= limits.maxDepth) throw tooMuch(path, 'levels of nesting', 'maxDepth', limits)
    total += dots
    if (total > limits.maxProperties) throw tooMuch(path, 'properties', 'maxProperties', limits)
  }
}

function countDots(path: string): number {
  let dots = 0
  for (let at = path.indexOf('.'); at >= 0; at = path.indexOf('.', at + 1)) dots += 1
  return dots
}

function tooMuch(
  path: string,
  unit: string,
  setting: keyof SpecLimits,
  limits: SpecLimits,
): SatchelError {
  const most = limits[setting].toLocaleString('en')
  return unprocessable(
    `A change may name ${most} ${unit}, as an object may have, and the path ${quoted(path)} exceeds that: write less at once, or change the setting ${setting}`,
    setting,
  )
}

/** The path of a changeSpec's key: the client has escaped its first character, no other. */
function pathOfSpec(name: string): Path {
  return name.split('.').map((segment, depth) => (depth === 0 ? segment : escaped(segment)))
}

/** The path that an index names (`a.b`): a name in plain text. */
export function pathOfIndex(name: string): Path {
  return name.split('.').map(escaped)
}

/** A name as stored objects spell it. */
export function escaped(segment: string): string {
  return segment.startsWith('$') ? `$${segment}` : segment
}

/** The value at a path, own properties only; typed values have no inside. */
export function valueAt(object: WireObject, path: Path): unknown {
  let value: unknown = object
  for (const segment of path) {
    if (Array.isArray(value)) value = isPosition(segment) ? value[Number(segment)] : undefined
    else if (isContainer(value)) value = getOwn(value, segment)
    else return undefined
  }
  return value
}

/**
 * Sets the value at a path of an object that the caller owns, as Dexie's `setByKeyPath` does:
 * missing objects on the way are created, and a value without members stays as it is. Throws
 * `UNPROCESSABLE` for a position far behind the end of a list.
 */
export function setAt(object: WireObject, path: Path, value: unknown): void {
  let holder: WireObject | unknown[] = object
  for (const segment of path.slice(0, -1)) {
    const inner = memberOf(holder, segment)
    if (isContainer(inner) || Array.isArray(inner)) {
      holder = inner
    } else if (inner) {
      // A text, a number or a Date has no members to set.
      return
    } else {
      const made: WireObject = {}
      setMember(holder, segment, made)
      holder = made
    }
  }
  setMember(holder, path.at(-1) ?? '', value)
}

/** Removes what is at a path of an object that the caller owns; an element leaves no hole. */
export function removeAt(object: WireObject, path: Path): void {
  const holder = path.length === 1 ? object : valueAt(object, path.slice(0, -1))
  const last = path.at(-1) ?? ''
  if (Array.isArray(holder)) {
    if (isPosition(last) && Number(last) < holder.length) holder.splice(Number(last), 1)
  } else if (isContainer(holder)) {
    delete holder[last]
  }
}

/**
 * The result of a modification, in wire form (Dexie's `PropModification.execute`). What it adds is
 * copied, because the same modification is executed on other rows. Linear in the length of a list that is
 * sorted, as all are that it has changed. Throws `UNPROCESSABLE` for a list that is too long.
 */
export function modified(modification: Modification, value: unknown): unknown {
  if ('add' in modification) {
    const { add } = modification
    if (typeof add === 'number') return toWireNumber((toNumber(value) || 0) + add)
    const list = Array.isArray(value) ? (value as unknown[]) : []
    requireFewElements(list.length + add.length)
    const sum = insert(sorted(list), structuredClone(add))
    // A transaction may add to one list thousands of times.
    made.add(sum)
    return sum
  }
  if ('remove' in modification) {
    const { remove } = modification
    if (typeof remove === 'number') return toWireNumber(toNumber(value) - remove)
    if (!Array.isArray(value)) return []
    requireFewElements(value.length)
    const removed = new Set(remove.map(identityOf))
    return sorted((value as unknown[]).filter((item) => !removed.has(identityOf(item))))
  }
  const [before, after] = modification.replacePrefix
  if (before === '' || typeof value !== 'string' || !value.startsWith(before)) return value
  return after + value.slice(before.length)
}

function modificationIn(value: WireObject): unknown {
  if (Object.hasOwn(value, '@@propmod')) return value['@@propmod']
  return getOwn(value, '$t') === 'PropModification' ? value : undefined
}

function readModification(given: unknown, name: string): Modification {
  if (isRecord(given)) {
    const add = presentIn(given, 'add')
    const remove = presentIn(given, 'remove')
    const prefix = presentIn(given, 'replacePrefix')
    if (isTerm(add)) return { add: termOf(add, name) }
    if (add === undefined && isTerm(remove)) return { remove: termOf(remove, name) }
    if (add === undefined && remove === undefined && isPrefixPair(prefix)) {
      return { replacePrefix: prefix }
    }
  }
  throw refusal(
    name,
    'is no property modification: add or remove a number or a list, or replacePrefix with two strings',
  )
}

type Term = number | readonly unknown[] | WireObject

/** A number, a number that JSON cannot hold, or a list. */
function isTerm(value: unknown): value is Term {
  if (typeof value === 'number' || Array.isArray(value)) return true
  return isRecord(value) && getOwn(value, '$t') === 'number'
}

function termOf(term: Term, name: string): number | readonly unknown[] {
  if (typeof term === 'number') return term
  if (!Array.isArray(term)) return toNumber(term)
  const { listElements } = FIXED_LIMITS
  if (term.length <= listElements.most) return term as unknown[]
  throw refusal(name, `adds or removes more than ${mostOf(listElements)}`)
}

function requireFewElements(count: number): void {
  const { listElements } = FIXED_LIMITS
  if (count <= listElements.most) return
  const sentence = `A property modification changes a list of at most ${mostOf(listElements)}`
  throw unprocessable(sentence, 'listElements')
}

function isPrefixPair(value: unknown): value is readonly [string, string] {
  return Array.isArray(value) && value.length === 2 && value.every((one) => typeof one === 'string')
}

/** `Number(value)` of what the client would have in place of the wire value. */
function toNumber(value: unknown): number {
  if (Array.isArray(value)) {
    if (value.length > 1) return Number.NaN
    return value.length === 0 ? 0 : toNumber(value[0])
  }
  if (!isRecord(value)) return Number(value)
  if (getOwn(value, '$t') === 'number') return Number(String(getOwn(value, 'v')))
  return timeOfDate(value) ?? Number.NaN
}

function toWireNumber(value: number): unknown {
  const isKept = Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value))
  if (isKept) return value
  // An integer that JSON readers would round stays as near as a number can be.
  return Number.isFinite(value)
    ? Math.sign(value) * Number.MAX_SAFE_INTEGER
    : { $t: 'number', v: String(value) }
}

/** Lists that a modification has made, and that are in its order still. */
const made = new WeakSet<readonly unknown[]>()

/** The order of `Array.prototype.sort` without a comparison function: by text. */
function sorted(items: readonly unknown[]): unknown[] {
  if (made.has(items) || isSorted(items)) return items.slice()
  return items
    .map((item) => ({ item, text: identityOf(item) }))
    .toSorted((one, other) => (one.text < other.text ? -1 : one.text > other.text ? 1 : 0))
    .map(({ item }) => item)
}

function isSorted(items: readonly unknown[]): boolean {
  let previous = ''
  for (const item of items) {
    const text = identityOf(item)
    if (text < previous) return false
    previous = text
  }
  return true
}

/** Adds to a sorted list behind the equal members that it has. */
function insert(list: unknown[], added: readonly unknown[]): unknown[] {
  if (added.length * INSERTS > list.length) return sorted([...list, ...added])
  for (const item of added) {
    const text = identityOf(item)
    let [from, to] = [0, list.length]
    while (from < to) {
      const middle = (from + to) >> 1
      if (identityOf(list[middle]) <= text) from = middle + 1
      else to = middle
    }
    list.splice(from, 0, item)
  }
  return list
}

/** An insertion costs as much as to sort about so many members. */
const INSERTS = 64

/** The text of a value: equal texts are the same member of a list. */
function identityOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function isContainer(value: unknown): value is WireObject {
  return isRecord(value) && !Object.hasOwn(value, '$t')
}

function memberOf(holder: WireObject | unknown[], segment: string): unknown {
  if (!Array.isArray(holder)) return getOwn(holder, segment)
  return isPosition(segment) ? holder[Number(segment)] : undefined
}

function setMember(holder: WireObject | unknown[], segment: string, value: unknown): void {
  if (!Array.isArray(holder)) {
    setOwn(holder, segment, value)
    return
  }
  // JSON keeps only the positions of a list.
  if (!isPosition(segment)) return
  const position = Number(segment)
  if (position > holder.length + MAX_HOLE) {
    throw unprocessable(
      `Position ${quoted(segment)} is more than ${MAX_HOLE} behind the end of its list`,
      segment.slice(0, 100),
    )
  }
  made.delete(holder)
  while (holder.length < position) holder.push(null)
  holder[position] = value
}

function refusal(name: string, problem: string): SatchelError {
  return unprocessable(`${quoted(name)} ${problem}`, name.slice(0, 100))
}

function isPosition(segment: string): boolean {
  return /^(?:0|[1-9]\d{0,8})$/.test(segment)
}

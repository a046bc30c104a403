import type { Path } from '../object/stamps'
import { SatchelError, unprocessable } from '../value/error'
import { FIXED_LIMITS, mostOf } from '../value/fixed-limits'
import { isNameText } from '../value/key'
import { timeOfDate } from '../value/time'
import { BINARY_TYPES } from '../value/typed-value'
import { type WireObject, getOwn, isAbsent, isRecord, presentIn } from '../value/value'
import { pathOfIndex, valueAt } from './change'

/** The query of a `modify` or `delete`, evaluated on stored objects (protocol.md §4.4). */
export interface Criteria {
  /** Null: the primary key. Undefined: no index, every row. Else an index name of Dexie. */
  readonly index: string | null | undefined
  /** The paths of the values that the index is made of; none without an index name. */
  readonly paths: readonly Path[]
  readonly range: KeyRange
}

/** An IndexedDB key range; absent bounds are undefined. */
type KeyRange =
  | { readonly type: 'any' }
  | { readonly type: 'never' }
  | {
      readonly type: 'range'
      readonly lower: Key | undefined
      readonly upper: Key | undefined
      readonly lowerOpen: boolean
      readonly upperOpen: boolean
    }

/** A value that can be an IndexedDB key. */
type Key =
  | { readonly type: typeof NUMBER | typeof DATE; readonly value: number }
  | { readonly type: typeof STRING | typeof BINARY; readonly value: string }
  | { readonly type: typeof ARRAY; readonly value: readonly Key[] }

// In the order of IndexedDB.
const NUMBER = 1
const DATE = 2
const STRING = 3
const BINARY = 4
const ARRAY = 5

/** `DBCoreRangeType` of Dexie. */
const RANGE_TYPES = { equal: 1, range: 2, any: 3, never: 4 } as const

/** Reads the `criteria` of an operation. Throws `UNPROCESSABLE` for any other value. */
export function readCriteria(value: unknown): Criteria {
  const range = isRecord(value) ? getOwn(value, 'range') : undefined
  if (!isRecord(value) || !isRecord(range)) throw refusal('criteria needs a range')
  const index = getOwn(value, 'index')
  if (typeof index === 'string') return { index, paths: pathsOf(index), range: readRange(range) }
  if (index === null) return { index, paths: [], range: readRange(range) }
  if (isAbsent(index)) return { index: undefined, paths: [], range: readRange(range) }
  throw refusal('the index of criteria is a name or null')
}

/** Tells how an index treats a list: per element, as one key, or undefined when nobody declared it. */
type MultiOf = (index: string) => boolean | undefined

/** Does an object with this primary key satisfy the criteria? */
export function satisfies(
  { index, paths, range }: Criteria,
  object: WireObject,
  key: string,
  multiOf: MultiOf,
): boolean {
  if (range.type === 'never') return false
  if (index === undefined) return true
  if (index === null) return isWithin(range, primaryKey(key))
  if (isCompound(index)) return isWithin(range, compoundOf(object, paths))
  const value = valueAt(object, paths[0]!)
  if (!Array.isArray(value)) return isWithin(range, keyOfValue(value))
  const isMulti = multiOf(index) ?? !hasArrayBound(range)
  if (!isMulti) return isWithin(range, keyOfValue(value))
  return value.some((element) => isWithin(range, keyOfValue(element)))
}

/** Compares keys in the order of IndexedDB: number < Date < string < binary < array. */
export function compareKeys(one: Key, other: Key): number {
  if (one.type !== other.type) return one.type - other.type
  if (one.type === ARRAY && other.type === ARRAY) return compareArrays(one.value, other.value)
  return one.value < other.value ? -1 : one.value > other.value ? 1 : 0
}

/** The key that a wire value is, or undefined when it can be none. */
export function keyOfValue(value: unknown): Key | undefined {
  if (typeof value === 'string') return { type: STRING, value }
  // Adding 0 makes -0 the same as 0.
  if (typeof value === 'number') return { type: NUMBER, value: value + 0 }
  if (Array.isArray(value)) return arrayKey(value)
  return isRecord(value) ? typedKey(value) : undefined
}

/** The wire value of a key that an index may have; undefined for all others. */
export function wireOfKey(key: Key): unknown {
  switch (key.type) {
    case NUMBER:
      return Number.isFinite(key.value) ? key.value : undefined
    case STRING:
      return key.value
    case DATE:
      return { $t: 'Date', v: new Date(key.value).toISOString() }
    case ARRAY:
      return key.value.map(wireOfKey)
    case BINARY:
      return undefined
  }
}

function arrayKey(elements: readonly unknown[]): Key | undefined {
  const keys: Key[] = []
  for (const element of elements) {
    const key = keyOfValue(element)
    if (key === undefined) return undefined
    keys.push(key)
  }
  return { type: ARRAY, value: keys }
}

function typedKey(value: WireObject): Key | undefined {
  const type = getOwn(value, '$t')
  const v = getOwn(value, 'v')
  if (type === 'Date') {
    const time = timeOfDate(value)
    return time === undefined ? undefined : { type: DATE, value: time }
  }
  if (type === 'number' && (v === 'Infinity' || v === '-Infinity')) {
    return { type: NUMBER, value: Number(v) }
  }
  // b64lex sorts like the bytes it stands for (protocol.md §1.3); its padding sorts before them.
  if (typeof type === 'string' && BINARY_TYPES.has(type) && typeof v === 'string') {
    return { type: BINARY, value: v.replace(/-{1,2}$/, '') }
  }
  return undefined
}

function compareArrays(one: readonly Key[], other: readonly Key[]): number {
  for (const [position, key] of one.entries()) {
    const counterpart = other[position]
    if (counterpart === undefined) return 1
    const order = compareKeys(key, counterpart)
    if (order !== 0) return order
  }
  return one.length - other.length
}

function readRange(range: WireObject): KeyRange {
  const type = getOwn(range, 'type')
  if (type === RANGE_TYPES.any) return { type: 'any' }
  if (type === RANGE_TYPES.never) return { type: 'never' }
  if (type !== RANGE_TYPES.equal && type !== RANGE_TYPES.range) {
    throw refusal('the type of a range is 1 to 4')
  }
  const lower = readBound(range, 'lower')
  const upper = type === RANGE_TYPES.equal ? lower : readBound(range, 'upper')
  if (type === RANGE_TYPES.equal && lower === undefined)
    throw refusal('"lower" of a range is missing')
  return {
    type: 'range',
    lower,
    upper,
    lowerOpen: getOwn(range, 'lowerOpen') === true,
    upperOpen: getOwn(range, 'upperOpen') === true,
  }
}

function readBound(range: WireObject, name: 'lower' | 'upper'): Key | undefined {
  const value = presentIn(range, name)
  if (value === undefined) return undefined
  const key = keyOfValue(value)
  if (key === undefined) throw refusal(`"${name}" of a range is no key`)
  return key
}

function isWithin(range: KeyRange, key: Key | undefined): boolean {
  // A value that cannot be a key is in no index.
  if (key === undefined || range.type === 'never') return false
  if (range.type === 'any') return true
  const { lower, upper, lowerOpen, upperOpen } = range
  if (lower !== undefined) {
    const order = compareKeys(key, lower)
    if (order < 0 || (order === 0 && lowerOpen)) return false
  }
  if (upper === undefined) return true
  const order = compareKeys(key, upper)
  return order < 0 || (order === 0 && !upperOpen)
}

function hasArrayBound(range: KeyRange): boolean {
  return range.type === 'range' && (range.lower?.type === ARRAY || range.upper?.type === ARRAY)
}

function isCompound(index: string): boolean {
  return index.startsWith('[') && index.endsWith(']')
}

/** Names are parsed once for all rows. */
function pathsOf(index: string): Path[] {
  const { indexCharacters, indexParts } = FIXED_LIMITS
  if (index.length > indexCharacters.most) {
    throw refusal(`an index name has at most ${mostOf(indexCharacters)}`)
  }
  if (!isNameText(index)) throw refusal('an index name is well-formed text without U+0000')
  if (!isCompound(index)) return [pathOfIndex(index)]
  const parts = index.slice(1, -1).split('+')
  if (parts.length > indexParts.most) throw refusal(`an index has at most ${mostOf(indexParts)}`)
  return parts.map(pathOfIndex)
}

function compoundOf(object: WireObject, paths: readonly Path[]): Key | undefined {
  const parts: Key[] = []
  for (const path of paths) {
    const part = keyOfValue(valueAt(object, path))
    if (part === undefined) return undefined
    parts.push(part)
  }
  return { type: ARRAY, value: parts }
}

/** Compound keys are stored as compact JSON (protocol.md §10.3). */
function primaryKey(key: string): Key | undefined {
  return keyOfValue(key.startsWith('[') && key.endsWith(']') ? (JSON.parse(key) as unknown) : key)
}

function refusal(problem: string): SatchelError {
  return unprocessable(`The criteria cannot be evaluated: ${problem}`, 'criteria')
}

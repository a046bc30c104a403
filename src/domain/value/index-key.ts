import { BINARY_TYPES } from './typed-value'
import type { Index } from './schema'
import { timeOfDate, timeOfIsoText } from './time'
import { propertyAt } from './property'

/** Longer keys are cut here: they keep their order, but equal keys may be of different values. */
export const MAX_KEY_BYTES = 1024

/** True when a key may have been cut, so that the rows it finds must be compared again. */
export function isCutKey(key: Uint8Array): boolean {
  return key.length >= MAX_KEY_BYTES
}

/**
 * The key of a canonical wire value: bytes in the order of the values, null < false < true <
 * number < Date < string (by UTF-16 units) < binary < array (design.md §3 `index_entries`).
 * Undefined for values without a place in it: other objects, invalid dates, arrays that hold such.
 */
export function encodeKey(value: unknown): Uint8Array | undefined {
  written = 0
  return writeValue(value, false) ? scratch.slice(0, Math.min(written, MAX_KEY_BYTES)) : undefined
}

/** The properties of an index that determine its keys. */
export type IndexShape = Pick<Index, 'paths' | 'multi' | 'compound'>

/** Equal elements of longer arrays are not looked for: others would have no turn meanwhile. */
const MOST_COMPARED = 20_000

/**
 * The values of an object that an index has keys for: none, one, or for `*` each element. Elements that
 * are equal texts or numbers are there once, unless there are very many.
 */
export function indexedValues(index: IndexShape, object: object): readonly unknown[] {
  if (index.compound) return [index.paths.map((path) => propertyAt(object, path))]
  const value = propertyAt(object, index.paths[0]!)
  if (value === undefined) return NOTHING
  if (!index.multi || !Array.isArray(value)) return [value]
  return value.length > MOST_COMPARED ? value : [...new Set<unknown>(value)]
}

/**
 * The key of one of these values, if it has one. A plain index also has an array with elements that
 * have no place: behind all others, so that a search for an element finds it within `ARRAY_RANGE`.
 */
export function indexKey({ multi, compound }: IndexShape, value: unknown): Uint8Array | undefined {
  const isWhole = !multi && !compound && Array.isArray(value)
  return encodeKey(value) ?? (isWhole ? UNORDERED_ARRAY : undefined)
}

/**
 * True for a value whose key no other value has: a text that is longer may share its cut key with
 * another one.
 */
export function hasOwnKey(value: unknown): boolean {
  if (typeof value === 'string') return value.length < MAX_KEY_BYTES / BYTES_PER_UNIT
  return typeof value !== 'object' || value === null
}

const NOTHING: readonly unknown[] = []

/** The keys of all values that a filter text matches (design.md §6): arrays have `ARRAY_RANGE`. */
export function candidateKeys(text: string): Uint8Array[] {
  const candidates: unknown[] = [text]
  const number = Number(text)
  if (Number.isFinite(number) && JSON.stringify(number) === text) candidates.push(number)
  else if (text === 'true') candidates.push(true)
  else if (text === 'false') candidates.push(false)
  else if (text === 'null') candidates.push(null)
  else if (timeOfIsoText(text) !== undefined) candidates.push({ $t: 'Date', v: text })
  return candidates.map((candidate) => encodeKey(candidate)!)
}

// The terminator of arrays and of their elements is less than every tag and every unit.
const END = 0
const NULL = 1
const FALSE = 2
const TRUE = 3
const NUMBER = 4
const DATE = 5
const STRING = 6
const BINARY = 7
const ARRAY = 8

/** All keys of arrays: from `lower` to before `upper`. */
export const ARRAY_RANGE = {
  lower: Uint8Array.of(ARRAY),
  upper: Uint8Array.of(ARRAY + 1),
} as const

const UNORDERED_ARRAY = Uint8Array.of(ARRAY, 0xff)

/** Written over by every call; a number may reach beyond the limit before it is cut. */
const scratch = new Uint8Array(MAX_KEY_BYTES + 16)
const numbers = new DataView(scratch.buffer)
let written = 0

/** False when the value has no place in the order. Values beyond the limit are only checked. */
function writeValue(value: unknown, isElement: boolean): boolean {
  if (typeof value === 'string') return writeText(STRING, value, isElement)
  if (typeof value === 'number') return !Number.isNaN(value) && writeNumber(NUMBER, value)
  if (typeof value === 'boolean') return writeByte(value ? TRUE : FALSE)
  if (value === null) return writeByte(NULL)
  if (Array.isArray(value)) return writeArray(value)
  return typeof value === 'object' && writeTyped(value, isElement)
}

function writeArray(elements: readonly unknown[]): boolean {
  writeByte(ARRAY)
  return elements.every((element) => writeValue(element, true)) && writeByte(END)
}

function writeTyped(value: object, isElement: boolean): boolean {
  if (!Object.hasOwn(value, '$t') || !Object.hasOwn(value, 'v')) return false
  const { $t: type, v } = value as { $t: unknown; v: unknown }
  if (type === 'Date') {
    const time = timeOfDate(value)
    return time !== undefined && writeNumber(DATE, time)
  }
  if (type === 'number') {
    return (v === 'Infinity' || v === '-Infinity') && writeNumber(NUMBER, Number(v))
  }
  if (typeof type !== 'string' || typeof v !== 'string' || !BINARY_TYPES.has(type)) return false
  // b64lex sorts like the bytes it stands for (protocol.md §1.3).
  if (!B64LEX.test(v.length > MAX_KEY_BYTES ? v.slice(0, MAX_KEY_BYTES) : v)) return false
  return writeText(BINARY, v, isElement)
}

/** Always true, for the convenience of callers. */
function writeByte(byte: number): boolean {
  if (written < MAX_KEY_BYTES) scratch[written++] = byte
  return true
}

/** IEEE 754 with the sign bit inverted, and all other bits too when the number is negative. */
function writeNumber(tag: number, value: number): boolean {
  if (written >= MAX_KEY_BYTES) return true
  scratch[written] = tag
  // Adding 0 makes -0 the same as 0.
  numbers.setFloat64(written + 1, value + 0)
  const sign = scratch[written + 1]!
  if (sign < 0x80) scratch[written + 1] = sign + 0x80
  else for (let i = 1; i <= 8; i++) scratch[written + i]! ^= 0xff
  written += 9
  return true
}

/** The longest unit of a text, in bytes. */
const BYTES_PER_UNIT = 3

/**
 * UTF-16 units in one to three bytes, never beginning with the terminator: ASCII as one more
 * than it is, then 14 bits behind `10`, then 16 bits behind `11`.
 */
function writeText(tag: number, text: string, isElement: boolean): boolean {
  writeByte(tag)
  const length = text.length
  for (let i = 0; i < length && written < MAX_KEY_BYTES; i++) {
    const unit = text.charCodeAt(i)
    if (unit < 0x7f) {
      scratch[written++] = unit + 1
    } else if (unit < 0x407f) {
      const bits = unit - 0x7f
      scratch[written++] = 0x80 | (bits >> 8)
      scratch[written++] = bits & 0xff
    } else {
      scratch[written++] = 0xc0 | (unit >> 10)
      scratch[written++] = (unit >> 2) & 0xff
      scratch[written++] = (unit & 3) << 6
    }
  }
  return !isElement || writeByte(END)
}

/** Whole groups of four, then one or two bytes with padding and no bits left over. */
const B64LEX = /^(?:[\w|]{4})*(?:[\w|][0GWl]--|[\w|]{2}[048CGKOSW_dhlptx]-)?$/

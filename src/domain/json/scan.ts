import { SatchelError, invalidRequest, unprocessable } from '../value/error'
import {
  closingQuote,
  CLOSE_ARRAY,
  CLOSE_OBJECT,
  COMMA,
  OPEN_ARRAY,
  OPEN_OBJECT,
  QUOTE,
  isSpace,
} from './bytes'
import { findJsonFault } from './syntax'
import type { Unexpected } from './token'
import { describePosition, positionAt, type Position } from '../value/position'

/** How much JSON a text may hold (design.md §6). */
export interface JsonLimits {
  /** How many containers may lie within each other. */
  readonly depth: number
  /** How many values there may be, containers included, keys not. */
  readonly values: number
  /** How many properties an object may have; any number unless given. */
  readonly properties?: number
}

/** The default limits of a body. */
export const JSON_LIMITS: JsonLimits = { depth: 64, values: 1_000_000 }

/**
 * Refuses JSON that is too deep or has too many values, as soon as that is seen, so that nothing
 * is built for it (promise 29). Looks at strings, brackets and commas only: invalid JSON
 * passes, for `JSON.parse` to refuse. Returns the number of values; throws `UNPROCESSABLE`.
 */
export function scanJson(bytes: Uint8Array, limits: JsonLimits): number {
  const scan = new JsonScan(bytes, limits)
  scan.advance(bytes.length)
  return scan.values
}

/** `scanJson` in steps. */
export class JsonScan {
  values = 1
  /** The offsets of the containers that are longer than `largeBytes`, or that never end. */
  get large(): ReadonlySet<number> {
    return this.#large ?? NONE
  }
  #large: Set<number> | undefined = undefined
  #at = 0
  #depth = 0
  /** Of the open containers: their offsets, and their properties or -1 for an array. */
  readonly #starts: number[] = []
  readonly #properties: number[] = []

  constructor(
    readonly bytes: Uint8Array,
    readonly limits: JsonLimits,
    readonly largeBytes = Infinity,
  ) {}

  /** Scans up to about this offset; false when the scan is over. Throws `UNPROCESSABLE`. */
  advance(until: number): boolean {
    const { bytes, limits } = this
    const most = limits.properties ?? Infinity
    const starts = this.#starts
    const properties = this.#properties
    const end = Math.min(until, bytes.length)
    let depth = this.#depth
    let values = this.values
    let at = this.#at
    for (; at < end; at++) {
      const byte = bytes[at]!
      if (byte === QUOTE) {
        at = closingQuote(bytes, at + 1)
        if (at < 0) break
      } else if (byte === COMMA) {
        if (++values > limits.values) throw tooManyValues(limits)
        if (properties[depth]! >= 0 && ++properties[depth]! >= most) throw tooManyProperties(most)
      } else if (byte === OPEN_ARRAY || byte === OPEN_OBJECT) {
        if (++depth > limits.depth) throw tooDeep(limits)
        starts[depth] = at
        properties[depth] = byte === OPEN_OBJECT ? 0 : -1
        at = lastSpace(bytes, at)
        const next = bytes[at + 1]
        if (next !== CLOSE_ARRAY && next !== CLOSE_OBJECT && ++values > limits.values) {
          throw tooManyValues(limits)
        }
      } else if (byte === CLOSE_ARRAY || byte === CLOSE_OBJECT) {
        if (depth > 0 && at - starts[depth]! > this.largeBytes) this.#addLarge(starts[depth]!)
        if (--depth < 0) break
      }
    }
    this.values = values
    this.#at = at
    this.#depth = depth
    if (at >= 0 && depth >= 0 && at < bytes.length) return true
    for (; depth > 0; depth--) {
      if (bytes.length - starts[depth]! > this.largeBytes) this.#addLarge(starts[depth]!)
    }
    return false
  }

  #addLarge(offset: number): void {
    this.#large ??= new Set()
    this.#large.add(offset)
  }
}

const NONE: ReadonlySet<number> = new Set()

export interface JsonSource {
  /** The name of the text in a refusal. */
  readonly name: string
  /** Where the text begins in something greater. */
  readonly start?: Position
}

/**
 * Scans, decodes and parses. Malformed UTF-8 and JSON throw `INVALID_REQUEST` with line and column
 * and nothing of the content; JSON beyond `limits` throws `UNPROCESSABLE`.
 */
export function parseJson(
  input: Uint8Array | string,
  limits: JsonLimits,
  source: JsonSource = { name: 'The body' },
): unknown {
  scanJson(typeof input === 'string' ? Buffer.from(input) : input, limits)
  return parseScanned(input, source)
}

/** Parses a text that `scanJson` has let pass. */
export function parseScanned(
  input: Uint8Array | string,
  source: JsonSource = { name: 'The body' },
): unknown {
  const text = typeof input === 'string' ? input : decodeUtf8(input, source)
  try {
    return JSON.parse(text) as unknown
  } catch {
    const { offset, expected } = findJsonFault(text) ?? SECOND_MARK
    throw notJson(source.name, { expected, position: positionAt(text, offset, source.start) })
  }
}

/** The reader of faults skips a byte order mark, also one that follows another or stands in a decoded text. */
const SECOND_MARK = { offset: 0, expected: 'a value' }

/** Decodes strictly; a byte order mark is dropped. Throws `INVALID_REQUEST`. */
export function decodeUtf8(bytes: Uint8Array, { name, start }: JsonSource): string {
  try {
    return UTF8.decode(bytes)
  } catch {
    const where = start === undefined ? '' : ` in what begins at ${describePosition(start)}`
    throw invalidRequest(`${name} is not well-formed UTF-8${where}`)
  }
}

const UTF8 = new TextDecoder('utf-8', { fatal: true })

/** The last byte of the space that follows `at`, or `at` where there is none. */
function lastSpace(bytes: Uint8Array, at: number): number {
  let last = at
  for (;;) {
    const next = bytes[last + 1]
    if (!isSpace(next)) return last
    last++
  }
}

function tooDeep(limits: JsonLimits): SatchelError {
  return unprocessable(`JSON may not nest deeper than ${limits.depth} levels`)
}

export function tooManyValues(limits: JsonLimits): SatchelError {
  return unprocessable(`JSON may not hold more than ${limits.values} values`)
}

function tooManyProperties(most: number): SatchelError {
  return unprocessable(
    `An object may have ${most} properties: split it, import a file with satchel import, or change the setting maxProperties`,
    'maxProperties',
  )
}

/** The refusal of a text that is not JSON. */
export function notJson(
  name: string,
  { expected, position }: Pick<Unexpected, 'expected' | 'position'>,
): SatchelError {
  const place = describePosition(position)
  return invalidRequest(`${name} is not valid JSON: ${expected} is expected at ${place}`)
}

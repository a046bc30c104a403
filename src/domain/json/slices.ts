import { SatchelError } from '../value/error'
import { positionAt } from '../value/position'
import { nextTurn } from '../value/turn'
import { setOwn, type WireObject } from '../value/value'
import {
  CLOSE_ARRAY,
  CLOSE_OBJECT,
  closingQuote,
  COLON,
  COMMA,
  OPEN_ARRAY,
  OPEN_OBJECT,
  QUOTE,
  isSpace,
} from './bytes'
import {
  decodeUtf8,
  type JsonLimits,
  JsonScan,
  type JsonSource,
  notJson,
  parseScanned,
} from './scan'
import { findJsonFault } from './syntax'

/** About the bytes of a slice that is parsed at once; others get a turn between two slices. */
export const SLICE = 128 * 1024
/** The scan is that much faster than the parser. */
const SCAN_SLICE = 8 * SLICE

/** JSON that was scanned and can be parsed in slices. */
export interface SlicedJson {
  /** How many values it has. */
  readonly values: number
  /** Parses as `parseScanned`, and throws the same. */
  parse(): Promise<unknown>
}

/** Scans as `scanJson`, in slices; `giveWay` is called between two. Throws `UNPROCESSABLE`. */
export async function scanInSlices(
  bytes: Uint8Array,
  limits: JsonLimits,
  slice = SLICE,
  giveWay: () => Promise<void> | void = nextTurn,
  source: JsonSource = SOURCE,
): Promise<SlicedJson> {
  const scan = new JsonScan(bytes, limits, slice)
  const step = slice * (SCAN_SLICE / SLICE)
  for (let until = step; scan.advance(until); until += step) await giveWay()
  const parse = () => parseInSlices(bytes, scan.large, slice, giveWay, source)
  return { values: scan.values, parse }
}

const SOURCE: JsonSource = { name: 'The body' }

/**
 * Containers in `large` are read here: runs of their smaller members are left to `JSON.parse`, so
 * that no call parses much more than a slice, except for one long string or number.
 */
async function parseInSlices(
  bytes: Uint8Array,
  large: ReadonlySet<number>,
  slice: number,
  nextSlice: () => Promise<void> | void,
  source: JsonSource,
): Promise<unknown> {
  const { length } = bytes
  let parsed = 0
  const root = skipSpace(bytes, markLength(bytes))
  if (!large.has(root)) return parseScanned(bytes, source)
  const { value, end } = await readLarge(root)
  const rest = skipSpace(bytes, end)
  if (rest < length) throw fault('', rest, rest, 'the end')
  return value

  async function readLarge(start: number): Promise<{ value: unknown; end: number }> {
    const isArray = bytes[start] === OPEN_ARRAY
    const list: unknown[] = []
    const object: WireObject = {}
    /** Where the present run and its last member begin, and the text that would precede the run. */
    let from = start + 1
    let member = from
    let before = isArray ? '[' : '{'

    const begin = (at: number) => {
      from = member = at
      before = isArray ? '[0,' : '{"":0,'
    }
    const refuse = (until: number) => fault(before, from, Math.min(until, length))

    /** Adds the members between `from` and `end`, of which there is at least one. */
    const add = (end: number) => {
      const text = decodeUtf8(bytes.subarray(from, end), source)
      let members: unknown
      try {
        members = JSON.parse(isArray ? `[${text}]` : `{${text}}`)
      } catch {
        throw refuse(end + 1)
      }
      if (isArray) for (const element of members as unknown[]) list.push(element)
      else {
        const properties = members as WireObject
        for (const name of Object.keys(properties)) setOwn(object, name, properties[name])
      }
      parsed += end - from
    }

    for (let at = from; at < length; at++) {
      const byte = bytes[at]!
      if (byte === QUOTE) {
        at = closingQuote(bytes, at + 1)
        if (at < 0) break
      } else if (byte === COMMA) {
        member = at + 1
        if (at - from < slice) continue
        if (skipSpace(bytes, from) === at) throw refuse(at + 1)
        add(at)
        begin(at + 1)
        if (parsed >= slice) await giveWay()
      } else if (byte === CLOSE_ARRAY || byte === CLOSE_OBJECT) {
        if ((byte === CLOSE_ARRAY) !== isArray) throw refuse(at + 1)
        const isBlank = skipSpace(bytes, from) === at
        if (isBlank && before.length > 1) throw refuse(at + 1)
        if (!isBlank) add(at)
        return { value: isArray ? list : object, end: at + 1 }
      } else if (byte === OPEN_ARRAY || byte === OPEN_OBJECT) {
        if (!large.has(at)) {
          at = closerOf(bytes, at)
          continue
        }
        const key = isArray ? undefined : keyBetween(member, at)
        if (isArray ? skipSpace(bytes, member) !== at : key === undefined) throw refuse(at + 1)
        if (member > from) {
          if (skipSpace(bytes, from) === member - 1) throw refuse(member)
          add(member - 1)
        }
        const child = await readLarge(at)
        if (key === undefined) list.push(child.value)
        else setOwn(object, key, child.value)
        if (parsed >= slice) await giveWay()
        at = skipSpace(bytes, child.end)
        const closer = isArray ? CLOSE_ARRAY : CLOSE_OBJECT
        if (bytes[at] === closer) return { value: isArray ? list : object, end: at + 1 }
        if (bytes[at] !== COMMA) {
          throw fault('', at, at, `a comma or "${isArray ? ']' : '}'}"`)
        }
        begin(at + 1)
      }
    }
    throw refuse(length)
  }

  /** The key of a large value, whose text and colon are all that is between; otherwise undefined. */
  function keyBetween(from: number, to: number): string | undefined {
    const start = skipSpace(bytes, from)
    const quote = bytes[start] === QUOTE ? closingQuote(bytes, start + 1) : -1
    if (quote < 0 || quote >= to) return undefined
    const colon = skipSpace(bytes, quote + 1)
    if (bytes[colon] !== COLON || skipSpace(bytes, colon + 1) !== to) return undefined
    const text = decodeUtf8(bytes.subarray(start, quote + 1), source)
    try {
      return JSON.parse(text) as string
    } catch {
      return undefined
    }
  }

  async function giveWay(): Promise<void> {
    parsed = 0
    await nextSlice()
  }

  /**
   * The error for the bytes from `from` to `until`, the first of which are right; `before` stands for
   * what precedes them. With `expected` the first byte is wrong.
   */
  function fault(before: string, from: number, until: number, expected?: string): SatchelError {
    const text = before + decodeUtf8(bytes.subarray(from, until), source)
    const found = expected === undefined ? findJsonFault(text) : { offset: 0, expected }
    if (found === undefined) throw new Error('the text is valid')
    const preceding = LENIENT_UTF8.decode(bytes.subarray(0, from))
    const begin = positionAt(preceding, preceding.length, source.start)
    const position = positionAt(text.slice(before.length), found.offset - before.length, begin)
    return notJson(source.name, { expected: found.expected, position })
  }
}

const LENIENT_UTF8 = new TextDecoder()

/** The length of a byte order mark at the beginning, or 0. */
function markLength(bytes: Uint8Array): number {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0
}

function skipSpace(bytes: Uint8Array, from: number): number {
  for (let at = from; ; at++) {
    const byte = bytes[at]
    if (!isSpace(byte)) return at
  }
}

/** The offset of the bracket that closes the one at `start`, or the end of the bytes. */
function closerOf(bytes: Uint8Array, start: number): number {
  let depth = 0
  for (let at = start; at < bytes.length; at++) {
    const byte = bytes[at]!
    if (byte === QUOTE) {
      at = closingQuote(bytes, at + 1)
      if (at < 0) break
    } else if (byte === OPEN_ARRAY || byte === OPEN_OBJECT) depth++
    else if ((byte === CLOSE_ARRAY || byte === CLOSE_OBJECT) && --depth === 0) return at
  }
  return bytes.length
}

import { BACKSLASH, QUOTE, SPACE } from './bytes'
import { createTokenizer, Unexpected } from './token'

/** The first position at which a text is not JSON, and the syntax expected there. */
export interface JsonFault {
  readonly offset: number
  readonly expected: string
}

export interface JsonVisitor {
  /** Called for every value inside a container: its path, and where it and its key begin. */
  value(path: readonly string[], start: number, keyStart: number): void
}

/**
 * Reads a text by the letter of RFC 8259, without recursion, and returns where it fails, or
 * undefined when it is JSON. Slower than `JSON.parse`, and used only to find places.
 */
export function findJsonFault(text: string, visitor?: JsonVisitor): JsonFault | undefined {
  const bytes = Buffer.from(text)
  const unitsAt = createUnitCounter(bytes, text)
  const tokenizer = createTokenizer({
    enters: () => true,
    key(key, { offset }) {
      requireScalar(bytes, offset, offset + key.length)
      if (visitor === undefined) return ''
      return JSON.parse(bytes.toString('utf8', offset, offset + key.length)) as string
    },
    part: (_path, { length }, { offset }) => requireScalar(bytes, offset, offset + length),
    value(path, start, keyStart) {
      if (visitor === undefined || path.length === 0) return
      const keyAt = unitsAt(keyStart)
      visitor.value(path, unitsAt(start), keyAt)
    },
  })
  try {
    tokenizer.write(bytes)
    tokenizer.end()
    return undefined
  } catch (fault) {
    if (!(fault instanceof Unexpected)) throw fault
    return { offset: bytes.toString('utf8', 0, fault.offset).length, expected: fault.expected }
  }
}

/** Gives the UTF-16 units before offsets in bytes, which never become smaller. */
function createUnitCounter(bytes: Buffer, text: string): (offset: number) => number {
  if (bytes.length === text.length) return (offset) => offset
  let at = 0
  let units = 0
  return (offset) => {
    units += bytes.toString('utf8', at, offset).length
    at = offset
    return units
  }
}

/** Throws `Unexpected` unless the bytes from `start` to `end` are a string, a number or a word. */
function requireScalar(bytes: Buffer, start: number, end: number): void {
  if (bytes[start] !== QUOTE) {
    if (SCALAR.test(bytes.toString('latin1', start, end))) return
    throw new Unexpected(start, 'a value')
  }
  for (let at = start + 1; at < end - 1; at++) {
    const byte = bytes[at]!
    if (byte < SPACE) throw new Unexpected(at, 'an escaped control character')
    if (byte !== BACKSLASH) continue
    if (!ESCAPE.test(bytes.toString('latin1', at, Math.min(end, at + 6)))) {
      throw new Unexpected(at, 'a valid escape')
    }
    at++
  }
}

const SCALAR = /^(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)$/
const ESCAPE = /^\\(?:["\\/bfnrt]|u[\da-fA-F]{4})/

/** The offset in `text` of character `index` of the string literal that begins at `start`. */
export function offsetInString(text: string, start: number, index: number): number {
  let offset = start + 1
  for (let i = 0; i < index; i++) {
    if (text[offset] === '\\') offset += text[offset + 1] === 'u' ? 6 : 2
    else offset++
  }
  return offset
}

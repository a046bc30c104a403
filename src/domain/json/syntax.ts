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
 * undefined when it is JSON. Slow beside `JSON.parse`: for finding places, not for parsing.
 */
export function findJsonFault(text: string, visitor?: JsonVisitor): JsonFault | undefined {
  try {
    readDocument(text, visitor)
    return undefined
  } catch (fault) {
    if (fault instanceof Unexpected) return { offset: fault.offset, expected: fault.message }
    throw fault
  }
}

/** The offset in `text` of character `index` of the string literal that begins at `start`. */
export function offsetInString(text: string, start: number, index: number): number {
  let offset = start + 1
  for (let i = 0; i < index; i++) {
    if (text[offset] === '\\') offset += text[offset + 1] === 'u' ? 6 : 2
    else offset++
  }
  return offset
}

class Unexpected extends Error {
  constructor(
    readonly offset: number,
    expected: string,
  ) {
    super(expected)
  }
}

interface Level {
  readonly isArray: boolean
  /** Members begun so far. */
  count: number
}

function readDocument(text: string, visitor: JsonVisitor | undefined): void {
  const levels: Level[] = []
  const path: string[] = []
  let at = skipSpace(text, 0)
  for (;;) {
    const opener = text[at]
    if (opener === '[' || opener === '{') {
      levels.push({ isArray: opener === '[', count: 0 })
      path.push('')
      at = skipSpace(text, at + 1)
    } else {
      at = skipSpace(text, scalarEnd(text, at))
    }
    at = nextValue(text, at, levels, path, visitor)
    if (levels.length === 0) break
  }
  if (at < text.length) throw new Unexpected(at, 'the end')
}

/** Leaves what ends here and goes on to the next value; the levels are empty at the end. */
function nextValue(
  text: string,
  from: number,
  levels: Level[],
  path: string[],
  visitor: JsonVisitor | undefined,
): number {
  let at = from
  for (let level = levels.at(-1); level !== undefined; level = levels.at(-1)) {
    const closer = level.isArray ? ']' : '}'
    if (text[at] !== closer) {
      if (level.count > 0) at = expectComma(text, at, closer)
      const keyStart = at
      if (!level.isArray) at = keyEnd(text, at, level.count === 0)
      path[path.length - 1] = level.isArray
        ? String(level.count)
        : (JSON.parse(text.slice(keyStart, stringEnd(text, keyStart))) as string)
      level.count++
      visitor?.value(path, at, keyStart)
      return at
    }
    levels.pop()
    path.pop()
    at = skipSpace(text, at + 1)
  }
  return at
}

function expectComma(text: string, at: number, closer: string): number {
  if (text[at] !== ',') throw new Unexpected(at, `a comma or "${closer}"`)
  return skipSpace(text, at + 1)
}

/** Passes a key and its colon. */
function keyEnd(text: string, from: number, isFirst: boolean): number {
  if (text[from] !== '"') {
    throw new Unexpected(from, isFirst ? 'a key in double quotes or "}"' : 'a key in double quotes')
  }
  const at = skipSpace(text, stringEnd(text, from))
  if (text[at] !== ':') throw new Unexpected(at, 'a colon')
  return skipSpace(text, at + 1)
}

function scalarEnd(text: string, at: number): number {
  if (text[at] === '"') return stringEnd(text, at)
  SCALAR.lastIndex = at
  if (!SCALAR.test(text)) throw new Unexpected(at, 'a value')
  return SCALAR.lastIndex
}

function stringEnd(text: string, start: number): number {
  let at = start + 1
  for (;;) {
    const unit = text.charCodeAt(at)
    if (unit === 0x22) return at + 1
    if (unit === 0x5c) {
      ESCAPE.lastIndex = at
      if (!ESCAPE.test(text)) throw new Unexpected(at, 'a valid escape')
      at = ESCAPE.lastIndex
    } else if (unit >= 0x20) {
      at++
    } else {
      throw new Unexpected(at, at < text.length ? 'an escaped control character' : 'a double quote')
    }
  }
}

function skipSpace(text: string, from: number): number {
  SPACE.lastIndex = from
  SPACE.test(text)
  return SPACE.lastIndex
}

const SCALAR = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y
const ESCAPE = /\\(?:["\\/bfnrt]|u[\da-fA-F]{4})/y
const SPACE = /[ \t\n\r]*/y

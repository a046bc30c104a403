import { SatchelError } from '../error'
import {
  closingQuote,
  isEscaped,
  CLOSE_ARRAY,
  CLOSE_OBJECT,
  COLON,
  COMMA,
  NEWLINE,
  OPEN_ARRAY,
  OPEN_OBJECT,
  QUOTE,
  RETURN,
  SPACE,
  TAB,
} from './bytes'
import { decodeUtf8, parseJson } from './scan'
import type { Position } from './syntax'

/** A value of a JSON file, not parsed yet, and the line and column (in bytes) it begins at. */
export interface JsonPart extends Position {
  /** Keys and positions that lead to it. */
  readonly path: readonly string[]
  readonly text: string
}

export interface SplitRules {
  /** What the file is called in a refusal. */
  readonly name: string
  /** Whether to split the container at `path`, which is only lent; if not, it comes whole. */
  enters(path: readonly string[], kind: 'array' | 'object'): boolean
  /** The greatest part, in bytes; 16 MiB unless given. */
  readonly maxBytes?: number
}

/**
 * Splits a JSON file of any size into parts, in constant memory: an import file (protocol.md §9.4)
 * into its objects, an array into its elements. Containers it enters are read to the letter, parts
 * only as far as their end: `parseJson` is for them. Throws `INVALID_REQUEST` with line and column,
 * `PAYLOAD_TOO_LARGE` for a part that is too great.
 */
export async function* splitJson(
  source: AsyncIterable<Uint8Array>,
  rules: SplitRules,
): AsyncGenerator<JsonPart, void, undefined> {
  const splitter = createSplitter(rules)
  for await (const chunk of source) {
    for (const part of splitter.write(chunk)) yield part
  }
  for (const part of splitter.end()) yield part
}

/** Where in the containers it has entered the splitter stands. */
type State = 'value' | 'value or ]' | 'key' | 'key or }' | 'colon' | 'comma or closer' | 'end'

/** A key or a part whose end has not been seen. */
interface Token extends Position {
  readonly isKey: boolean
  /** A number or word, which ends before the next delimiter instead of with its own. */
  readonly isBare: boolean
  /** Brackets open within it. */
  depth: number
  inString: boolean
  /** The next byte stands behind a backslash. */
  escaped: boolean
  /** What earlier chunks held of it. */
  readonly pieces: Uint8Array[]
  size: number
}

function createSplitter(rules: SplitRules) {
  const maxBytes = rules.maxBytes ?? 16 * 2 ** 20
  const levels: { readonly isArray: boolean; count: number }[] = []
  const path: string[] = []
  let state: State = 'value'
  let token: Token | undefined
  let parts: JsonPart[] = []
  let line = 1
  /** Where the line began, from the start of the present chunk: negative for earlier ones. */
  let lineStart = 0
  /** How many bytes of a byte order mark were read. */
  let marks = 0

  function write(chunk: Uint8Array): JsonPart[] {
    parts = []
    if (chunk.length === 0) return parts
    let at = token === undefined ? 0 : readToken(token, chunk, 0, 0)
    while (at < chunk.length) at = readStructure(chunk, at)
    lineStart -= chunk.length
    return parts
  }

  function end(): JsonPart[] {
    parts = []
    if (token?.isBare === true) finish(token, new Uint8Array())
    if (token !== undefined)
      throw unexpected(0, token.inString ? 'a double quote' : 'a closing bracket')
    if (state !== 'end') throw unexpected(0)
    return parts
  }

  /** Reads the byte at `at`, or the token that begins there; returns where to go on. */
  function readStructure(chunk: Uint8Array, at: number): number {
    const byte = chunk[at]!
    switch (byte) {
      case NEWLINE:
        line++
        lineStart = at + 1
        return at + 1
      case SPACE:
      case TAB:
      case RETURN:
        return at + 1
      case COMMA:
        if (state !== 'comma or closer') throw unexpected(at)
        state = levels.at(-1)!.isArray ? 'value' : 'key'
        return at + 1
      case COLON:
        if (state !== 'colon') throw unexpected(at)
        state = 'value'
        return at + 1
      case CLOSE_ARRAY:
      case CLOSE_OBJECT:
        leave(at, byte === CLOSE_ARRAY)
        return at + 1
      default:
        if (byte === QUOTE && (state === 'key' || state === 'key or }')) {
          return readToken(beginToken(at, byte, true), chunk, at, at + 1)
        }
        return isMark(byte, at) ? at + 1 : readValue(chunk, at, byte)
    }
  }

  function readValue(chunk: Uint8Array, at: number, byte: number): number {
    if (state !== 'value' && state !== 'value or ]') throw unexpected(at)
    const level = levels.at(-1)
    if (level?.isArray === true) path[path.length - 1] = String(level.count++)
    if (byte === OPEN_ARRAY || byte === OPEN_OBJECT) {
      const isArray = byte === OPEN_ARRAY
      if (rules.enters(path, isArray ? 'array' : 'object')) {
        levels.push({ isArray, count: 0 })
        path.push('')
        state = isArray ? 'value or ]' : 'key or }'
        return at + 1
      }
    }
    return readToken(beginToken(at, byte, false), chunk, at, at + 1)
  }

  function leave(at: number, isArray: boolean): void {
    const level = levels.at(-1)
    const mayClose = state === 'comma or closer' || state === (isArray ? 'value or ]' : 'key or }')
    if (!mayClose || level?.isArray !== isArray) throw unexpected(at)
    levels.pop()
    path.pop()
    state = levels.length === 0 ? 'end' : 'comma or closer'
  }

  function beginToken(at: number, byte: number, isKey: boolean): Token {
    const inString = byte === QUOTE
    const depth = byte === OPEN_ARRAY || byte === OPEN_OBJECT ? 1 : 0
    const isBare = !inString && depth === 0
    const place = { line, column: at - lineStart + 1 }
    token = { ...place, isKey, isBare, depth, inString, escaped: false, pieces: [], size: 0 }
    return token
  }

  /** Goes on with a token that began, or was left off, at `start`; returns where to go on. */
  function readToken(token: Token, chunk: Uint8Array, start: number, from: number): number {
    const found = token.isBare ? bareEnd(chunk, from) : tokenEnd(token, chunk, from)
    const end = found < 0 ? chunk.length : found
    token.size += end - start
    if (token.size > maxBytes) throw tooLarge(token)
    if (found < 0) token.pieces.push(chunk.slice(start))
    else finish(token, chunk.subarray(start, end))
    return end
  }

  /** Where a string or container ends, or -1 when the chunk ends before it. */
  function tokenEnd(token: Token, chunk: Uint8Array, from: number): number {
    let { depth } = token
    let at = from
    if (token.inString) {
      at = stringEnd(token, chunk, at)
      if (at < 0 || depth === 0) return at
    }
    for (; at < chunk.length; at++) {
      const byte = chunk[at]!
      if (byte === QUOTE) {
        const quote = closingQuote(chunk, at + 1)
        if (quote < 0) {
          token.depth = depth
          return stringEnd(token, chunk, at + 1)
        }
        at = quote
      } else if (byte === NEWLINE) {
        line++
        lineStart = at + 1
      } else if (byte === OPEN_ARRAY || byte === OPEN_OBJECT) {
        depth++
      } else if ((byte === CLOSE_ARRAY || byte === CLOSE_OBJECT) && --depth === 0) {
        return at + 1
      }
    }
    token.depth = depth
    return -1
  }

  function finish(done: Token, last: Uint8Array): void {
    token = undefined
    const bytes = done.pieces.length === 0 ? last : Buffer.concat([...done.pieces, last])
    const source = { name: rules.name, start: done }
    if (done.isKey) {
      path[path.length - 1] = parseJson(bytes, KEY_LIMITS, source) as string
      state = 'colon'
    } else {
      const text = decodeUtf8(bytes, source)
      parts.push({ path: path.slice(), text, line: done.line, column: done.column })
      state = levels.length === 0 ? 'end' : 'comma or closer'
    }
  }

  /** Passes over a byte order mark before everything else, in whatever chunks it comes. */
  function isMark(byte: number, at: number): boolean {
    const isNext = byte === BYTE_ORDER_MARK[marks] && line === 1 && at === lineStart
    if (isNext) {
      marks++
      lineStart++
    }
    return isNext
  }

  /** The refusal of what stands at `at`. */
  function unexpected(at: number, expected = expectation()): SatchelError {
    const place = `line ${line}, column ${at - lineStart + 1}`
    return new SatchelError(
      'INVALID_REQUEST',
      `${rules.name} is not valid JSON: ${expected} is expected at ${place}`,
    )
  }

  function expectation(): string {
    if (state !== 'comma or closer') return EXPECTATIONS[state]
    return levels.at(-1)!.isArray ? 'a comma or "]"' : 'a comma or "}"'
  }

  function tooLarge(token: Token): SatchelError {
    return new SatchelError(
      'PAYLOAD_TOO_LARGE',
      `${rules.name} has a value of more than ${maxBytes} bytes at line ${token.line}, column ${token.column}`,
    )
  }

  return { write, end }
}

/** Goes on in a string; -1 when the chunk ends before it, which the token remembers. */
function stringEnd(token: Token, chunk: Uint8Array, from: number): number {
  const start = token.escaped ? from + 1 : from
  const quote = closingQuote(chunk, start)
  token.inString = quote < 0
  token.escaped = quote < 0 && isEscaped(chunk, start, chunk.length)
  return quote < 0 ? -1 : quote + 1
}

function bareEnd(chunk: Uint8Array, from: number): number {
  for (let at = from; at < chunk.length; at++) {
    if (DELIMITERS.has(chunk[at]!)) return at
  }
  return -1
}

const DELIMITERS: ReadonlySet<number> = new Set(Buffer.from('\t\n\r ",:[]{}'))
const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf]
const KEY_LIMITS = { depth: 0, values: 1 }

const EXPECTATIONS: Readonly<Record<Exclude<State, 'comma or closer'>, string>> = {
  value: 'a value',
  'value or ]': 'a value or "]"',
  key: 'a key in double quotes',
  'key or }': 'a key in double quotes or "}"',
  colon: 'a colon',
  end: 'the end',
}

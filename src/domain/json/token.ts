import {
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
  closingQuote,
  isEscaped,
} from './bytes'
import type { Position } from '../value/position'

/** What a tokenizer calls; paths are only lent. */
export interface TokenHandlers {
  /** Whether to read the container at `path` value by value; otherwise it is one part. */
  enters(path: readonly string[], kind: 'array' | 'object'): boolean
  /** Called when a container that was entered ends. */
  leaves?(): void
  /** Whether the bytes of a part are kept until its end; otherwise `part` gets none of them. */
  keeps?(path: readonly string[]): boolean
  /** The text of a key from its bytes, quotes included. */
  key(bytes: Uint8Array, token: Token): string
  /** A scalar, or a container that is not entered. */
  part(path: readonly string[], bytes: Uint8Array, token: Token): void
  /** Called for every value: where it and its key begin, or only it. */
  value?(path: readonly string[], start: number, keyStart: number): void
  /**
   * Called while a key or a part is read; an error it throws ends the reading. It may set `pieces` to
   * undefined: then the bytes of the token are not kept.
   */
  grown?(token: Token): void
}

/** The first position at which bytes are not JSON, and the syntax expected there. */
export class Unexpected extends Error {
  constructor(
    /** In bytes. */
    readonly offset: number,
    readonly expected: string,
    readonly position: Position = { line: 1, column: offset + 1 },
  ) {
    super(expected)
  }
}

/** Where the tokenizer stands in the containers that it has entered. */
type State = 'value' | 'value or ]' | 'key' | 'key or }' | 'colon' | 'comma or closer' | 'end'

/**
 * Reads JSON chunk by chunk: containers that `enters` accepts by the letter of RFC 8259, everything
 * else only as far as its end. Offsets are in bytes, from the first chunk on. Throws `Unexpected`.
 */
export function createTokenizer(handlers: TokenHandlers) {
  const levels: { readonly isArray: boolean; count: number }[] = []
  const path: string[] = []
  let state: State = 'value'
  let token: Token | undefined
  const lines: Lines = { line: 1, start: 0 }
  /** How many bytes of a byte order mark were read. */
  let marks = 0
  /** The offset of the present chunk. */
  let base = 0
  let keyStart = 0

  function write(chunk: Uint8Array): void {
    if (chunk.length === 0) return
    let at = token === undefined ? 0 : readToken(token, chunk, 0, 0)
    while (at < chunk.length) at = readStructure(chunk, at)
    lines.start -= chunk.length
    base += chunk.length
  }

  function end(): void {
    if (token?.isBare === true) finish(token, new Uint8Array())
    if (token !== undefined)
      throw unexpected(0, token.inString ? 'a double quote' : 'a closing bracket')
    if (state !== 'end') throw unexpected(0)
  }

  /** Reads the byte at `at`, or the token that begins there; returns where to go on. */
  function readStructure(chunk: Uint8Array, at: number): number {
    const byte = chunk[at]!
    switch (byte) {
      case NEWLINE:
        newLine(lines, at)
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
          keyStart = base + at
          return readToken(begin(at, byte, true), chunk, at, at + 1)
        }
        return isMark(byte, at) ? at + 1 : readValue(chunk, at, byte)
    }
  }

  function readValue(chunk: Uint8Array, at: number, byte: number): number {
    if (state !== 'value' && state !== 'value or ]') throw unexpected(at)
    const level = levels.at(-1)
    if (level?.isArray === true) path[path.length - 1] = String(level.count++)
    const start = base + at
    handlers.value?.(path, start, level?.isArray === false ? keyStart : start)
    if (byte === OPEN_ARRAY || byte === OPEN_OBJECT) {
      const isArray = byte === OPEN_ARRAY
      if (handlers.enters(path, isArray ? 'array' : 'object')) {
        levels.push({ isArray, count: 0 })
        path.push('')
        state = isArray ? 'value or ]' : 'key or }'
        return at + 1
      }
    }
    const isKept = handlers.keeps?.(path) ?? true
    return readToken(begin(at, byte, false, isKept), chunk, at, at + 1)
  }

  function leave(at: number, isArray: boolean): void {
    const level = levels.at(-1)
    const mayClose = state === 'comma or closer' || state === (isArray ? 'value or ]' : 'key or }')
    if (!mayClose || level?.isArray !== isArray) throw unexpected(at)
    levels.pop()
    path.pop()
    handlers.leaves?.()
    state = levels.length === 0 ? 'end' : 'comma or closer'
  }

  function begin(at: number, byte: number, isKey: boolean, isKept = true): Token {
    token = beginToken(byte, isKey, base + at, positionOf(lines, at))
    if (!isKept) token.pieces = undefined
    return token
  }

  /** Goes on with a token that began, or was left off, at `start`; returns where to go on. */
  function readToken(token: Token, chunk: Uint8Array, start: number, from: number): number {
    const found = token.isBare ? bareEnd(chunk, from) : nestedEnd(token, chunk, from, lines)
    const end = found < 0 ? chunk.length : found
    token.size += end - start
    handlers.grown?.(token)
    // A copy: the slice of a `Buffer` would be a view of it.
    if (found < 0) token.pieces?.push(new Uint8Array(chunk.subarray(start)))
    else finish(token, token.pieces === undefined ? NOTHING : chunk.subarray(start, end))
    return end
  }

  function finish(done: Token, last: Uint8Array): void {
    token = undefined
    const { pieces = [] } = done
    const bytes = pieces.length === 0 ? last : Buffer.concat([...pieces, last])
    if (done.isKey) {
      path[path.length - 1] = handlers.key(bytes, done)
      state = 'colon'
    } else {
      handlers.part(path, bytes, done)
      state = levels.length === 0 ? 'end' : 'comma or closer'
    }
  }

  /** Skips a byte order mark at the beginning, in chunks of any size. */
  function isMark(byte: number, at: number): boolean {
    const isNext = byte === BYTE_ORDER_MARK[marks] && lines.line === 1 && at === lines.start
    if (isNext) {
      marks++
      lines.start++
    }
    return isNext
  }

  function unexpected(at: number, expected = expectation()): Unexpected {
    return new Unexpected(base + at, expected, positionOf(lines, at))
  }

  function expectation(): string {
    if (state !== 'comma or closer') return EXPECTATIONS[state]
    return levels.at(-1)!.isArray ? 'a comma or "]"' : 'a comma or "}"'
  }

  return { write, end }
}

const NOTHING = new Uint8Array()
const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf]

const EXPECTATIONS: Readonly<Record<Exclude<State, 'comma or closer'>, string>> = {
  value: 'a value',
  'value or ]': 'a value or "]"',
  key: 'a key in double quotes',
  'key or }': 'a key in double quotes or "}"',
  colon: 'a colon',
  end: 'the end',
}

/** The line that is being read. */
interface Lines {
  /** From 1. */
  line: number
  /** Where it began, from the start of the present chunk: negative for earlier ones. */
  start: number
}

function newLine(lines: Lines, at: number): void {
  lines.line++
  lines.start = at + 1
}

function positionOf({ line, start }: Lines, at: number): Position {
  return { line, column: at - start + 1 }
}

/** A key or a part whose end has not been seen. */
export interface Token extends Position {
  /** Where the first byte is. */
  readonly offset: number
  readonly isKey: boolean
  /** A number or word, which ends before the next delimiter instead of with its own. */
  readonly isBare: boolean
  /** Brackets open within it. */
  depth: number
  inString: boolean
  /** The next byte stands behind a backslash. */
  escaped: boolean
  /** The part of it in earlier chunks; undefined when it is not kept. */
  pieces: Uint8Array[] | undefined
  size: number
  /** Commas and opening brackets within it. */
  marks: number
}

function beginToken(byte: number, isKey: boolean, offset: number, position: Position): Token {
  const inString = byte === QUOTE
  const depth = byte === OPEN_ARRAY || byte === OPEN_OBJECT ? 1 : 0
  const isBare = !inString && depth === 0
  const rest = { inString, escaped: false, pieces: [], size: 0, marks: 0 }
  return { ...position, offset, isKey, isBare, depth, ...rest }
}

/** Goes on with a string or container at `from`: where it ends, or -1 when the chunk ends before it. */
function nestedEnd(token: Token, chunk: Uint8Array, from: number, lines: Lines): number {
  let { depth, marks } = token
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
        token.marks = marks
        return stringEnd(token, chunk, at + 1)
      }
      at = quote
    } else if (byte === NEWLINE) {
      newLine(lines, at)
    } else if (byte === COMMA) {
      marks++
    } else if (byte === OPEN_ARRAY || byte === OPEN_OBJECT) {
      depth++
      marks++
    } else if ((byte === CLOSE_ARRAY || byte === CLOSE_OBJECT) && --depth === 0) {
      token.marks = marks
      return at + 1
    }
  }
  token.depth = depth
  token.marks = marks
  return -1
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

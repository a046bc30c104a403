import { SatchelError } from '../value/error'
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
} from './bytes'
import { decodeUtf8, parseJson } from './scan'
import { beginToken, type Lines, newLine, positionOf, type Token, tokenEnd } from './token'
import { describePosition, type Position } from '../value/position'

/** A value of a JSON file, not parsed yet, and the line and column (in bytes) it begins at. */
export interface JsonPart extends Position {
  /** Keys and positions that lead to it. */
  readonly path: readonly string[]
  readonly text: string
}

export interface SplitRules {
  /** The name of the file in a refusal. */
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

function createSplitter(rules: SplitRules) {
  const maxBytes = rules.maxBytes ?? 16 * 2 ** 20
  const levels: { readonly isArray: boolean; count: number }[] = []
  const path: string[] = []
  let state: State = 'value'
  let token: Token | undefined
  let parts: JsonPart[] = []
  const lines: Lines = { line: 1, start: 0 }
  /** How many bytes of a byte order mark were read. */
  let marks = 0

  function write(chunk: Uint8Array): JsonPart[] {
    parts = []
    if (chunk.length === 0) return parts
    let at = token === undefined ? 0 : readToken(token, chunk, 0, 0)
    while (at < chunk.length) at = readStructure(chunk, at)
    lines.start -= chunk.length
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
          return readToken(begin(at, byte, true), chunk, at, at + 1)
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
    return readToken(begin(at, byte, false), chunk, at, at + 1)
  }

  function leave(at: number, isArray: boolean): void {
    const level = levels.at(-1)
    const mayClose = state === 'comma or closer' || state === (isArray ? 'value or ]' : 'key or }')
    if (!mayClose || level?.isArray !== isArray) throw unexpected(at)
    levels.pop()
    path.pop()
    state = levels.length === 0 ? 'end' : 'comma or closer'
  }

  function begin(at: number, byte: number, isKey: boolean): Token {
    token = beginToken(byte, isKey, positionOf(lines, at))
    return token
  }

  /** Goes on with a token that began, or was left off, at `start`; returns where to go on. */
  function readToken(token: Token, chunk: Uint8Array, start: number, from: number): number {
    const found = tokenEnd(token, chunk, from, lines)
    const end = found < 0 ? chunk.length : found
    token.size += end - start
    if (token.size > maxBytes) throw tooLarge(token)
    if (found < 0) token.pieces.push(chunk.slice(start))
    else finish(token, chunk.subarray(start, end))
    return end
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

  /** Skips a byte order mark at the beginning, in chunks of any size. */
  function isMark(byte: number, at: number): boolean {
    const isNext = byte === BYTE_ORDER_MARK[marks] && lines.line === 1 && at === lines.start
    if (isNext) {
      marks++
      lines.start++
    }
    return isNext
  }

  /** The refusal of the token at `at`. */
  function unexpected(at: number, expected = expectation()): SatchelError {
    const place = describePosition(positionOf(lines, at))
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
      `${rules.name} has a value of more than ${maxBytes} bytes at ${describePosition(token)}`,
    )
  }

  return { write, end }
}

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

import {
  closingQuote,
  isEscaped,
  CLOSE_ARRAY,
  CLOSE_OBJECT,
  NEWLINE,
  OPEN_ARRAY,
  OPEN_OBJECT,
  QUOTE,
} from './bytes'
import type { Position } from '../value/position'

/** The line that is being read. */
export interface Lines {
  /** From 1. */
  line: number
  /** Where it began, from the start of the present chunk: negative for earlier ones. */
  start: number
}

/** Goes on to the line behind the line break at `at`. */
export function newLine(lines: Lines, at: number): void {
  lines.line++
  lines.start = at + 1
}

export function positionOf({ line, start }: Lines, at: number): Position {
  return { line, column: at - start + 1 }
}

/** A key or a part whose end has not been seen. */
export interface Token extends Position {
  readonly isKey: boolean
  /** A number or word, which ends before the next delimiter instead of with its own. */
  readonly isBare: boolean
  /** Brackets open within it. */
  depth: number
  inString: boolean
  /** The next byte stands behind a backslash. */
  escaped: boolean
  /** The part of it in earlier chunks. */
  readonly pieces: Uint8Array[]
  size: number
}

/** The token whose first byte is `byte`. */
export function beginToken(byte: number, isKey: boolean, place: Position): Token {
  const inString = byte === QUOTE
  const depth = byte === OPEN_ARRAY || byte === OPEN_OBJECT ? 1 : 0
  const isBare = !inString && depth === 0
  return { ...place, isKey, isBare, depth, inString, escaped: false, pieces: [], size: 0 }
}

/** Goes on with a token at `from`: where it ends, or -1 when the chunk ends before it. */
export function tokenEnd(token: Token, chunk: Uint8Array, from: number, lines: Lines): number {
  return token.isBare ? bareEnd(chunk, from) : nestedEnd(token, chunk, from, lines)
}

function nestedEnd(token: Token, chunk: Uint8Array, from: number, lines: Lines): number {
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
      newLine(lines, at)
    } else if (byte === OPEN_ARRAY || byte === OPEN_OBJECT) {
      depth++
    } else if ((byte === CLOSE_ARRAY || byte === CLOSE_OBJECT) && --depth === 0) {
      return at + 1
    }
  }
  token.depth = depth
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

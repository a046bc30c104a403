/** The bytes that give JSON its structure. */
export const TAB = 0x09
export const NEWLINE = 0x0a
export const RETURN = 0x0d
export const SPACE = 0x20
export const QUOTE = 0x22
export const COMMA = 0x2c
export const COLON = 0x3a
export const OPEN_ARRAY = 0x5b
export const BACKSLASH = 0x5c
export const CLOSE_ARRAY = 0x5d
export const OPEN_OBJECT = 0x7b
export const CLOSE_OBJECT = 0x7d

/** True for the bytes between the tokens of JSON. */
export function isSpace(byte: number | undefined): boolean {
  return byte === SPACE || byte === NEWLINE || byte === RETURN || byte === TAB
}

/**
 * The index of the quote that closes a string, or -1 when the bytes end before it. `from` lies
 * inside the string, not behind a backslash.
 */
export function closingQuote(bytes: Uint8Array, from: number): number {
  const end = bytes.length
  let at = from
  for (;;) {
    // Most strings are short, and a call into the engine costs as much as some thirty bytes.
    const near = Math.min(end, at + 48)
    for (; at < near; at++) {
      const byte = bytes[at]!
      if (byte === QUOTE) return at
      if (byte === BACKSLASH) at++
    }
    if (at >= end) return -1
    const quote = bytes.indexOf(QUOTE, at)
    if (quote < 0 || !isEscaped(bytes, at, quote)) return quote
    at = quote + 1
  }
}

/** Whether an odd number of backslashes, none of them before `from`, ends just before `at`. */
export function isEscaped(bytes: Uint8Array, from: number, at: number): boolean {
  let first = at
  while (first > from && bytes[first - 1] === BACKSLASH) first--
  return (at - first) % 2 === 1
}

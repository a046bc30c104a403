import type { Steps } from '../parts/slices'

/** Shorter texts, in characters, are read at once: that takes a few milliseconds. */
export const LONG = 256 * 1024

const [QUOTE, BACKSLASH, COMMA] = [0x22, 0x5c, 0x2c]
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d]

/** Reads JSON of the server as `JSON.parse` does, step by step. Throws `SyntaxError`. */
export function* parseSteps(text: string, long = LONG): Steps<unknown> {
  if (text.length <= long) return JSON.parse(text)
  const { value, end } = yield* readValue(text, skipSpaces(text, 0), long)
  if (skipSpaces(text, end) < text.length) throw new SyntaxError('Text after the value')
  return value
}

/** A value, and the place after it. */
interface Read {
  readonly value: unknown
  readonly end: number
}

function* readValue(text: string, at: number, long: number): Steps<Read> {
  const sign = text.charCodeAt(at)
  if (sign === OPEN_LIST || sign === OPEN_OBJECT) return yield* readMembers(text, at, long)
  const end = sign === QUOTE ? endOfString(text, at) : endOfScalar(text, at)
  return { value: JSON.parse(text.slice(at, end)), end }
}

/** Members are read many at a time; one that is long is read by its own members. */
function* readMembers(text: string, begin: number, long: number): Steps<Read> {
  const isList = text.charCodeAt(begin) === OPEN_LIST
  const list: unknown[] = []
  const object: Record<string, unknown> = {}
  let unread = begin + 1
  let member = unread
  let depth = 0
  let at = unread
  const readUntil = (end: number) => {
    const part = text.slice(unread, end)
    if (isList) for (const each of JSON.parse(`[${part}]`) as unknown[]) list.push(each)
    else setAll(object, JSON.parse(`{${part}}`) as object)
  }
  for (;;) {
    const sign = text.charCodeAt(at)
    if (depth > 0 && at - member > long) {
      if (member > unread) readUntil(member - 1)
      const name = isList ? '' : nameAt(text, member)
      const start = isList ? member : text.indexOf(':', endOfString(text, member)) + 1
      const { value, end } = yield* readValue(text, skipSpaces(text, start), long)
      if (isList) list.push(value)
      else setAll(object, { [name]: value })
      at = skipSpaces(text, end)
      depth = 0
      unread = text.charCodeAt(at) === COMMA ? at + 1 : at
      member = unread
      at = unread
    } else if (sign === QUOTE) at = endOfString(text, at)
    else if (sign === OPEN_LIST || sign === OPEN_OBJECT) {
      depth += 1
      at += 1
    } else if (sign === CLOSE_LIST || sign === CLOSE_OBJECT) {
      at += 1
      depth -= 1
      if (depth >= 0) continue
      readUntil(at - 1)
      return { value: isList ? list : object, end: at }
    } else if (sign === COMMA && depth === 0) {
      if (at - unread > long) {
        readUntil(at)
        unread = at + 1
        yield
      }
      at += 1
      member = at
    } else if (Number.isNaN(sign)) throw new SyntaxError('The text ends within a value')
    else at += 1
  }
}

/** A name such as `__proto__` is data. */
function setAll(object: Record<string, unknown>, more: object): void {
  for (const [name, value] of Object.entries(more)) {
    if (name !== '__proto__') object[name] = value
    else
      Object.defineProperty(object, name, {
        value,
        enumerable: true,
        writable: true,
        configurable: true,
      })
  }
}

function nameAt(text: string, member: number): string {
  const start = skipSpaces(text, member)
  return JSON.parse(text.slice(start, endOfString(text, start))) as string
}

/** The place after the string that begins at, or after spaces at, this place. */
function endOfString(text: string, start: number): number {
  let at = text.indexOf('"', start)
  for (;;) {
    at = text.indexOf('"', at + 1)
    if (at < 0) throw new SyntaxError('The text ends within a string')
    let escapes = 0
    while (text.charCodeAt(at - 1 - escapes) === BACKSLASH) escapes += 1
    if (escapes % 2 === 0) return at + 1
  }
}

function endOfScalar(text: string, start: number): number {
  let at = start
  while (at < text.length && !',]} \t\n\r'.includes(text.charAt(at))) at += 1
  return at
}

function skipSpaces(text: string, start: number): number {
  let at = start
  while (at < text.length && ' \t\n\r'.includes(text.charAt(at))) at += 1
  return at
}

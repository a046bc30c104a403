import { BINARY_TYPES } from './typed-value'
import { type WireObject, getOwn, isRecord } from './value'

/** A value with its bytes in it, as clients send it (protocol.md §1.2). */
export interface InlineValue {
  /** The JavaScript type of the bytes for a reader: the `_bt` of a BlobRef (protocol.md §8.3). */
  readonly restoredAs: string
  readonly kind: InlineKind
  /** The content type of the bytes as it was given; empty where they are just bytes. */
  readonly type: string
  /** Bytes; for a string, UTF-16 units. */
  readonly size: number
  /** The bytes, or undefined when they cannot be decoded. */
  decode(): Uint8Array | undefined
}

export type InlineKind = 'file' | 'binary' | 'string'

/** The inline value for a value of an object; undefined for all others. */
export function inlineValueOf(value: unknown): InlineValue | undefined {
  if (typeof value === 'string') return inlineString(value)
  if (!isRecord(value)) return undefined
  const type = getOwn(value, '$t')
  if (type === 'Blob' || type === 'File') return inlineFile(value)
  return typeof type === 'string' && BINARY_TYPES.has(type) ? inlineBinary(type, value) : undefined
}

/** A text with lone surrogates stays in its object: UTF-8 cannot represent them. */
function inlineString(text: string): InlineValue | undefined {
  if (!text.isWellFormed()) return undefined
  return {
    restoredAs: 'string',
    kind: 'string',
    type: 'text/plain;charset=utf-8',
    size: text.length,
    decode: () => Buffer.from(text),
  }
}

/** The name of a file is lost, as it is with the clients. */
function inlineFile(value: WireObject): InlineValue {
  const text = getOwn(value, 'v')
  const given = getOwn(value, 'type')
  return {
    restoredAs: 'Blob',
    kind: 'file',
    type: typeof given === 'string' ? given : '',
    size: bytesIn(text),
    decode: () => (typeof text === 'string' ? decodeBase64(text) : undefined),
  }
}

function inlineBinary(restoredAs: string, value: WireObject): InlineValue {
  const text = getOwn(value, 'v')
  return {
    restoredAs,
    kind: 'binary',
    type: '',
    size: bytesIn(text),
    decode() {
      const bytes = typeof text === 'string' ? decodeB64lex(text) : undefined
      const isWhole = (bytes?.length ?? 0) % (BINARY_TYPES.get(restoredAs) ?? 1) === 0
      return isWhole ? bytes : undefined
    },
  }
}

/** How many bytes a text in base64 or b64lex stands for, if it is one. */
function bytesIn(text: unknown): number {
  if (typeof text !== 'string') return 0
  const padding = /(?:==?|--?)$/.exec(text.slice(-2))?.[0].length ?? 0
  return Math.floor(text.length / 4) * 3 - padding
}

/** Standard base64 with its padding and without anything else. */
function decodeBase64(text: string): Uint8Array | undefined {
  const bytes = Buffer.from(text, 'base64')
  return bytes.toString('base64') === text ? bytes : undefined
}

/** b64lex is base64 in other characters (protocol.md §1.3). */
function decodeB64lex(text: string): Uint8Array | undefined {
  const codes = Buffer.from(text)
  // Only ASCII text has one byte for each unit.
  if (codes.length !== text.length) return undefined
  for (let at = 0; at < codes.length; at++) codes[at] = BASE64_OF_LEX[codes[at] ?? 0] ?? 0
  return decodeBase64(codes.toString('latin1'))
}

/** Bytes in b64lex, with padding. */
export function encodeB64lex(bytes: Uint8Array): string {
  const codes = Buffer.from(Buffer.from(bytes).toString('base64'))
  for (let at = 0; at < codes.length; at++) codes[at] = LEX_OF_BASE64[codes[at] ?? 0] ?? 0
  return codes.toString('latin1')
}

const BASE64 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/='
const B64LEX = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz|-'

/** By character code; 0 is no character of base64. */
const BASE64_OF_LEX = new Uint8Array(256)
const LEX_OF_BASE64 = new Uint8Array(256)
for (const [index, character] of Array.from(B64LEX).entries()) {
  BASE64_OF_LEX[character.charCodeAt(0)] = BASE64.charCodeAt(index)
  LEX_OF_BASE64[BASE64.charCodeAt(index)] = character.charCodeAt(0)
}

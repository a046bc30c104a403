import { SatchelError, quoted, unprocessable, invalidRequest } from './error'
import { jsonOf } from './escape'
import { propertyAt } from './property'

/** The primary key of a table, as its schema declares it. */
export interface KeyRule {
  /** The name of the table. */
  readonly name: string
  /** Key paths; null until a schema says (protocol.md §10.1). */
  readonly primaryKey: readonly string[] | null
  readonly compound: boolean
  /** True for `@` tables: the server makes the key when it is absent. */
  readonly generated: boolean
}

/** The longest key, in bytes of UTF-8 (design.md §6). */
export const KEY_BYTES = 1_024

/** A compound key as it is stored and sent: compact JSON (protocol.md §10.3). */
export function compoundKey(parts: readonly (string | number)[]): string {
  return JSON.stringify(parts)
}

/**
 * Text that may be a key, a realm id or an owner: well-formed, without control characters, not
 * empty, `.` or `..`, at most `KEY_BYTES`. Throws `UNPROCESSABLE` naming `property`.
 */
export function requireIdText(value: unknown, property: string): string {
  if (typeof value !== 'string') throw refusal(property, 'must be a string')
  const problem = textProblem(value)
  if (problem !== undefined) throw refusal(property, problem)
  return value
}

/**
 * True for text that may name something: a property, a transaction or a client. Storage keeps well-formed text
 * without U+0000 as it is; two other names could become one.
 */
export function isNameText(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0')
}

/**
 * The key of an object by its table's key paths, or undefined when it has none and the table makes
 * its own. `subject` owns the private keys (`#x`) of its view. Throws `UNPROCESSABLE`.
 */
export function keyOf(
  table: KeyRule,
  object: Readonly<Record<string, unknown>>,
): string | undefined {
  const paths = table.primaryKey ?? []
  if (table.compound) return compoundKeyOf(paths, object)
  const path = paths[0] ?? ''
  const value = propertyAt(object, path)
  if (value === undefined || value === null) {
    if (table.generated) return undefined
    throw refusal(path, `is missing: objects of ${quoted(table.name)} need their primary key`)
  }
  return requireSimpleKey(value, path)
}

/** The parts of the text of a compound key, each a number or what may be a key. Throws `UNPROCESSABLE`. */
export function requireParts(text: string): readonly (string | number)[] {
  const parts = parseParts(text)
  if (parts !== undefined) return parts
  throw unprocessable(`${quoted(text)} is no compound key`)
}

/** The key that a path segment, already decoded, names. Throws `INVALID_REQUEST`. */
export function keyFromPath(table: KeyRule, text: string): string {
  if (!table.compound) {
    const problem = textProblem(text)
    if (problem === undefined) return text
    throw invalidRequest(`The key in the address ${problem}`)
  }
  const paths = table.primaryKey ?? []
  const parts = parseParts(text)
  if (parts?.length === paths.length) return compoundKey(parts)
  throw invalidRequest(
    `The key in the address must be the URL-encoded JSON array of ${paths.map(quoted).join(' and ')}`,
  )
}

function compoundKeyOf(paths: readonly string[], object: Readonly<Record<string, unknown>>) {
  const parts = paths.map((path) => {
    const value = propertyAt(object, path)
    if (isNumberPart(value)) return value
    if (typeof value === 'string') return requireIdText(value, path)
    throw refusal(path, 'is part of the primary key and must be a string or a finite number')
  })
  if (parts.some((part) => typeof part === 'string')) return compoundKey(parts)
  throw refusal(paths[0] ?? '', 'or another part of the primary key must be a string')
}

/** Undefined for a text that is not a compound key. */
function parseParts(text: string): (string | number)[] | undefined {
  const parts = jsonOf(text)
  const isKey =
    Array.isArray(parts) &&
    parts.every((part) => isNumberPart(part) || isTextPart(part)) &&
    parts.some(isTextPart)
  return isKey ? parts : undefined
}

function isNumberPart(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value)
}

function isTextPart(value: unknown): value is string {
  return typeof value === 'string' && textProblem(value) === undefined
}

/** Simple keys are strings that cannot be taken for a compound one. */
function requireSimpleKey(value: unknown, path: string): string {
  const key = requireIdText(value, path)
  if (key.startsWith('[') && key.endsWith(']')) {
    throw refusal(path, 'is the primary key and must not look like a JSON array')
  }
  return key
}

// eslint-disable-next-line no-control-regex -- finding control characters is the point
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/

function textProblem(text: string): string | undefined {
  if (text === '' || text === '.' || text === '..') return 'must not be empty, "." or ".."'
  if (!text.isWellFormed()) return 'is not well-formed Unicode'
  if (CONTROL.test(text)) return 'must not contain control characters'
  if (text.length > KEY_BYTES / 3 && Buffer.byteLength(text) > KEY_BYTES) {
    return `is longer than ${KEY_BYTES} bytes`
  }
  return undefined
}

function refusal(property: string, problem: string): SatchelError {
  return unprocessable(`${quoted(property)} ${problem}`, property)
}

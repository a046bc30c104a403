import { invalidRequest, quoted, type SatchelError } from '../value/error'
import { isNameText } from '../value/key'
import { presentIn, type WireObject } from '../value/value'

// The fields of requests as they came.

/** None when it is absent. Throws `INVALID_REQUEST` for a value that is no list. */
export function listIn(object: WireObject, name: string): unknown[] {
  const value = presentIn(object, name)
  if (value === undefined) return []
  if (Array.isArray(value)) return value as unknown[]
  throw invalid(quoted(name), 'a list')
}

/** Undefined for any other value. */
export function textIn(object: WireObject, name: string): string | undefined {
  const value = presentIn(object, name)
  return typeof value === 'string' ? value : undefined
}

/** Undefined for any other value. */
export function numberIn(object: WireObject, name: string): number | undefined {
  const value = presentIn(object, name)
  return typeof value === 'number' ? value : undefined
}

const NAME_LENGTH = 100

/**
 * The name of a client or a transaction. Two malformed ones could be stored as one: the second transaction would count
 * as executed. Throws `INVALID_REQUEST`.
 */
export function requireName(value: unknown, subject: string): string {
  if (typeof value === 'string' && value.length <= NAME_LENGTH && isNameText(value)) return value
  throw invalid(subject, `well-formed text of at most ${NAME_LENGTH} characters, without U+0000`)
}

export function invalid(subject: string, expected: string): SatchelError {
  return invalidRequest(`${subject} must be ${expected}`)
}

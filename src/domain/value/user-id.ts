import { type ErrorCode, SatchelError } from './error'
import { isEmail, foldEmail } from './email'

/**
 * A user id from outside, in its one form: an e-mail address is lower case (design.md §4).
 * Throws `code` when it cannot be one.
 */
export function requireUserId(value: unknown, code: ErrorCode = 'UNPROCESSABLE'): string {
  const refuse = (why: string): never => {
    throw new SatchelError(code, `A user id ${why}`)
  }
  if (typeof value !== 'string') return refuse('must be a string')
  const id = foldUserId(value)
  if (id === '' || id === '.' || id === '..') return refuse('must not be empty, "." or ".."')
  if (!id.isWellFormed()) return refuse('must be well-formed Unicode')
  if (/\p{Cc}/u.test(id)) return refuse('must have no control characters')
  if (id.startsWith('rlm') || id.startsWith('#')) return refuse('must not begin with "rlm" or "#"')
  // `#x:a` of the user `b@c` and `#x` of the user `a:b@c` would be the same private key.
  if (isEmail(id) && id.includes(':')) return refuse('with "@" must have no ":"')
  if (Buffer.byteLength(id) > MAX_BYTES) return refuse(`must have at most ${MAX_BYTES} bytes`)
  return id
}

/** The form in which a user with this id is kept, if there is one. */
export function foldUserId(id: string): string {
  return isEmail(id) ? foldEmail(id) : id
}

const MAX_BYTES = 256

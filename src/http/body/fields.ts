import { quoted, SatchelError } from '../../domain/value/error'
import { isRecord } from '../../domain/value/value'

/** A JSON object as it came. */
export type Fields = Readonly<Record<string, unknown>>

/** The largest body of a command, in bytes. */
export const MOST_BYTES = 2 * 1024 * 1024

/** Throws `UNPROCESSABLE`, like `expected`. */
export function requireFields(body: unknown): Fields {
  if (isRecord(body)) return body
  throw new SatchelError('UNPROCESSABLE', 'The body must be a JSON object')
}

export function expected(name: string, what: string): SatchelError {
  return new SatchelError('UNPROCESSABLE', `${quoted(name)} must be ${what}`, { reason: name })
}

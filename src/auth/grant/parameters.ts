import { SatchelError } from '../../domain/value/error'

/** The parameters of a token request as they came, from JSON or from a form. */
export type Parameters = Readonly<Record<string, unknown>>

/** Throws `INVALID_REQUEST` when the parameter is missing or no text. */
export function requireText(parameters: Parameters, name: string): string {
  const value = parameters[name]
  if (typeof value === 'string' && value !== '') return value
  throw new SatchelError('INVALID_REQUEST', `"${name}" is missing or not a string`)
}

/** A whole number, which a form can only give as text. Throws `INVALID_REQUEST`. */
export function requireInteger(parameters: Parameters, name: string): number {
  const value = parameters[name]
  const number = typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value
  if (typeof number === 'number' && Number.isSafeInteger(number)) return number
  throw new SatchelError('INVALID_REQUEST', `"${name}" is missing or not a whole number`)
}

/**
 * The requested scopes: `scopes` as an array, or `scope` as OAuth writes it (RFC 6749 §3.3).
 * Undefined when neither is there. Throws `INVALID_REQUEST`.
 */
export function findScopes(parameters: Parameters): readonly string[] | undefined {
  const value = parameters['scopes'] ?? parameters['scope'] ?? undefined
  if (value === undefined) return undefined
  if (typeof value === 'string') return value.split(' ').filter((scope) => scope !== '')
  if (isStrings(value)) return value
  throw new SatchelError('INVALID_REQUEST', '"scopes" must be an array of strings')
}

/** Throws `INVALID_REQUEST` when no scopes are requested; an empty list is a request. */
export function requireScopes(parameters: Parameters): readonly string[] {
  const scopes = findScopes(parameters)
  if (scopes !== undefined) return scopes
  throw new SatchelError(
    'INVALID_REQUEST',
    '"scopes" is missing: send an array of scopes, which may be empty',
  )
}

function isStrings(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string')
}

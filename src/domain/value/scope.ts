import { quoted, SatchelError } from './error'

/** The permissions of a token (spec.md §5.4, protocol.md §9.2). */
export const SCOPES = [
  'ACCESS_DB',
  'IMPERSONATE',
  'MANAGE_DB',
  'GLOBAL_READ',
  'GLOBAL_WRITE',
  'DELETE_DB',
] as const

export type Scope = (typeof SCOPES)[number]

/**
 * What a login with a one-time code may be for besides `ACCESS_DB` (protocol.md §9.2): to fetch the key of
 * a client of a database, and to create a database at the address of the server.
 */
export const CONNECT_CLIENT = 'CONNECT_CLIENT'
export const CREATE_DB = 'CREATE_DB'

export function isScope(value: unknown): value is Scope {
  return SCOPES.some((scope) => scope === value)
}

export function hasAllScopes(scopes: readonly string[]): boolean {
  return SCOPES.every((scope) => scopes.includes(scope))
}

/**
 * The scopes of a token: the requested ones, each once. A list with all six means "all that I may
 * have" (design.md §4, protocol.md §9.2). Throws `INVALID_SCOPE` naming those beyond `held`.
 */
export function grantScopes(requested: readonly string[], held: readonly Scope[]): Scope[] {
  const wanted = new Set(requested)
  const isEverything = hasAllScopes(requested)
  const surplus = [...wanted].filter(
    (name) => !isScope(name) || (!isEverything && !held.includes(name)),
  )
  if (surplus.length > 0) {
    const named = surplus.slice(0, NAMED).map(quoted).join(', ')
    throw new SatchelError('INVALID_SCOPE', `These scopes cannot be granted: ${named}`)
  }
  return held.filter((scope) => wanted.has(scope))
}

/** How many scopes a refusal names. */
const NAMED = 6

/** What a token may be used for (spec.md §5.4, protocol.md §9.2). */
export const SCOPES = [
  'ACCESS_DB',
  'IMPERSONATE',
  'MANAGE_DB',
  'GLOBAL_READ',
  'GLOBAL_WRITE',
  'DELETE_DB',
] as const

export type Scope = (typeof SCOPES)[number]

export function isScope(value: unknown): value is Scope {
  return SCOPES.some((scope) => scope === value)
}

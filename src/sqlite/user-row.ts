import type { User } from '../domain/value/user-id'

/** A user as the statements of this room select them. */
export type UserRow = Omit<User, 'data'> & { readonly data: string | null }

export const USER_COLUMNS =
  'number AS incarnation, id, type, created, updated, last_login AS lastLogin, valid_until AS validUntil, eval_until AS evalUntil, deactivated, data'

export function toUser({ data, ...columns }: UserRow): User {
  return { ...columns, data: data === null ? null : (JSON.parse(data) as User['data']) }
}

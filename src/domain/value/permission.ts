import { SatchelError, quoted, unprocessable } from './error'
import { isRecord } from './value'

/** The permissions in a realm (protocol.md §6.3, `DBPermissionSet`). */
export interface PermissionSet {
  readonly add?: '*' | readonly string[]
  readonly update?: '*' | Readonly<Record<string, '*' | readonly string[]>>
  readonly manage?: '*' | readonly string[]
}

export const FULL: PermissionSet = { manage: '*' }

/** Properties that `"*"` does not include: they must be listed by name (protocol.md §6.3). */
const LISTED_ONLY: ReadonlySet<string> = new Set(['owner', 'realmId'])

/** Whether these permissions, any one of them, allow everything on a table. */
export function mayManage(held: readonly PermissionSet[], table: string): boolean {
  // No functions, here and below: every write asks.
  for (const { manage } of held) if (includes(manage, table)) return true
  return false
}

export function mayAdd(held: readonly PermissionSet[], table: string): boolean {
  for (const { add } of held) if (includes(add, table)) return true
  return mayManage(held, table)
}

export function mayUpdate(
  held: readonly PermissionSet[],
  table: string,
  property: string,
): boolean {
  return held.some(({ update }) => updates(update, table, property)) || mayManage(held, table)
}

/** Whether these permissions allow everything in the realm. */
export function hasFullRights(held: readonly PermissionSet[]): boolean {
  return held.some(({ manage }) => manage === '*')
}

/** Whether a holder of `held` may grant `granted`, which must be a part of it (design.md §5.3). */
export function mayGrant(held: readonly PermissionSet[], granted: PermissionSet): boolean {
  if (hasFullRights(held)) return true
  const { add = [], update = {}, manage = [] } = granted
  return (
    manage !== '*' &&
    manage.every((table) => mayManage(held, table)) &&
    (add === '*'
      ? held.some((set) => set.add === '*')
      : add.every((table) => mayAdd(held, table))) &&
    (update === '*'
      ? held.some((set) => set.update === '*')
      : updatesOf(update).every(([table, property]) => mayUpdate(held, table, property)))
  )
}

/** Reads a permission set from a row. Throws `UNPROCESSABLE` naming the part that is wrong. */
export function parsePermissions(value: unknown): PermissionSet {
  if (value === undefined || value === null) return {}
  if (!isRecord(value)) throw wrong('permissions', 'an object')
  const { add, update, manage } = value
  return {
    ...(add === undefined || add === null ? {} : { add: parseList('permissions.add', add) }),
    ...(manage === undefined || manage === null
      ? {}
      : { manage: parseList('permissions.manage', manage) }),
    ...(update === undefined || update === null ? {} : { update: parseUpdate(update) }),
  }
}

/** A star in the list is the name of a table like any other: only `"*"` alone is all of them. */
function includes(list: '*' | readonly string[] | undefined, table: string): boolean {
  return list === '*' || list?.includes(table) === true
}

/** In a list of properties, however, a star is all but those that must be listed. */
function updates(update: PermissionSet['update'], table: string, property: string): boolean {
  const list = typeof update === 'object' ? ownValue(update, table) : update
  if (list === undefined) return false
  if ((list === '*' || list.includes('*')) && !LISTED_ONLY.has(property)) return true
  return list !== '*' && list.includes(property)
}

/** Every (table, property) pair that an update permission names; `*` stands for itself. */
function updatesOf(update: Exclude<PermissionSet['update'], '*' | undefined>) {
  return Object.entries(update).flatMap(([table, list]) =>
    (list === '*' ? ['*'] : list).map((property) => [table, property] as const),
  )
}

function ownValue<T>(record: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined
}

function parseUpdate(value: unknown): NonNullable<PermissionSet['update']> {
  if (value === '*') return '*'
  if (!isRecord(value)) throw wrong('permissions.update', '"*" or an object by table')
  const lists = Object.entries(value).map(
    ([table, list]) => [table, parseList(`permissions.update.${table}`, list)] as const,
  )
  return Object.fromEntries(lists)
}

function parseList(path: string, value: unknown): '*' | readonly string[] {
  if (value === '*') return '*'
  if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return value
  throw wrong(path, '"*" or an array of names')
}

function wrong(path: string, expected: string): SatchelError {
  return unprocessable(`${quoted(path)} must be ${expected}`, path)
}

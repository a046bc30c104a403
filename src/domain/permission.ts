import { SatchelError, quoted } from './error'

/** What may be done in a realm (protocol.md §6.3, `DBPermissionSet`). */
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
  return held.some(({ manage }) => includes(manage, table))
}

export function mayAdd(held: readonly PermissionSet[], table: string): boolean {
  return held.some(({ add }) => includes(add, table)) || mayManage(held, table)
}

export function mayUpdate(
  held: readonly PermissionSet[],
  table: string,
  property: string,
): boolean {
  return held.some(({ update }) => updates(update, table, property)) || mayManage(held, table)
}

/** Whether whoever holds `held` may grant `granted`: nobody gives more than they have (design.md §5.3). */
export function mayGrant(held: readonly PermissionSet[], granted: PermissionSet): boolean {
  if (held.some(({ manage }) => includes(manage, '*'))) return true
  const tables = (list: '*' | readonly string[] | undefined) =>
    list === '*' ? ['*'] : (list ?? [])
  return (
    tables(granted.manage).every((table) => mayManage(held, table)) &&
    tables(granted.add).every((table) => mayAdd(held, table)) &&
    updatesOf(granted.update).every(([table, property]) => mayUpdate(held, table, property))
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

function includes(list: '*' | readonly string[] | undefined, name: string): boolean {
  return list === '*' || (list !== undefined && (list.includes(name) || list.includes('*')))
}

function updates(update: PermissionSet['update'], table: string, property: string): boolean {
  if (update === undefined) return false
  if (update === '*') return !LISTED_ONLY.has(property)
  return [ownValue(update, table), ownValue(update, '*')].some(
    (list) =>
      list !== undefined &&
      ((list !== '*' && property !== '*' && list.includes(property)) ||
        (includes(list, '*') && !LISTED_ONLY.has(property))),
  )
}

/** Every (table, property) pair that an update permission names; `*` stands for itself. */
function updatesOf(update: PermissionSet['update']): (readonly [string, string])[] {
  if (update === undefined) return []
  if (update === '*') return [['*', '*']]
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
  return new SatchelError('UNPROCESSABLE', `${quoted(path)} must be ${expected}`, { reason: path })
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

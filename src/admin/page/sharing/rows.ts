/** A row of a table of sharing as an object. */
export interface SharingRow {
  readonly key: string
  readonly realmId: string
  readonly owner: string | null
  readonly value: Readonly<Record<string, unknown>> | null
}

/** Rows of the tables of sharing, as objects of them have it (`realms`, `members`, `roles`). */
export interface Realm {
  readonly realmId: string
  readonly name: string
  readonly owner: string | null
}

/** A member of a realm, or an invitation to become one. */
export interface Member {
  /** The key of the row. */
  readonly key: string
  readonly realmId: string
  readonly userId: string | null
  readonly email: string | null
  readonly name: string | null
  readonly state: MemberState
  readonly roles: readonly string[]
  readonly permissions: Permissions
}

export type MemberState = 'accepted' | 'invited' | 'rejected' | 'open'

export interface Role {
  readonly key: string
  readonly name: string
  readonly permissions: Permissions
}

/** The tables that may be added to, whose properties may be updated, and that may be managed; `*` is all. */
export type Permissions = Readonly<Record<string, unknown>>

/** The colour of the state of a membership. */
export const MEMBER_STATES: Readonly<Record<MemberState, string>> = {
  accepted: 'good',
  invited: 'info',
  open: 'info',
  rejected: 'bad',
}

export function readRealm({ key, owner, value }: SharingRow): Realm {
  return { realmId: key, owner, name: textOf(value?.['name']) ?? '' }
}

export function readMember({ key, realmId, value }: SharingRow): Member {
  const row = value ?? {}
  const roles = row['roles']
  return {
    key,
    realmId,
    userId: textOf(row['userId']),
    email: textOf(row['email']),
    name: textOf(row['name']),
    state: stateOf(row),
    roles: Array.isArray(roles) ? roles.map(String) : [],
    permissions: permissionsOf(row['permissions']),
  }
}

export function readRole({ key, value }: SharingRow): Role {
  return {
    key,
    name: textOf(value?.['name']) ?? key,
    permissions: permissionsOf(value?.['permissions']),
  }
}

function stateOf(row: Readonly<Record<string, unknown>>): MemberState {
  if (isSet(row['rejected'])) return 'rejected'
  if (isSet(row['accepted'])) return 'accepted'
  return isSet(row['invitedDate']) || row['invite'] === true ? 'invited' : 'open'
}

function isSet(value: unknown): boolean {
  const isUndefined = typeof value === 'object' && value !== null && '$t' in value
  return value !== undefined && value !== null && !(isUndefined && value.$t === 'undefined')
}

function permissionsOf(value: unknown): Permissions {
  return typeof value === 'object' && value !== null ? (value as Permissions) : {}
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null
}

/** Permissions in short sentences: `update done of todoItems`. */
export function describePermissions({ add, update, manage }: Permissions): readonly string[] {
  const tables = (given: unknown) => {
    if (given === '*') return 'everything'
    return Array.isArray(given) && given.length > 0 ? given.map(String).join(', ') : undefined
  }
  const [added, managed] = [tables(add), tables(manage)]
  const updates =
    update === '*'
      ? ['update everything']
      : Object.entries(permissionsOf(update)).map(([table, properties]) => {
          const names = Array.isArray(properties) ? properties.map(String).join(', ') : 'everything'
          return `update ${properties === '*' ? 'everything' : names} of ${table}`
        })
  return [
    ...(managed === undefined ? [] : [`manage ${managed}`]),
    ...(added === undefined ? [] : [`add to ${added}`]),
    ...updates,
  ]
}

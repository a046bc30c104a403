/** A realm, as `realm.list` has it. */
export interface Realm {
  readonly realm: string
  readonly name: string | null
  readonly owner: string | null
}

/** A member of a realm, or an invitation to become one, as `member.list` has it. */
export interface Member {
  /** The key of the row. */
  readonly id: string
  readonly isOwner: boolean
  readonly realmId: string
  readonly realmName: string | null
  readonly userId: string | null
  readonly email: string | null
  readonly name: string | null
  readonly state: MemberState
  readonly roles: readonly string[]
  readonly permissions: Permissions
  /** Null for the owner of a realm. */
  readonly revision: number | null
}

export type MemberState = 'accepted' | 'invited' | 'rejected' | 'open'

/** A role, as `role.list` has it. */
export interface Role {
  readonly realm: string
  readonly name: string
  readonly displayName: string | null
  readonly permissions: Permissions
  readonly revision: number
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

function permissionsOf(value: unknown): Permissions {
  return typeof value === 'object' && value !== null ? (value as Permissions) : {}
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

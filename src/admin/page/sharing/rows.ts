/** A realm with the counts of its rows. */
export interface RealmInfo {
  readonly realmId: string
  readonly name: string | null
  readonly owner: string | null
  readonly members?: number
}

/** A member of a realm, or an invitation to become one. */
export interface MemberInfo {
  /** The key of the row. */
  readonly id: string
  readonly realmId: string
  readonly realmName?: string | null
  readonly userId: string | null
  readonly email: string | null
  readonly name: string | null
  readonly state: string
  readonly roles: readonly string[]
  readonly permissions: object
}

export interface RoleInfo {
  readonly name: string
  readonly permissions: object
  readonly displayName?: string | null
}

export interface WholeRealm extends RealmInfo {
  readonly memberRows: readonly MemberInfo[]
  readonly roleRows: readonly RoleInfo[]
}

/** The colour of the state of a membership. */
export const MEMBER_STATES: Readonly<Record<string, string>> = {
  accepted: 'good',
  open: 'info',
  invited: 'info',
  rejected: 'bad',
}

import type { RealmRef } from './realm'
import type { PermissionSet } from '../value/permission'

/**
 * What a `members` row or the ownership of a `realms` row gives its user in a realm
 * (protocol.md §6.3, design.md §5.4). Derived in the unit that writes the row.
 */
export interface Membership {
  /** The row it is derived from: `members:<key>` or `realms:<key>`. */
  readonly source: string
  readonly realm: RealmRef
  readonly userId: string | null
  /** Lower case. */
  readonly email: string | null
  readonly accepted: boolean
  readonly rejected: boolean
  readonly permissions: PermissionSet
  readonly roles: readonly string[]
}

/** The part that says what somebody may do in the realm. */
export type Rights = Pick<Membership, 'realm' | 'permissions' | 'roles'>

import type { RealmRef } from './realms'
import type { PermissionSet } from '../value/permission'
import type { Awaitable } from './records'

/**
 * The rights that a `members` row or the ownership of a `realms` row gives its user in a realm
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

/** The permissions in the realm. */
export type Rights = Pick<Membership, 'realm' | 'permissions' | 'roles'>

/** Rights that some memberships of a realm have alike. */
export interface SharedRights {
  readonly permissions: PermissionSet
  readonly roles: readonly string[]
  /** To go on after: plain text, the engine's own. */
  readonly place: string
}

export interface MembershipReader {
  /** By realm, then by source; at most `limit`. */
  ofUser(userId: string, limit?: number): Awaitable<Membership[]>
  /** The rights of the accepted memberships of a user, by realm: what most readings need. */
  acceptedOf(userId: string): Awaitable<readonly Rights[]>
  /** The memberships of a user that are not accepted, by realm. */
  openOf(userId: string): Awaitable<Membership[]>
  /** By source. */
  ofUserIn(userId: string, realm: RealmRef): Awaitable<Membership[]>
  /** Open invitations to an address: rows without a user. */
  ofEmail(email: string): Awaitable<Membership[]>
  /** Those to one realm, by source. */
  ofEmailIn(email: string, realm: RealmRef): Awaitable<Membership[]>
  /** By source; at most `limit`. */
  ofRealm(realm: RealmRef, limit?: number): Awaitable<Membership[]>
  /**
   * Each different pair of permissions and roles among the accepted memberships of a realm, or among
   * those that are not: one for each call, undefined after the last. `after` is the `place` of the
   * one before, or ''. Costs one look-up, however many share them.
   */
  nextRights(realm: RealmRef, accepted: boolean, after: string): Awaitable<SharedRights | undefined>
  /**
   * True when a row of `members` with this key was for this user, or without a user for this address,
   * until it was removed or given to somebody else. It may be the user's again. Known as long as
   * tombstones are kept; costs one for the id and one for the address, however many rows they lost.
   */
  wasOwn(userId: string, email: string | null, key: string): Awaitable<boolean>
  /** Up to `limit` accepted members of the realm whose sources come after `after`, in order. */
  membersOf(realm: RealmRef, after: string, limit: number): Awaitable<Membership[]>
}

export interface MembershipWriter extends MembershipReader {
  /** `source` names the row it is derived from; a second put replaces the first. */
  put(membership: Membership): Awaitable<void>
  remove(source: string): Awaitable<void>
  /** All of them; none counts as a former one, because clients lose the whole realm. */
  removeOfRealm(realm: RealmRef): Awaitable<void>
  /** Forgets up to `limit` former rows of a user id or an address; how many it forgot. */
  forgetFormer(subject: string, limit: number): Awaitable<number>
}

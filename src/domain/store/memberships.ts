import type { RealmRef } from './realms'
import type { PermissionSet } from '../value/permission'

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

/** The place of a membership among those of its user. */
export type MembershipPlace = Pick<Membership, 'realm' | 'source'>

/** The permissions in the realm. */
export type Rights = Pick<Membership, 'realm' | 'permissions' | 'roles'>

/** The memberships of a user, and the invitations to an address. */
export interface SubjectMemberships {
  /** The rights that the user has, by realm. */
  readonly accepted: readonly Rights[]
  /** Memberships that the user has not accepted, by realm, then those to the address without a user. */
  readonly open: readonly Membership[]
}

/** Rights that some memberships of a realm have alike. */
export interface SharedRights {
  readonly permissions: PermissionSet
  readonly roles: readonly string[]
  /** To go on after: plain text, the engine's own. */
  readonly cursor: string
}

export interface MembershipReader {
  /** Up to `limit` memberships of a user that come after `after`, by realm, then by source. */
  ofUser(userId: string, limit: number, after?: MembershipPlace): Membership[]
  /** All that is known of a person in any realm: what most readings need. */
  ofSubject(userId: string | null, email: string | null): SubjectMemberships
  /** The memberships of a user in a realm, by source, then the invitations to the address without a user. */
  ofSubjectIn(userId: string | null, email: string | null, realm: RealmRef): Membership[]
  /** Up to `limit` memberships of a realm whose sources come after `after`, in order. */
  ofRealm(realm: RealmRef, after: string, limit: number, onlyAccepted?: boolean): Membership[]
  /**
   * Each different pair of permissions and roles among the accepted memberships of a realm, or among
   * those that are not: one for each call, undefined after the last. `after` is the `cursor` of the
   * one before, or ''. Costs one look-up, however many share them.
   */
  nextRights(realm: RealmRef, accepted: boolean, after: string): SharedRights | undefined
  /**
   * True when a row of `members` with this key was for this user, or without a user for this address,
   * until it was removed or given to somebody else. It may be the user's again. Known as long as
   * tombstones are kept; costs one for the id and one for the address, however many rows they lost.
   */
  hadMemberRow(userId: string, email: string | null, key: string): boolean
}

export interface MembershipWriter extends MembershipReader {
  /** `source` names the row it is derived from; a second put replaces the first. */
  put(membership: Membership): void
  remove(source: string): void
  /** All of them; none counts as a former one, because clients lose the whole realm. */
  removeOfRealm(realm: RealmRef): void
  /** Forgets up to `limit` former rows of a user id or an address; how many it forgot. */
  forgetFormer(subject: string, limit: number): number
}

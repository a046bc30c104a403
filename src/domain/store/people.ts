import type { Membership } from './membership'
import type { Code } from './code'
import type { RefreshToken } from './credential'
import type { Invitation } from '../rows/invitation'
import type { QueuedMail } from './mail'
import type { RealmRef } from './realm'
import type { Awaitable } from './store'
import type { UserFilter, UserPage, UserQuery } from '../user/query'
import type { User, UserFields } from '../value/user-id'

// The part of the seam (`store.ts`, design.md §3) that is about people: where they are, who they are, how they come in.

export interface MembershipReader {
  /** By realm, then by source; at most `limit`. */
  ofUser(userId: string, limit?: number): Awaitable<Membership[]>
  /** By source. */
  ofUserIn(userId: string, realm: RealmRef): Awaitable<Membership[]>
  /** Open invitations to an address: rows without a user. */
  ofEmail(email: string): Awaitable<Membership[]>
  /** By source; at most `limit`. */
  ofRealm(realm: RealmRef, limit?: number): Awaitable<Membership[]>
  /** Up to `limit` accepted members of the realm whose sources come after `after`, in order. */
  membersOf(realm: RealmRef, after: string, limit: number): Awaitable<Membership[]>
}

export interface MembershipWriter extends MembershipReader {
  /** `source` names the row it is derived from; a second put replaces the first. */
  put(membership: Membership): Awaitable<void>
  remove(source: string): Awaitable<void>
  removeOfRealm(realm: RealmRef): Awaitable<void>
}

export interface UserReader {
  find(id: string): Awaitable<User | undefined>
  /**
   * Up to `limit` users with this address, in its stored form, in the order of creation; whose id it
   * is need not be among them.
   */
  ofEmail(email: string, limit: number): Awaitable<User[]>
  /** One page: in the order that is asked for, then in that of creation. */
  list(query: UserQuery): Awaitable<UserPage>
  /** How many users pass the filter; counting ends at `most`. */
  count(filter: UserFilter, most: number): Awaitable<number>
}

export interface UserWriter extends UserReader {
  /** Writes a user, who gets a new incarnation when there is none with this id. */
  put(user: UserFields): Awaitable<User>
  /** Notes a login at `at`, ms, of whoever has this id. It changes nothing about who may do what. */
  noteLogin(id: string, at: number): Awaitable<void>
  /** False when there was none. */
  remove(id: string): Awaitable<boolean>
}

export interface RefreshTokenReader {
  find(hash: string): Awaitable<RefreshToken | undefined>
  /** When this `time_stamp` was used with this token, in ms, if it was. */
  findUse(hash: string, timeStamp: number): Awaitable<number | undefined>
}

export interface RefreshTokenWriter extends RefreshTokenReader {
  put(token: RefreshToken): Awaitable<void>
  recordUse(hash: string, timeStamp: number, now: number): Awaitable<void>
  removeOfClient(clientId: string): Awaitable<void>
  removeOfUser(incarnation: number): Awaitable<void>
  removeOfLogin(login: string): Awaitable<void>
  /** Forgets tokens unused since `idleBefore` and uses made before `usedBefore`, both in ms. */
  prune(idleBefore: number, usedBefore: number): Awaitable<void>
}

export interface CodeReader {
  find(id: string): Awaitable<Code | undefined>
  /** The codes of one subject that were made after `since`, ms, the newest first. */
  ofSubject(subject: string, since: number): Awaitable<Code[]>
}

export interface CodeWriter extends CodeReader {
  put(code: Code): Awaitable<void>
  removeOfSubject(subject: string): Awaitable<void>
  /** Forgets codes that were over before `before`, ms. */
  prune(before: number): Awaitable<void>
}

export interface InvitationReader {
  find(id: string): Awaitable<Invitation | undefined>
  /** When this inviter's invitations went out, in the span and no more than `most`, the newest first. */
  sentBy(inviter: string, span: Span, most: number): Awaitable<number[]>
  /** When invitations went to this address, likewise. */
  sentTo(email: string, span: Span, most: number): Awaitable<number[]>
}

/** From `after` (not included) to `until`, ms since the epoch. */
export interface Span {
  readonly after: number
  readonly until: number
}

export interface InvitationWriter extends InvitationReader {
  put(invitation: Invitation): Awaitable<void>
  /** Forgets invitations that went to this address. */
  removeTo(email: string): Awaitable<void>
  /** Forgets invitations that were over before `before`, ms. */
  prune(before: number): Awaitable<void>
}

export interface MailReader {
  /** Up to `limit` mails that are due at `now`, ms, the longest waiting first. */
  due(now: number, limit: number): Awaitable<QueuedMail[]>
  /** When the next mail is due, ms, or undefined when none waits. */
  nextDue(): Awaitable<number | undefined>
}

export interface MailWriter extends MailReader {
  put(mail: QueuedMail): Awaitable<void>
  /** False when there was none. */
  remove(id: string): Awaitable<boolean>
  removeTo(recipient: string): Awaitable<void>
}

/** The time that tokens and codes go by, which does not go back (promise 11). */
export interface TimeReader {
  /** The latest time that was kept, ms. */
  latest(): Awaitable<number>
}

export interface TimeWriter extends TimeReader {
  /** It is no policy, and nothing is announced. */
  keep(time: number): Awaitable<void>
}

export interface LoginReader {
  /** True when the tokens that a login gave have ended before their time. */
  isRevoked(id: string): Awaitable<boolean>
}

export interface LoginWriter extends LoginReader {
  /** False when this state was spent before; remembered until it `expires`, ms. */
  spend(state: string, expires: number): Awaitable<boolean>
  /** Remembered until it `expires`, ms, when the last token of the login is over. */
  revoke(id: string, expires: number): Awaitable<void>
  /** Forgets what expired before `before`, ms. */
  prune(before: number): Awaitable<void>
}

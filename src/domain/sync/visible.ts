import { type Access, accessOf, mayRead } from '../access/access'
import { type Actor, rightsNamesOf } from '../access/actor'
import { PUBLIC_REALM_REF, type Realm, type RealmRef } from '../store/realms'
import type { ReadTx } from '../store/store'

/** What an actor sees through live sync in one snapshot: the rules of `/my` (protocol.md §4.7). */
export interface Visibility {
  /**
   * The ids of the realms whose content the actor sees, sorted. The private realm is among them
   * before it has its first object.
   */
  readonly realms: readonly string[]
  /** The realms of `realms`, except a private realm without objects. */
  readonly realmRefs: ReadonlySet<RealmRef>
  /** The ids of the realms with an open or rejected invitation for the actor, sorted. */
  readonly inviteRealms: readonly string[]
  /** The realms of both lists by id, except a private realm without objects. */
  readonly refs: ReadonlyMap<string, RealmRef>
  /** The revisions in which these realms came into being, and the latest of them. */
  readonly births: ReadonlyMap<RealmRef, number>
  readonly newestBirth: number
  /** The keys of the actor's rows in `members` by realm, where the actor is invited. */
  readonly invitations: ReadonlyMap<RealmRef, ReadonlySet<string>>
  /** True when the actor sees a row of this table with this key in this realm. */
  sees(table: string, realm: RealmRef, key: string): boolean
}

/** The visibility of an actor, remembered until policy changes. */
export function visibilityOf(tx: ReadTx, actor: Actor): Visibility {
  return tx.remember(rightsNamesOf(actor).visibility, loadVisibility, tx, actor)
}

const NOWHERE = {
  realms: [],
  realmRefs: new Set<RealmRef>(),
  inviteRealms: [],
  refs: new Map<string, RealmRef>(),
  births: new Map<RealmRef, number>(),
  newestBirth: 0,
}

function loadVisibility(tx: ReadTx, actor: Actor): Visibility {
  const { subject } = actor
  const access = accessOf(tx, actor)
  const realms = realmsOf(tx, access.realmRefs)
  const known = new Set([subject, ...realms.map(({ id }) => id)])
  const invited = realmsOf(tx, access.pending.keys()).filter(({ id }) => !known.has(id))
  const isNew = subject !== null && !realms.some(({ id }) => id === subject)
  const earlier = { ...NOWHERE, realms: isNew ? [subject] : [] }
  return withRealms(tx, earlier, access, realms, invited)
}

function realmsOf(tx: ReadTx, refs: Iterable<RealmRef>): Realm[] {
  return Array.from(refs).flatMap((ref) => tx.realms.findByRef(ref) ?? [])
}

/**
 * The visibility of an actor with this access, who has come into these realms, and was invited into these, and into
 * nothing else.
 */
export function withRealms(
  tx: ReadTx,
  earlier: Omit<Visibility, 'invitations' | 'sees'>,
  access: Access,
  added: readonly Realm[],
  invited: readonly Realm[] = [],
): Visibility {
  const births = new Map(earlier.births)
  const refs = new Map(earlier.refs)
  let { newestBirth } = earlier
  for (const { id, ref } of [...added, ...invited]) {
    const born = tx.realms.bornAt(ref)
    refs.set(id, ref)
    births.set(ref, born)
    newestBirth = Math.max(newestBirth, born)
  }
  return {
    realms: [...earlier.realms, ...added.map(({ id }) => id)].toSorted(),
    realmRefs: earlier.realmRefs.union(new Set(added.map(({ ref }) => ref))),
    inviteRealms: [...earlier.inviteRealms, ...invited.map(({ id }) => id)].toSorted(),
    refs,
    births,
    newestBirth,
    invitations: access.pending,
    sees: (table, realm, key) => mayRead(access, table, realm, () => key),
  }
}

/**
 * True when the actor may have a copy of a row of `members` with this key that was for them before: only
 * they are told that it is gone. Others can make any number of such rows, so that none is remembered:
 * callers ask for those of which the actor has to be told.
 */
export function hadMemberRow(
  tx: ReadTx,
  { subject, email }: Pick<Actor, 'subject' | 'email'>,
  key: string,
): boolean {
  return subject !== null && tx.memberships.hadMemberRow(subject, email, key)
}

/** True for the `members` rows in `rlm-public`: everyone sees only their own. */
export function isPersonal(table: string, realm: RealmRef): boolean {
  return table === 'members' && realm === PUBLIC_REALM_REF
}

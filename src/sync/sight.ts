import type { RealmRef } from '../domain/store/realms'
import type { ReadTx } from '../domain/store/store'
import { realmSetHash } from '../domain/sync/realm-set'
import type { Visibility } from '../domain/sync/visible'

/** The realms that the user of a session sees now. */
export interface Sight {
  /** Realms whose content the user sees. */
  readonly realms: readonly RealmRef[]
  /** Realms that the user is invited to. */
  readonly invited: readonly RealmRef[]
  /** `realmSetHash` of both; empty before the first look. */
  readonly hash: string
}

export const BLIND: Sight = { realms: [], invited: [], hash: '' }

/** Sockets of the same user share it. */
const sights = new WeakMap<Visibility, Sight>()

export function sightOf(visibility: Visibility): Sight {
  const known = sights.get(visibility)
  if (known !== undefined) return known
  const { realms, inviteRealms, refs } = visibility
  const refsOf = (ids: readonly string[]) => ids.flatMap((id) => refs.get(id) ?? [])
  const hash = realmSetHash(realms, inviteRealms)
  const sight = { realms: refsOf(realms), invited: refsOf(inviteRealms), hash }
  sights.set(visibility, sight)
  return sight
}

/** More changed realms than this are told in one message. */
const MAX_NOTICES = 8

/** True when a realm of the same id took the place of one. */
export function lostSome(before: Sight, now: Sight): boolean {
  const seen = new Set([...now.realms, ...now.invited])
  return [...before.realms, ...before.invited].some((realm) => !seen.has(realm))
}

/** The messages that name the realms which changed; undefined when there is a shorter way. */
export function noticesOf(tx: ReadTx, before: Sight, now: Sight): readonly string[] | undefined {
  const had = new Set(before.realms)
  const wasInvited = new Set(before.invited)
  const has = new Set(now.realms)
  const isInvited = new Set(now.invited)
  const added = now.realms.filter((realm) => !had.has(realm) && !wasInvited.has(realm))
  const offered = now.invited.filter((realm) => !had.has(realm) && !wasInvited.has(realm))
  const accepted = now.realms.filter((realm) => wasInvited.has(realm))
  const removed = [
    ...before.realms.filter((realm) => !has.has(realm)),
    ...before.invited.filter((realm) => !has.has(realm) && !isInvited.has(realm)),
  ]
  const notices = [
    ...[...added, ...offered].map((ref) => ({ type: 'realm-added', ref })),
    ...accepted.map((ref) => ({ type: 'realm-accepted', ref })),
    ...removed.map((ref) => ({ type: 'realm-removed', ref })),
  ]
  if (notices.length === 0 || notices.length > MAX_NOTICES) return undefined
  const texts: string[] = []
  for (const { type, ref } of notices) {
    const realm = tx.realms.findByRef(ref)
    if (realm === undefined) return undefined
    texts.push(JSON.stringify({ type, realm: realm.id }))
  }
  return texts
}

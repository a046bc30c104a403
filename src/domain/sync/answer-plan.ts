// The content of the answer to a sync request (protocol.md §4.3, §4.7): decided once, in the
// snapshot with which it begins.

import type { Actor } from '../access/actor'
import type { BlobStore } from '../store/blob-store'
import type { ChunkSize } from '../store/objects'
import type { RealmRef } from '../store/realms'
import type { ReadTx } from '../store/store'
import type { Table } from '../store/tables'
import { quoted, SatchelError } from '../value/error'
import type { Named, NamedKey, Rejection } from './named-keys'
import type { LastPull, SyncRequest } from './request'
import { numberOfRevision } from './revision'
import { syncedOf } from './schema'
import type { TextProperties } from './text'
import type { Visibility } from './visible'

/** One short read of an answer; a part of it has as many characters. */
export const CHUNK: ChunkSize = { rows: 500, bytes: 128 * 1024 }

/** A request of sync whose changes have been stored. */
export interface Pull {
  readonly actor: Actor
  readonly request: SyncRequest
  readonly named: Named
  readonly rejections: readonly Rejection[]
  /** The number of the client; absent for anonymous callers, who have no private rows. */
  readonly client?: number
  /** The revisions in which nothing changed but rows that the request names (`Pushed`). */
  readonly ownRevisions?: ReadonlySet<number>
  /** Called with the first damaged row that the answer leaves out. */
  readonly report?: (damage: SatchelError) => void
  /** Where the bytes of blobs come from, for a client that does not know BlobRefs. */
  readonly contents?: BlobStore | undefined
  /** Called before an answer of several parts is read; it is read when the promise has resolved. */
  readonly untilItsTurn?: () => Promise<void>
}

/** What an answer will hold, decided once, when it begins. */
export interface AnswerPlan {
  readonly pull: Pull
  /** How much one read may take. */
  readonly chunk: ChunkSize
  /** The revision of the snapshot in which it was made. */
  readonly revision: number
  /** The client has everything up to here in its `known` realms. */
  readonly base: number
  /** The lists of the answer, as ids. */
  readonly realms: readonly string[]
  readonly inviteRealms: readonly string[]
  /** The listed realms that the client has, and those that it gets whole. */
  readonly known: ReadonlySet<RealmRef>
  readonly fresh: ReadonlySet<RealmRef>
  /** The listed invitations, and those that the client does not know. */
  readonly invitations: ReadonlySet<RealmRef>
  readonly newInvitations: ReadonlySet<RealmRef>
  /** The listed invitations to realms whose content the client has had. */
  readonly formerRealms: ReadonlySet<RealmRef>
  /** The tables that the client syncs, by name. */
  readonly tables: ReadonlyMap<string, Table>
  /** The tables that the client gets whole. */
  readonly newTables: ReadonlySet<string>
  /** The values that are left out of its rows; undefined for none. */
  readonly text: TextProperties | undefined
  /** The `schema` of the answer, as JSON. */
  readonly schema: string
  /** The named keys that are not as the client has assumed. */
  readonly pending: readonly PendingKey[]
  /** Whether the answer has private rows (`#key:user`) as new ones. */
  readonly privates: { areSent: boolean }
  /**
   * Notes a damaged row. It is not sent, and not deleted either: the copy of the client may be all that
   * is left of it. Only the first one is reported, because `satchel verify` lists all of them.
   */
  leaveOut(table: string, key: string): void
}

/** A key that a request named, and what the request did to it. */
interface PendingKey {
  readonly table: string
  readonly key: string
  readonly named: NamedKey
  /** The row is as the client has assumed if it is there. */
  readonly isMoved: boolean
}

/** Decides what the answer to a request holds, in the snapshot with which it begins and its actor sees this. */
export function planAnswer(
  tx: ReadTx,
  pull: Pull,
  visibility: Visibility,
  chunk: ChunkSize,
): AnswerPlan {
  const { lastPull } = pull.request
  const revision = tx.revision()
  const base = baseOf(tx, pull.request, revision)
  const omitted = omittedRealms(tx, pull.request, visibility, base)
  const isListed = (id: string) => !omitted.has(id)
  const isWhole = omitted.size === 0
  const realms = isWhole ? visibility.realms : visibility.realms.filter(isListed)
  const inviteRealms = isWhole ? visibility.inviteRealms : visibility.inviteRealms.filter(isListed)
  // A client in many realms mostly has the same as before.
  // The client may name a million realms, so that only those of the answer are looked at.
  const { realms: had, inviteRealms: hadInvitations } = lastPull ?? NO_REALMS
  const knownIds = realms.filter((id) => had.has(id))
  const isSame = isWhole && knownIds.length === realms.length && had.size === realms.length
  const refsOf = (ids: readonly string[]) =>
    ids.length === 0 ? NONE : new Set(ids.flatMap((id) => visibility.refs.get(id) ?? []))
  const { tables, unsynced, text, echo } = syncedOf(tx, pull.request)
  let isReported = false
  return {
    pull,
    chunk,
    revision,
    base: base ?? 0,
    realms,
    inviteRealms,
    known: isSame ? visibility.realmRefs : refsOf(knownIds),
    fresh: isSame ? NONE : refsOf(realms.filter((id) => !had.has(id))),
    invitations: refsOf(inviteRealms),
    newInvitations: refsOf(inviteRealms.filter((id) => !had.has(id) && !hadInvitations.has(id))),
    formerRealms: refsOf(inviteRealms.filter((id) => had.has(id))),
    tables,
    newTables: lastPull === undefined ? NO_TABLES : unsynced,
    text,
    schema: echo,
    pending: findPending(pull.named, base, knownIds.length < had.size),
    privates: { areSent: false },
    leaveOut(table, key) {
      if (!isReported) pull.report?.(leftOut(table, key))
      isReported = true
    },
  }
}

const NONE: ReadonlySet<RealmRef> = new Set()
const NO_IDS: ReadonlySet<string> = new Set()
const NO_TABLES: ReadonlySet<string> = new Set()
const NO_REALMS: Pick<LastPull, 'realms' | 'inviteRealms'> = {
  realms: new Set(),
  inviteRealms: new Set(),
}

function leftOut(table: string, key: string): SatchelError {
  return new SatchelError(
    'DAMAGED',
    `The row ${quoted(key)} of the table ${quoted(table)} is damaged on the disk: a client syncs without it; satchel verify lists all damage`,
    { reason: key },
  )
}

/** The revision of the last pull; undefined when there was none that changes can be counted from. */
function baseOf(tx: ReadTx, { lastPull }: SyncRequest, revision: number): number | undefined {
  if (lastPull === undefined) return undefined
  const base = numberOfRevision(tx.runs.list(), revision, lastPull.serverRevision)
  return base === undefined || base < tx.runs.oldest() ? undefined : base
}

/**
 * Realms of which the client has what no changes can correct: all of them when its revision is unknown
 * or too old, else those that were deleted and made again since.
 */
function omittedRealms(
  tx: ReadTx,
  { lastPull }: SyncRequest,
  { realms, inviteRealms, refs, births, newestBirth }: Visibility,
  base: number | undefined,
): ReadonlySet<string> {
  if (base !== undefined && newestBirth <= base) return NO_IDS
  const had = lastPull ?? NO_REALMS
  const isKnown = (id: string) => had.realms.has(id) || had.inviteRealms.has(id)
  const listed = [...realms, ...inviteRealms].filter(isKnown)
  if (base === undefined) return new Set(listed)
  const omitted = new Set<string>()
  for (const id of listed) {
    const ref = refs.get(id)
    if (ref === undefined || (births.get(ref) ?? 0) <= base) continue
    // A private realm is listed before it has its first object.
    if (tx.realms.isRetired(id)) omitted.add(id)
  }
  return omitted
}

/**
 * A client that loses a realm drops its rows, but not one that it has moved elsewhere meanwhile: if
 * the row is not there any more, the client learns it from this answer alone. The realm is lost with
 * this answer, or it was with one that came after the move: then the move has changed nothing, and its
 * base is older than that of the request.
 */
function findPending(
  named: Named,
  base: number | undefined,
  hasLost: boolean,
): readonly PendingKey[] {
  const pending: PendingKey[] = []
  for (const [table, keys] of named) {
    for (const [key, one] of keys) {
      const mayBeLost = hasLost || (one.base !== base && one.revision === undefined)
      const isMoved = !isPending(one) && mayBeLost && one.properties?.has('realmId') === true
      if (isMoved || isPending(one)) pending.push({ table, key, named: one, isMoved })
    }
  }
  return pending
}

/** True for a row that is not as the client has assumed. */
export function isPending({ isAsSent, isRejected }: NamedKey): boolean {
  return !isAsSent || isRejected
}

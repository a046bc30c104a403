// Which rows and deletions the answer holds, and how a client gets back what was merged otherwise
// than it assumed: docs/merging.md, "Transactions".

import { requireStanding } from '../access/actor'
import { type Change, everyChange, type TimedObject } from '../store/objects'
import type { RealmRef } from '../store/realms'
import type { ReadTx } from '../store/store'
import { addChange, addNamedRow, OutgoingOperations } from './message'
import type { NamedKey } from './named-keys'
import { CHUNK, isPending, type AnswerPlan } from './answer-plan'
import { isPersonal, type Visibility, visibilityOf, hadMemberRow } from './visible'

/** What the actor sees at this moment of the realms that the answer lists. */
export interface AnswerSight {
  readonly plan: AnswerPlan
  /** A realm that was lost meanwhile stays listed, and nothing more of it is sent. */
  readonly realms: ReadonlySet<RealmRef>
  readonly visibility: Visibility
}

/** In a read after the one in which the answer was planned. Throws as `requireStanding`. */
export function answerSight(tx: ReadTx, plan: AnswerPlan): AnswerSight {
  const { actor } = plan.pull
  requireStanding(tx, actor)
  return answerSightIn(plan, visibilityOf(tx, actor))
}

export function answerSightIn(plan: AnswerPlan, visibility: Visibility): AnswerSight {
  const { realmRefs } = visibility
  const listed = plan.fresh.size === 0 ? plan.known : plan.known.union(plan.fresh)
  return {
    plan,
    realms: listed === realmRefs ? listed : listed.intersection(realmRefs),
    visibility,
  }
}

function isSeen(
  { plan, realms, visibility }: AnswerSight,
  table: string,
  object: TimedObject,
): boolean {
  const isListed = realms.has(object.realm) || plan.invitations.has(object.realm)
  return isListed && visibility.sees(table, object.realm, object.key)
}

/** Adds a change of a listed realm, unless the client has it already or gets it otherwise. */
export function addSeen(
  tx: ReadTx,
  sight: AnswerSight,
  operations: OutgoingOperations,
  change: Change,
): void {
  const { plan } = sight
  const { table: name, key, revision, object } = change
  if (object?.isDamaged === true) return plan.leaveOut(name, key)
  const named = plan.pull.named.get(name)?.get(key)
  if (named !== undefined && isPending(named) && revision <= plan.revision) return
  if (object === null) {
    if (isPersonal(name, change.realm) && !hadMemberRow(tx, plan.pull.actor, key)) return
    if (named?.revision === revision && !isPending(named)) return
    const table = plan.tables.get(name)
    const current = table && tx.objects.findMany(table, [key]).get(key)
    if (current?.isDamaged === true) return plan.leaveOut(name, key)
    // An object that moved within what the client sees, or was made again, is sent as a row.
    if (current === undefined || !isSeen(sight, name, current)) operations.delete(name, key)
    return
  }
  if (!isSeen(sight, name, object)) {
    const isKnown = sight.realms.has(object.realm) && object.entered <= plan.base
    // Of a realm whose content they see, users lack only rows of `members`.
    if (isKnown && hadMemberRow(tx, plan.pull.actor, key)) operations.delete(name, key)
    return
  }
  const isOwn = named?.revision === revision && !isPending(named)
  if (isUnknown(plan, name, object)) {
    // Of a realm that it did not have, the client has the rows that it made.
    const isMade = isOwn && object.entered === revision
    const isKept = isMade && isStillKept(tx, sight, object.realm, named)
    if (!isKept) upsertNew(plan, operations, name, object)
  } else if (named === undefined) addChange(operations, change, plan.base)
  else if (!isOwn) addNamedRow(operations, name, object, named)
}

/**
 * False for a row that the client may have dropped since it made it: an answer after that left out the
 * realm, which was another one then.
 */
function isStillKept(
  tx: ReadTx,
  { plan: { pull, base }, visibility }: AnswerSight,
  realm: RealmRef,
  named: NamedKey,
): boolean {
  if (pull.request.lastPull === undefined) return true
  if (named.base !== undefined && named.base >= base) return true
  // Every client lists the private realm of its user, before it has its first object.
  if (realm === visibility.refs.get(pull.actor.subject ?? '')) return false
  return tx.realms.bornAt(realm) > base
}

/** True when the client had no rows of this realm or table, or when the row may be its own only now. */
function isUnknown({ fresh, newTables }: AnswerPlan, table: string, object: TimedObject): boolean {
  return fresh.has(object.realm) || newTables.has(table) || isPersonal(table, object.realm)
}

function upsertNew(
  { privates }: AnswerPlan,
  operations: OutgoingOperations,
  table: string,
  { key, value }: TimedObject,
): void {
  if (key.startsWith('#')) privates.areSent = true
  operations.upsert(table, key, value)
}

/** The operations that restore or correct the rows of the next pending keys. */
export function pendingRows(
  tx: ReadTx,
  sight: AnswerSight,
  start: number,
): { readonly entries: string; readonly next: number | undefined } {
  const { plan } = sight
  const { pending } = plan
  if (pending.length === 0) return { entries: '', next: undefined }
  const operations = new OutgoingOperations()
  let at = start
  while (at < pending.length && at < start + CHUNK.rows && operations.size < plan.chunk.bytes) {
    const { table: name, key, named, isMoved } = pending[at]!
    const table = tx.tables.find(name)
    const found = table && tx.objects.findMany(table, [key]).get(key)
    if (found?.isDamaged === true) plan.leaveOut(name, key)
    else if (found === undefined || !isSeen(sight, name, found)) operations.delete(name, key)
    else if (isUnknown(plan, name, found) && !isMoved) upsertNew(plan, operations, name, found)
    else if (!isMoved) addNamedRow(operations, name, found, named)
    at += 1
  }
  return { entries: operations.text(), next: at < pending.length ? at : undefined }
}

/**
 * Adds the rows of listed invitations: that of the realm, and the actor's own in `members`. Removes rows of `members`
 * that invited the actor before, and what the client keeps of a realm that became an invitation: the rows of
 * `members` and `roles` (protocol.md §4.7), of which the actor sees its own only.
 */
export function addInvitations(
  tx: ReadTx,
  sight: AnswerSight,
  operations: OutgoingOperations,
): void {
  const { plan, visibility } = sight
  for (const id of plan.inviteRealms) {
    const realm = visibility.refs.get(id)
    const members = realm === undefined ? undefined : visibility.invitations.get(realm)
    if (realm === undefined || members === undefined) continue
    const isKnown = !plan.newInvitations.has(realm) && !plan.formerRealms.has(realm)
    if (isKnown) {
      const isTold = (key: string) => hadMemberRow(tx, plan.pull.actor, key)
      dropLost(tx, sight, operations, new Set([realm]), ['members'], plan.base, isTold)
    }
    const keys = [['realms', [id]] as const, ['members', [...members]] as const]
    for (const [name, own] of keys) {
      const table = plan.tables.get(name)
      if (table === undefined) continue
      for (const object of tx.objects.findMany(table, own).values()) {
        const { key, revision, isDamaged } = object
        const change = { table: name, key, realm, revision, object }
        const isNew = plan.newInvitations.has(realm) || (revision > plan.base && name === 'members')
        // A row that may be the user's own only now is sent whole.
        if (isDamaged === true) plan.leaveOut(name, key)
        else if (isNew) operations.upsert(name, key, object.value)
        else if (revision > plan.base) addSeen(tx, sight, operations, change)
      }
    }
  }
  if (plan.formerRealms.size === 0) return
  dropLost(tx, sight, operations, plan.formerRealms, ['members', 'roles'], 0, () => true)
}

/**
 * Removes rows of these realms and tables that changed after `since`, if the client has them and has to be told, and
 * its user does not see them any more.
 */
function dropLost(
  tx: ReadTx,
  sight: AnswerSight,
  operations: OutgoingOperations,
  realms: ReadonlySet<RealmRef>,
  names: readonly string[],
  since: number,
  isTold: (key: string) => boolean,
): void {
  const { plan } = sight
  const tables = new Set(names.filter((name) => plan.tables.has(name)))
  const changes = everyChange(tx.objects, realms, since, tx.revision(), tables)
  for (const { table: name, key, object } of changes) {
    if ((object !== null && object.entered > plan.base) || !isTold(key)) continue
    // The object may have moved to another realm that the actor sees.
    const row = object ?? tx.objects.findMany(plan.tables.get(name)!, [key]).get(key)
    const isKept = row !== undefined && (row.isDamaged === true || isSeen(sight, name, row))
    if (!isKept) operations.delete(name, key)
  }
}

import { continueJob, startJob } from '../job/job'
import type { JobStep } from '../job/job-runner'
import type { WriteTx } from '../store/store'
import { findUsersOfEmail, unknownUser } from './list'
import { randomToken } from '../value/id'
import type { Job } from '../store/records'
import type { User } from '../store/users'
import { foldEmail } from '../value/email'
import { permissionsOf } from '../access/access'
import type { Membership, Rights } from '../store/memberships'
import { FULL, hasFullRights } from '../value/permission'
import type { TimedObject } from '../store/objects'
import { builtInTable } from '../object/tables'
import { putOf, removalOf, store } from '../object/write'
import { parseStored, setOwn, type WireObject } from '../value/value'
import { PUBLIC_REALM_REF, type RealmRef } from '../store/realms'
import type { Table } from '../store/tables'

/**
 * Removes a user (spec.md §3): from this commit the id is unused, its tokens have ended and its
 * private realm is empty; jobs erase its objects. Shared realms are left in this unit as far as
 * possible without delaying others, and by a job from there on. `now` in ms. Throws
 * `UNKNOWN_USER`.
 */
export function removeUser(tx: WriteTx, id: string, now: number): void {
  const user = tx.users.find(id)
  if (user === undefined) throw unknownUser()
  tx.users.remove(id)
  tx.refreshTokens.removeOf({ user: user.incarnation })
  tx.syncClients.removeOfSubject(id)
  tx.audit.rename(id, randomToken(12))
  const addresses = addressesOf(tx, user)
  for (const address of addresses) tx.forgetAddress(address)
  const realm = tx.realms.find(id)
  if (realm !== undefined) {
    tx.realms.markErasing(realm.ref)
    startJob(tx, 'erase', { realm: realm.ref }, now)
  }
  if (!leaveRealms(tx, id, addresses, now)) {
    startJob(tx, 'leave', { user: id, addresses }, now)
  }
}

/** The id, and the address for codes, mails and invitations, unless others have that address too. */
function addressesOf(tx: WriteTx, { id, data }: User): readonly string[] {
  const email = typeof data?.['email'] === 'string' ? foldEmail(data['email']) : id
  return email === id || findUsersOfEmail(tx, email).length > 0 ? [id] : [id, email]
}

/** The jobs that a removal leaves behind, for the runner of a database. */
export const REMOVAL_STEPS: Readonly<Partial<Record<Job['kind'], JobStep>>> = {
  leave: (database, { id }) =>
    continueJob(database, id, (tx, job) => {
      const { user, addresses } = job.state as { user: string; addresses: readonly string[] }
      return leaveRealms(tx, user, addresses, job.created) ? undefined : job
    }),

  'hand-over': (database, { id }) =>
    continueJob(database, id, (tx, job) => {
      const { realm, after, isLooking } = job.state
      const cursor = { after: String(after), isLooking: isLooking === true }
      const { next } = handOver(tx, Number(realm), cursor, job.created)
      return next && { ...job, state: { ...job.state, ...next } }
    }),
}

/** Realms that are looked up, members that are written, and former rows that are removed, at once. */
const BATCH = 50
/** Members that one unit looks at, and those of one more realm: it may write all of them. */
const MOST_MEMBERS = 100

/**
 * Takes a deleted user out of the realms they are in, one after the other, and forgets which rows of
 * `members` were for their id and address: some of both; true when nothing
 * is left. Each realm is left wholly or not at all.
 */
function leaveRealms(
  tx: WriteTx,
  userId: string,
  addresses: readonly string[],
  now: number,
): boolean {
  const memberships = tx.memberships.ofUser(userId, BATCH)
  let members = 0
  for (const realm of new Set(memberships.map((membership) => membership.realm))) {
    if (members >= MOST_MEMBERS) return false
    members += leaveRealm(tx, userId, realm, now)
  }
  if (memberships.length === BATCH) return false
  return addresses.every((address) => tx.memberships.forgetFormer(address, BATCH) < BATCH)
}

/** The progress of handing over a realm. */
interface HandOver {
  /** True while looking for a member with full rights; when there is none, all members get them. */
  readonly isLooking: boolean
  /** The last member that was processed. */
  readonly after: string
}

/**
 * Hands a realm that has lost a member with full rights over to its members, unless one of them has
 * full rights as well (spec.md §3): a batch of them. Returns how many, and where to go on, undefined at the
 * end.
 */
function handOver(
  tx: WriteTx,
  realm: RealmRef,
  { isLooking, after }: HandOver,
  now: number,
): { readonly next: HandOver | undefined; readonly members: number } {
  const members = tx.memberships.ofRealm(realm, after, BATCH, true)
  const { length } = members
  const end = length < BATCH ? undefined : members.at(-1)?.source
  if (isLooking) {
    if (isAnyFull(tx, members)) return { next: undefined, members: length }
    if (end !== undefined) return { next: { isLooking, after: end }, members: length }
    return handOver(tx, realm, { isLooking: false, after: '' }, now)
  }
  const table = builtInTable(tx, 'members')
  for (const membership of members) {
    const permissions = { ...membership.permissions, ...FULL }
    const row = rowOf(tx, table, membership)
    if (row !== undefined) rewrite(tx, table, row, { permissions }, now)
    tx.memberships.put({ ...membership, permissions })
  }
  const next = end === undefined ? undefined : { isLooking, after: end }
  return { next, members: length }
}

/** Returns how many members of the realm it has looked at. */
function leaveRealm(tx: WriteTx, userId: string, realm: RealmRef, now: number): number {
  const own = tx.memberships.ofSubjectIn(userId, null, realm)
  const hadFullRights = isAnyFull(
    tx,
    own.filter(({ accepted }) => accepted),
  )
  for (const { source } of own) tx.memberships.remove(source)
  const isOwner = own.some(({ source }) => source.startsWith('realms:'))
  if (isOwner && isForsaken(tx, realm)) {
    // No other user could ever see it: it is as private as the private realm.
    tx.memberships.removeOfRealm(realm)
    tx.realms.markErasing(realm)
    startJob(tx, 'erase', { realm }, now)
    return own.length
  }
  for (const membership of own) endMembership(tx, membership, now)
  // Managers of the public realm are appointed with `GLOBAL_WRITE`.
  if (!hadFullRights || realm === PUBLIC_REALM_REF) return own.length
  const { next, members } = handOver(tx, realm, { isLooking: true, after: '' }, now)
  if (next !== undefined) startJob(tx, 'hand-over', { realm, ...next }, now)
  return own.length + members
}

/** True for a realm without a member and without an open invitation. */
function isForsaken(tx: WriteTx, realm: RealmRef): boolean {
  const rows = tx.memberships.ofRealm(realm, '', BATCH)
  return rows.length < BATCH && rows.every(({ rejected }) => rejected)
}

/** The row of a member goes; a realm that belonged to the user becomes unowned. */
function endMembership(tx: WriteTx, membership: Membership, now: number): void {
  const isOwnership = membership.source.startsWith('realms:')
  const table = builtInTable(tx, isOwnership ? 'realms' : 'members')
  const row = rowOf(tx, table, membership)
  if (row === undefined) return
  if (isOwnership) rewrite(tx, table, row, { owner: null }, now)
  else store({ tx, table, now }, [], [removalOf({ table }, row)])
}

function rewrite(
  tx: WriteTx,
  table: Table,
  previous: TimedObject,
  fields: WireObject,
  now: number,
): void {
  const object = { ...parseStored(previous.value) }
  for (const [name, value] of Object.entries(fields)) setOwn(object, name, value)
  const { key, realm: ref } = previous
  const owner = 'owner' in fields ? null : previous.owner
  const draft = { object, text: JSON.stringify(object) }
  const writing = { tx, table, now }
  store(writing, [putOf(writing, { draft, key, realm: { ref }, owner, previous })])
}

function rowOf(tx: WriteTx, table: Table, { source }: Membership) {
  return tx.objects.find(table, source.slice(source.indexOf(':') + 1))
}

function isAnyFull(tx: WriteTx, rights: readonly Rights[]): boolean {
  const kinds = new Map(rights.map((one) => [JSON.stringify([one.permissions, one.roles]), one]))
  for (const one of kinds.values()) {
    if (hasFullRights(permissionsOf(tx, one))) return true
  }
  return false
}

import { permissionsOf } from '../access/access'
import type { Membership, Rights } from '../store/memberships'
import { FULL, hasFullRights } from '../value/permission'
import { startJob } from '../job/job'
import { UNIT_MS } from '../job/job-runner'
import type { StoredObject } from '../store/objects'
import { storedTraces, tracesOf } from '../object/traces'
import { parseStored, setOwn, type WireObject } from '../value/value'
import { PUBLIC_REALM_REF, type RealmRef } from '../store/realms'
import type { WriteTx } from '../store/store'
import type { Table } from '../store/tables'

/** Realms that are looked up, and members that are written, at once. */
const BATCH = 50

/**
 * Takes a deleted user out of the realms they are in, one after the other, until the unit has
 * lasted long enough; true when none is left. Each realm is left wholly or not at all.
 */
export async function leaveRealms(tx: WriteTx, userId: string, now: number): Promise<boolean> {
  const end = performance.now() + UNIT_MS
  for (;;) {
    const memberships = await tx.memberships.ofUser(userId, BATCH)
    if (memberships.length === 0) return true
    for (const realm of new Set(memberships.map((membership) => membership.realm))) {
      await leaveRealm(tx, userId, realm, now)
      if (performance.now() > end) return (await tx.memberships.ofUser(userId, 1)).length === 0
    }
  }
}

/** How far a realm is in being handed over. */
export interface HandOver {
  /** First for a member who has full rights already; when there is none, they are given to all. */
  readonly isLooking: boolean
  /** The member it has come to. */
  readonly after: string
}

/**
 * Hands a realm that has lost somebody with full rights over to its members, unless one of them has
 * full rights as well (spec.md §3): a batch of them. Resolves to where to go on, undefined at the end.
 */
export async function handOver(
  tx: WriteTx,
  realm: RealmRef,
  { isLooking, after }: HandOver,
  now: number,
): Promise<HandOver | undefined> {
  const members = await tx.memberships.membersOf(realm, after, BATCH)
  const end = members.length < BATCH ? undefined : members.at(-1)?.source
  if (isLooking) {
    if (await isAnyFull(tx, members)) return undefined
    if (end !== undefined) return { isLooking, after: end }
    return handOver(tx, realm, { isLooking: false, after: '' }, now)
  }
  const table = await builtIn(tx, 'members')
  for (const membership of members) {
    const permissions = { ...membership.permissions, ...FULL }
    const row = await rowOf(tx, table, membership)
    if (row !== undefined) await rewrite(tx, table, row, { permissions }, now)
    await tx.memberships.put({ ...membership, permissions })
  }
  return end === undefined ? undefined : { isLooking, after: end }
}

async function leaveRealm(
  tx: WriteTx,
  userId: string,
  realm: RealmRef,
  now: number,
): Promise<void> {
  const own = await tx.memberships.ofUserIn(userId, realm)
  const hadFullRights = await isAnyFull(
    tx,
    own.filter(({ accepted }) => accepted),
  )
  for (const { source } of own) await tx.memberships.remove(source)
  const isOwner = own.some(({ source }) => source.startsWith('realms:'))
  if (isOwner && (await isForsaken(tx, realm))) {
    // No other user could ever see it: it is as private as the private realm.
    await tx.memberships.removeOfRealm(realm)
    await tx.realms.markErasing(realm)
    await startJob(tx, 'erase', { realm }, now)
    return
  }
  for (const membership of own) await removeRow(tx, membership, now)
  // Managers of the public realm are appointed with `GLOBAL_WRITE`.
  if (!hadFullRights || realm === PUBLIC_REALM_REF) return
  const next = await handOver(tx, realm, { isLooking: true, after: '' }, now)
  if (next !== undefined) await startJob(tx, 'hand-over', { realm, ...next }, now)
}

/** No member is in it, and nobody is invited who could still come. */
async function isForsaken(tx: WriteTx, realm: RealmRef): Promise<boolean> {
  const rows = await tx.memberships.ofRealm(realm, BATCH)
  return rows.length < BATCH && rows.every(({ rejected }) => rejected)
}

/** The row of a member goes; a realm that belonged to the user belongs to nobody. */
async function removeRow(tx: WriteTx, membership: Membership, now: number): Promise<void> {
  const isOwnership = membership.source.startsWith('realms:')
  const table = await builtIn(tx, isOwnership ? 'realms' : 'members')
  const row = await rowOf(tx, table, membership)
  if (row === undefined) return
  if (isOwnership) await rewrite(tx, table, row, { owner: null }, now)
  else await tx.objects.remove(table, [{ previous: row, ...storedTraces(table, row.value) }], now)
}

async function rewrite(
  tx: WriteTx,
  table: Table,
  previous: StoredObject,
  fields: WireObject,
  now: number,
): Promise<void> {
  const object = parseStored(previous.value)
  for (const [name, value] of Object.entries(fields)) setOwn(object, name, value)
  const { key, realm } = previous
  const owner = 'owner' in fields ? null : previous.owner
  const value = JSON.stringify(object)
  const traces = tracesOf(table, { text: value, object: () => object })
  const previousTraces = storedTraces(table, previous.value)
  await tx.objects.put(
    table,
    [{ key, realm, owner, value, ...traces, previous, previousTraces }],
    now,
  )
}

function rowOf(tx: WriteTx, table: Table, { source }: Membership) {
  return tx.objects.find(table, source.slice(source.indexOf(':') + 1))
}

async function builtIn(tx: WriteTx, name: string): Promise<Table> {
  const table = await tx.tables.find(name)
  if (table === undefined) throw new Error(`the table ${name} is missing`)
  return table
}

async function isAnyFull(tx: WriteTx, rights: readonly Rights[]): Promise<boolean> {
  const kinds = new Map(rights.map((one) => [JSON.stringify([one.permissions, one.roles]), one]))
  for (const one of kinds.values()) {
    if (hasFullRights(await permissionsOf(tx, one))) return true
  }
  return false
}

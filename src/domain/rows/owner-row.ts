import { conflict } from '../value/error'
import { draftOf } from '../object/draft'
import { putDrafts } from '../object/put'
import { builtInTable } from '../object/tables'
import type { Writing } from '../object/writing'
import type { Realm, RealmRef } from '../store/realms'
import type { ChunkSize, StoredObject } from '../store/objects'
import type { ReadTx, WriteTx } from '../store/store'
import type { Table } from '../store/tables'
import type { Membership } from '../store/memberships'
import { FULL } from '../value/permission'
import { parseStored, type WireObject } from '../value/value'

/**
 * Gives the owner of a realm an accepted row of `members` in it unless there is one (protocol.md
 * Appendix C.7): an open invitation to the address of the owner, else a row of its own. It grants
 * nothing, because the owner has all rights by owning. Resolves to the key of the invitation that it
 * accepted, if there was one.
 */
export function ensureOwnerRow(given: Writing, realm: Realm, owner: string): string | undefined {
  const { tx, actor, now } = given
  if (isAcceptedIn(tx, realm.ref, owner)) return undefined
  const table = builtInTable(tx, 'members')
  const email = actor.subject === owner ? actor.email : null
  const accepted = { $t: 'Date', v: new Date(now).toISOString() }
  const invitation = email === null ? undefined : findInvitation(tx, table, realm.ref, email)
  const row =
    invitation === undefined
      ? {
          id: ownerKey(tx, table, realm.id, owner),
          realmId: realm.id,
          userId: owner,
          ...(email === null ? {} : { email }),
          ...(email === null || actor.name === null ? {} : { name: actor.name }),
          accepted,
          owner,
        }
      : { ...acceptable(invitation), userId: owner, accepted }
  const writing: Writing = { ...given, table, isGlobal: true, view: 'all' }
  putDrafts(writing, [draftOf(table, row, undefined)])
  return invitation?.key
}

/** A rejection of the same or a later time would count. */
function acceptable({ value }: StoredObject): WireObject {
  const { rejected: _rejected, ...row } = parseStored(value)
  return row
}

/**
 * Throws `CONFLICT` when the user owns the realm and has no accepted row in it any more (design.md
 * §5.5).
 */
export function requireOwnerRow(tx: ReadTx, realm: RealmRef, userId: string): void {
  const rows = tx.memberships.ofSubjectIn(userId, null, realm)
  const isOwner = rows.some(({ source }) => source.startsWith(OWNERSHIP))
  if (!isOwner || isAcceptedIn(tx, realm, userId)) return
  throw conflict(
    'The owner of a realm stays a member of it: give the realm to another member first, or delete it',
    'owner',
  )
}

/** Realms that are looked at in one unit. */
const STEP: ChunkSize = { rows: 200, bytes: 1024 * 1024 }

/**
 * `ensureOwnerRow` for some realms, after an import: from `after` on, a position in the table
 * `realms`. Resolves to the position to go on after, undefined at the end.
 */
export function ensureOwnerRows(given: Writing, after: number): number | undefined {
  const { tx } = given
  const table = tx.tables.find('realms')
  if (table === undefined) return undefined
  const { rows, next } = tx.objects.page(table, { after: { seq: after }, size: STEP })
  for (const row of rows) {
    if (row.isDamaged === true) continue
    const { owner } = parseStored(row.value)
    const realm = tx.realms.findByRef(row.realm)
    if (typeof owner !== 'string' || realm === undefined) continue
    ensureOwnerRow(given, realm, owner)
  }
  return next?.seq
}

/** Names the rights that a row of `realms` gives, besides those of rows of `members`. */
export const OWNERSHIP = 'realms:'

/** The rights that the row of `realms` with this key gives its owner: all. */
export function ownershipOf(key: string, realm: RealmRef, owner: string): Membership {
  return {
    source: `${OWNERSHIP}${key}`,
    realm,
    userId: owner,
    email: null,
    accepted: true,
    rejected: false,
    permissions: FULL,
    roles: [],
  }
}

function isAcceptedIn(tx: ReadTx, realm: RealmRef, userId: string): boolean {
  const rows = tx.memberships.ofSubjectIn(userId, null, realm)
  return rows.some(({ source, accepted }) => accepted && !source.startsWith(OWNERSHIP))
}

function findInvitation(
  tx: ReadTx,
  table: Table,
  realm: RealmRef,
  email: string,
): StoredObject | undefined {
  const [found] = tx.memberships.ofSubjectIn(null, email, realm)
  return found && tx.objects.find(table, found.source.slice('members:'.length))
}

/**
 * Derived from the id of the realm, so that it is the same wherever the realm is made again; for later
 * owners from theirs too, because former ones may keep their rows.
 */
function ownerKey(tx: WriteTx, table: Table, realmId: string, owner: string): string {
  const first = `${table.idPrefix}${realmId.slice('rlm'.length)}`
  for (const key of [first, `${first}:${owner}`]) {
    if (tx.objects.find(table, key) === undefined) return key
  }
  return tx.newId(table.idPrefix, realmId)
}

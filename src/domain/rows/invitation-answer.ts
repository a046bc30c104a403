import { accessOf } from '../access/access'
import { membershipOf } from './member-rows'
import type { Actor } from '../access/actor'
import { SatchelError, busy, conflict } from '../value/error'
import { addressIn, nameOfRealm } from './invitation'
import type { StoredObject } from '../store/objects'
import { draftOf } from '../object/draft'
import { putDrafts } from '../object/put'
import { getOwn, isRecord, parseStored, type WireObject } from '../value/value'
import { shownName } from '../value/shown-name'
import type { ReadTx, WriteTx } from '../store/store'
import { requireTable } from '../object/tables'
import type { User } from '../store/users'
import type { Invitation } from '../store/invitations'
import type { Table } from '../store/tables'
import { writingInView } from '../object/writing'
import { ROW_RULES } from './row-rules'

export type InvitationAnswer = 'accept' | 'reject'

/**
 * An invitation as its page shows it. Names are as people gave them; those that are missing are
 * empty.
 */
export interface ShownInvitation {
  readonly state: 'open' | 'accepted' | 'rejected'
  readonly email: string
  /** Whose answer it is, or null. */
  readonly userId: string | null
  readonly realmName: string
  readonly inviterName: string
  readonly inviterEmail: string
}

/**
 * Throws `UNKNOWN_INVITATION` when it was taken back, or is for another address or realm by now.
 */
export function getInvitation(tx: ReadTx, invitation: Invitation): ShownInvitation {
  const { row, state, realmId, userId } = findRow(tx, invitation)
  const inviter = row['invitedBy']
  const told = isRecord(inviter) ? inviter : {}
  return {
    state,
    email: invitation.email,
    userId,
    realmName: nameOfRealm(tx, realmId),
    inviterName: shownName(getOwn(told, 'name')),
    inviterEmail: shownName(getOwn(told, 'email')),
  }
}

/**
 * Writes the answer of the person whose mailbox it is into the row, as they could themselves
 * (protocol.md §6.4); a second one of the same kind changes nothing. `user` is the invitee;
 * rejecting needs no user. `now` in ms. Throws as `getInvitation`, `CONFLICT` when another account
 * has answered, or when what is rejected was accepted before, and `BUSY` when the user went
 * meanwhile.
 */
export function answerInvitation(
  tx: WriteTx,
  invitation: Invitation,
  answer: InvitationAnswer,
  user: User | undefined,
  now: number,
): void {
  const { table, row, state, userId } = findRow(tx, invitation)
  if (state === ANSWERED[answer]) return
  if (state === 'accepted') throw conflict('This invitation is accepted already')
  if (userId !== null && userId !== user?.id) {
    throw answeredByAnother()
  }
  if (user !== undefined) requireAlive(tx, user)
  const date = { $t: 'Date', v: new Date(now).toISOString() }
  const { accepted: _accepted, rejected: _rejected, ...rest } = row
  const changed = {
    ...rest,
    ...(user === undefined ? {} : { userId: user.id }),
    [ANSWERED[answer]]: date,
  }
  write(tx, table, changed, user, now)
}

const ANSWERED = { accept: 'accepted', reject: 'rejected' } as const

interface InvitedRow {
  readonly table: Table
  readonly row: WireObject
  readonly realmId: string
  readonly state: ShownInvitation['state']
  readonly userId: string | null
}

function findRow(tx: ReadTx, invitation: Invitation): InvitedRow {
  const table = requireTable(tx, 'members')
  const stored = tx.objects.find(table, invitation.member)
  const realm = stored === undefined ? undefined : tx.realms.findByRef(stored.realm)
  if (stored === undefined || realm === undefined || !isSame(stored, invitation)) {
    throw unknownInvitation()
  }
  const row = parseStored(stored.value)
  const { accepted, rejected, userId } = membershipOf(row, '', stored.realm)
  const state = accepted ? 'accepted' : rejected ? 'rejected' : 'open'
  return { table, row, realmId: realm.id, state, userId }
}

function isSame({ realm, value }: StoredObject, invitation: Invitation): boolean {
  return realm === invitation.realm && addressIn(parseStored(value)) === invitation.email
}

/** One answer for what never was and what is no more. */
export function unknownInvitation(): SatchelError {
  return new SatchelError(
    'UNKNOWN_INVITATION',
    'This invitation does not exist or was revoked: ask the sender to invite you again',
  )
}

export function answeredByAnother(): SatchelError {
  return conflict('This invitation was answered with another account')
}

function requireAlive(tx: WriteTx, { id, incarnation }: User): void {
  if (tx.users.find(id)?.incarnation === incarnation) return
  throw busy('This user was deleted a moment ago: try again')
}

/** The link proves the identity of the person, who may change these properties. */
function write(
  tx: WriteTx,
  table: Table,
  row: WireObject,
  user: User | undefined,
  now: number,
): void {
  const actor: Actor = { subject: user?.id ?? null, email: null, name: null, scopes: new Set() }
  const request = { actor, view: 'all', now, rulesByTable: ROW_RULES } as const
  const writing = { ...writingInView(tx, request, table, accessOf(tx, actor)), isGlobal: true }
  putDrafts(writing, [draftOf(table, row, undefined)])
}

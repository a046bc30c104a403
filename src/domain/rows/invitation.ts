import { findClient } from '../database/client'
import { DEMO_DOMAIN, requireEmail, foldEmail } from '../value/email'
import { SatchelError } from '../value/error'
import { withFields } from '../object/draft'
import { isAbsent, parseStored, type WireObject } from '../value/value'
import type { Placement, Writing } from '../object/writing'
import type { RealmRef } from '../store/realms'
import { hashSecret } from '../value/secret'
import { shownName } from '../value/shown-name'
import type { ReadTx, WriteTx } from '../store/store'
import { findUser } from '../access/actor'
import { DAY, HOUR } from '../value/time'

/**
 * Counts the invitations of one person by a hash that does not identify them: they may be deleted.
 */
export function hashInviter(userId: string): string {
  return hashSecret(userId)
}

/** The inviter, as in the row (protocol.md §6.2). */
export interface Inviter {
  readonly name: string
  readonly email: string
  readonly userId: string
}

/** The facts for the mail to the invitee. Names are as users entered them. */
export interface InvitationFacts {
  readonly member: string
  readonly realm: RealmRef
  readonly email: string
  /** Of the invited person, or empty. */
  readonly name: string
  /** Of the realm, or empty. */
  readonly realmName: string
  readonly inviter: Inviter
  /** ms since the epoch. */
  readonly now: number
}

/**
 * Puts down the mail with the link, in the unit that writes the row. Throws `MAIL_NOT_CONFIGURED`
 * and `NO_PUBLIC_ADDRESS`.
 */
export type SendInvitation = (tx: WriteTx, facts: InvitationFacts) => void

/**
 * Sends the mail that a row of `members` asks for, once, and says in the row when and by whom
 * (protocol.md §6.4): the row is new, or its address, its realm or its `invite` is. An invitee who
 * has answered gets no more mail. Throws `UNPROCESSABLE`, `TOO_MANY_REQUESTS` and what
 * `SendInvitation` throws.
 */
export function complementInvitation(
  writing: Writing,
  placement: Placement,
  sendInvitation: SendInvitation,
): Placement {
  const { tx, now } = writing
  const { draft, key, realm, previous } = placement
  const row = draft.object
  if (row['invite'] !== true) return placement
  const isKnown = previous?.realm === realm.ref && previous.isDamaged !== true
  const before = isKnown ? parseStored(previous.value) : {}
  if (before['invite'] === true && addressIn(before) === addressIn(row)) {
    return { ...placement, draft: withFields(draft, sentBefore(before, row)) }
  }
  if (addressIn(row) === '' || ANSWERS.some((name) => !isAbsent(row[name]))) return placement
  const email = requireEmail(row['email'], 'UNPROCESSABLE', 'email')
  const inviter = inviterOf(writing)
  // Demo users have no mailbox, and anyone may be one: no person would be accountable for their mails.
  if (![email, inviter.userId].some((one) => one.endsWith(DEMO_DOMAIN))) {
    requireRoom(writing, inviter, email)
    const name = shownName(row['name'])
    const realmName = nameOfRealm(tx, realm.id)
    sendInvitation(tx, {
      member: key,
      realm: realm.ref,
      email,
      name,
      realmName,
      inviter,
      now,
    })
  }
  const invitedDate = { $t: 'Date', v: new Date(now).toISOString() }
  return { ...placement, draft: withFields(draft, { invitedDate, invitedBy: inviter }) }
}

/** The display name of the realm with this id, or empty. */
export function nameOfRealm(tx: ReadTx, id: string): string {
  const table = tx.tables.find('realms')
  const row = table === undefined ? undefined : tx.objects.find(table, id)
  return row === undefined ? '' : shownName(parseStored(row.value)['name'])
}

/** The address of a row in its stored form, or empty. */
export function addressIn(row: WireObject): string {
  return typeof row['email'] === 'string' ? foldEmail(row['email']) : ''
}

/** How many invitations one person may send in a day, and how many may go to one address. */
export const MAILS_PER_DAY = { inviter: 100, address: 10 }

const ANSWERS = ['userId', 'accepted', 'rejected']
const SERVERS = ['invitedDate', 'invitedBy']

/** A writer with `GLOBAL_WRITE` replaces whole rows: the properties that the server set stay. */
function sentBefore(before: WireObject, row: WireObject): WireObject {
  const kept = SERVERS.filter((name) => Object.hasOwn(before, name) && !Object.hasOwn(row, name))
  return Object.fromEntries(kept.map((name) => [name, before[name]]))
}

function inviterOf({ tx, actor, subject }: Writing): Inviter {
  const user = findUser(tx, subject)
  const client = user === undefined ? findClient(tx, subject) : undefined
  const email = textOf(actor.email) ?? textOf(user?.data?.['email']) ?? client?.email ?? ''
  const given = textOf(actor.name) ?? textOf(user?.data?.['displayName']) ?? client?.name
  const name = given ?? (email || (client === undefined ? subject : ''))
  return { name, email, userId: subject }
}

/** Callers with `GLOBAL_WRITE` may send any number of mails, but not to the same mailbox. */
function requireRoom({ tx, now, isGlobal }: Writing, { userId }: Inviter, email: string): void {
  const today = { after: now - DAY, until: now }
  const { inviter, address } = MAILS_PER_DAY
  const toAddress = tx.invitations.sent({ email }, today, address)
  if (toAddress.length >= address) {
    throw tooMany('This address was invited too often today', toAddress, now)
  }
  if (isGlobal) return
  const byInviter = tx.invitations.sent({ inviter: hashInviter(userId) }, today, inviter)
  if (byInviter.length >= inviter) {
    throw tooMany(`You have sent ${inviter} invitations today`, byInviter, now)
  }
}

/** There is room again when the oldest of these `times` is a day ago. */
function tooMany(what: string, times: readonly number[], now: number): SatchelError {
  const wait = Math.max(1, (times.at(-1) ?? now) + DAY - now)
  const hours = Math.ceil(wait / HOUR)
  return new SatchelError(
    'TOO_MANY_REQUESTS',
    `${what}: try again in ${hours} hour${hours === 1 ? '' : 's'}, or write the row without "invite", which sends no mail`,
    { reason: 'invite', retryAfter: Math.ceil(wait / 1000) },
  )
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

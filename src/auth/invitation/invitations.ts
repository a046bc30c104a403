import type { SteadyClock } from '../steady-clock'
import { requireActive, requireLicense } from '../../domain/access/actor'
import { SatchelError } from '../../domain/value/error'
import { type InvitationFacts, hashInviter } from '../../domain/rows/invitation'
import {
  answeredByAnother,
  answerInvitation,
  getInvitation,
  type InvitationAnswer,
  type ShownInvitation,
  unknownInvitation,
} from '../../domain/rows/invitation-answer'
import type { Mailer, Letter } from '../../domain/store/mailer'
import { listOrigins } from '../../domain/database/origin'
import { requireRedirect } from '../../domain/database/redirect'
import { hashSecret, newSecret } from '../../domain/value/secret'
import type { Database, ReadTx, WriteTx } from '../../domain/store/store'
import { requireUserId } from '../../domain/value/user-id'
import { findUsersOfEmail } from '../../domain/user/list'
import type { Admission } from '../person/admission'
import type { User } from '../../domain/store/users'
import type { Invitation } from '../../domain/store/invitations'
import { shownName } from '../../domain/value/shown-name'
import { describeOrigin, type OriginName } from '../origin-name'
import { isLoopbackHost } from '../../domain/value/web-address'
import { DAY } from '../../domain/value/time'
import { MAX_PRUNED_ROWS } from '../limits'

/** Invitations by mail (protocol.md §6.4): the link proves access to the mailbox. */
export interface Invitations {
  /**
   * Stores the mail with these `facts`. `origin` is the `Origin` header of the caller, or null.
   * Throws `MAIL_NOT_CONFIGURED` and `NO_PUBLIC_ADDRESS`.
   */
  send(tx: WriteTx, facts: InvitationFacts, origin: string | null): void
  /**
   * The contents of the page of a link. `isDevelopment`: pages of this machine need not be listed.
   * Throws `UNKNOWN_INVITATION`, and `INVITATION_EXPIRED` for a link that has expired.
   */
  show(secret: string, isDevelopment: boolean): Promise<InvitationPage>
  /**
   * Accepts or rejects. A newcomer who accepts becomes a user. Throws as `show`, as `Admission`,
   * `USER_DEACTIVATED`, `LICENSE_EXPIRED`, and `CONFLICT` when it cannot be this person's answer.
   */
  answer(secret: string, answer: InvitationAnswer): Promise<void>
}

export interface InvitationPage extends Omit<ShownInvitation, 'userId'> {
  /** True when another account answered than the one that the link would accept for. */
  readonly isAnothers: boolean
  readonly originName: string
  /** The application to continue to, `https://app.example.com/`, or null. */
  readonly application: string | null
}

export interface InvitationParts {
  readonly database: Database
  readonly clock: SteadyClock
  readonly mailer: Mailer
  readonly admit: Admission['admit']
  /** The public address of the database, or null. */
  readonly addressOf: (tx: ReadTx) => string | null
}

export function createInvitations(parts: InvitationParts): Invitations {
  const { database, clock, admit } = parts

  /** The invitee: the user with this address, created if there is none. */
  async function welcome(email: string, owners: readonly User[]): Promise<User> {
    const [owner, another] = owners
    if (another !== undefined) throw severalAccounts()
    // Not every address can be a user id: a realm may have that name.
    return owner ?? (await admit({ id: requireUserId(email, 'CONFLICT'), email, name: null }))
  }

  return {
    send: (tx, facts, origin) => sendInvitation(parts, tx, facts, origin),

    show: (secret, isDevelopment) =>
      database.read((tx) => {
        const invitation = findInvitation(tx, secret)
        const { userId, ...shown } = getInvitation(tx, invitation)
        if (shown.state !== 'accepted') requireTime(invitation, clock.now())
        const { email, originName } = invitation
        const isAnothers = isOfAnother(userId, email, findUsersOfEmail(tx, email))
        const application = pageOf(tx, invitation, isDevelopment)
        return { ...shown, isAnothers, originName, application }
      }),

    async answer(secret, answer) {
      const { invitation, state, userId, owners } = await database.read((tx) => {
        const invitation = findInvitation(tx, secret)
        const { state, userId } = getInvitation(tx, invitation)
        return { invitation, state, userId, owners: findUsersOfEmail(tx, invitation.email) }
      })
      if (state === 'accepted' && answer === 'accept') return
      requireTime(invitation, clock.now())
      if (answer === 'accept' && isOfAnother(userId, invitation.email, owners)) {
        throw answeredByAnother()
      }
      const user = answer === 'accept' ? await welcome(invitation.email, owners) : onlyOne(owners)
      requireActive(user)
      requireLicense(user, clock.wall.now())
      await database.write((tx) => answerInvitation(tx, invitation, answer, user, clock.wall.now()))
    },
  }
}

function findInvitation(tx: ReadTx, secret: string): Invitation {
  const invitation = tx.invitations.find(hashSecret(secret))
  if (invitation === undefined) throw unknownInvitation()
  return invitation
}

function requireTime({ expires, email, origin, originName }: Invitation, now: number): void {
  if (now < expires) return
  const application = origin === null ? 'the application' : originName
  throw new SatchelError(
    'INVITATION_EXPIRED',
    `The link in the mail has expired: log in to ${application} as ${email} to answer the invitation, or ask to be invited again`,
  )
}

/** `owners` are the users with the address; without any, it becomes the id of the invitee. */
function isOfAnother(
  userId: string | null,
  email: string,
  [owner, another]: readonly User[],
): boolean {
  return userId !== null && (another !== undefined || userId !== (owner?.id ?? email))
}

/** A rejection needs no user: with several owners of the address it has none. */
function onlyOne([user, another]: readonly User[]): User | undefined {
  return another === undefined ? user : undefined
}

function severalAccounts(): SatchelError {
  return new SatchelError(
    'CONFLICT',
    'Several accounts have this address: log in to the application with the one that you mean, and accept there',
  )
}

/** A page that may be linked to now, even if it was not allowed when the mail was sent. */
function pageOf(tx: ReadTx, { origin }: Invitation, isDevelopment: boolean): string | null {
  if (origin === null) return null
  const listed = tx.remember('origins', () => listOrigins(tx))
  try {
    return requireRedirect(origin, { listed, isDevelopment }).href
  } catch (error) {
    if (error instanceof SatchelError) return null
    throw error
  }
}

export interface InvitationMailParts {
  readonly database: Database
  readonly mailer: Mailer
  readonly addressOf: (tx: ReadTx) => string | null
}

/**
 * Stores the letter and the record of its link, whose secret only the letter has. `origin` is the
 * `Origin` header of the caller, or null. Throws `MAIL_NOT_CONFIGURED` and `NO_PUBLIC_ADDRESS`.
 */
export function sendInvitation(
  { database, mailer, addressOf }: InvitationMailParts,
  tx: WriteTx,
  facts: InvitationFacts,
  origin: string | null,
): void {
  const { member, realm, email, inviter, now } = facts
  const address = requireAddress(addressOf(tx))
  const page = describeOrigin(tx, origin ?? findOnlyPage(tx), database.name)
  const secret = newSecret()
  mailer.post(tx, compose(facts, page, `${address}/invitation?token=${secret}`))
  tx.prune('invitations', now - LIFE_MS, MAX_PRUNED_ROWS)
  tx.invitations.put({
    id: hashSecret(secret),
    member,
    realm,
    email,
    inviter: hashInviter(inviter.userId),
    origin: page.origin === '' ? null : page.origin,
    originName: page.originName,
    sent: now,
    expires: now + LIFE_MS,
  })
}

/** How long a link is valid, ms. */
const LIFE_MS = 30 * DAY
/** How long a mail server may be down, ms. */
const MAIL_LIFE_MS = 3 * DAY

function compose(
  { email, name, realmName, inviter, now }: InvitationFacts,
  { origin, originName }: OriginName,
  link: string,
): Letter<'invite'> {
  const address = shownName(inviter.email)
  const inviterName = shownName(inviter.name) || address || originName
  const inviterEmail = address === inviterName ? '' : address
  const days = LIFE_MS / DAY
  return {
    kind: 'invite',
    to: email,
    variables: {
      email,
      name,
      realmName,
      inviterName,
      inviterEmail,
      originName,
      origin,
      link,
      days,
    },
    expires: now + MAIL_LIFE_MS,
  }
}

function requireAddress(address: string | null): string {
  if (address !== null) return address
  throw new SatchelError(
    'NO_PUBLIC_ADDRESS',
    'This server does not know its public address, which the link in the mail needs: start it with --public-url',
  )
}

/** An inviter without a page most likely means the application of the database. */
function findOnlyPage(tx: ReadTx): string | null {
  const listed = tx.remember('origins', () => listOrigins(tx))
  const pages = listed.flatMap((entry) => {
    const url = URL.parse(entry)
    const isPage = url !== null && url.protocol === 'https:' && url.origin === entry
    return isPage && !isLoopbackHost(url.hostname) ? [entry] : []
  })
  const [page, another] = pages
  return another === undefined ? (page ?? null) : null
}

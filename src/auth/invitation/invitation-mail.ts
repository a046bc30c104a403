import { SatchelError } from '../../domain/value/error'
import { hashInviter, type InvitationFacts } from '../../domain/rows/invitation'
import type { Letter, Mailer } from '../../domain/store/mailer'
import { isLoopbackHost, listOrigins } from '../../domain/database/origin'
import { hashSecret, newSecret } from '../../domain/value/secret'
import { shownName } from '../../domain/value/shown-name'
import type { Database, ReadTx, WriteTx } from '../../domain/store/store'
import { describeOrigin, type OriginName } from '../origin-name'
import type { Awaitable } from '../../domain/store/records'

export interface InvitationMailParts {
  readonly database: Database
  readonly mailer: Mailer
  readonly addressOf: (tx: ReadTx) => Awaitable<string | null>
}

/**
 * Stores the letter and the record of its link, whose secret only the letter has. `origin` is the
 * `Origin` header of the caller, or null. Throws `MAIL_NOT_CONFIGURED` and `NO_PUBLIC_ADDRESS`.
 */
export async function sendInvitation(
  { database, mailer, addressOf }: InvitationMailParts,
  tx: WriteTx,
  facts: InvitationFacts,
  origin: string | null,
): Promise<void> {
  const { member, realm, email, inviter, now } = facts
  const address = requireAddress(await addressOf(tx))
  const page = await describeOrigin(tx, origin ?? (await findOnlyPage(tx)), database.name)
  const secret = newSecret()
  await mailer.post(tx, compose(facts, page, `${address}/invitation?token=${secret}`))
  await tx.invitations.prune(now - LIFE)
  await tx.invitations.put({
    id: hashSecret(secret),
    member,
    realm,
    email,
    inviter: hashInviter(inviter.userId),
    origin: page.origin === '' ? null : page.origin,
    originName: page.originName,
    sent: now,
    expires: now + LIFE,
  })
}

const DAY = 24 * 60 * 60 * 1000
/** How long a link is good for, ms. */
const LIFE = 30 * DAY
/** How long a mail server may be down, ms. */
const PATIENCE = 3 * DAY

function compose(
  { email, name, realmName, inviter, now }: InvitationFacts,
  { origin, originName }: OriginName,
  link: string,
): Letter<'invite'> {
  const address = shownName(inviter.email)
  const inviterName = shownName(inviter.name) || address || originName
  const inviterEmail = address === inviterName ? '' : address
  const days = LIFE / DAY
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
    expires: now + PATIENCE,
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
async function findOnlyPage(tx: ReadTx): Promise<string | null> {
  const listed = await tx.remember('origins', () => listOrigins(tx))
  const pages = listed.flatMap((entry) => {
    const url = URL.parse(entry)
    const isPage = url !== null && url.protocol === 'https:' && url.origin === entry
    return isPage && !isLoopbackHost(url.hostname) ? [entry] : []
  })
  const [page, another] = pages
  return another === undefined ? (page ?? null) : null
}

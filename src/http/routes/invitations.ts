import { type AnyElysia, Elysia } from 'elysia'
import type { InvitationAnswer } from '../../domain/rows/invitation-answer'
import { type ErrorCode, SatchelError } from '../../domain/value/error'
import { readForm } from '../body/body'
import type { Call } from '../call'
import type { HttpContext } from '../context'
import { invitationPage } from '../pages/invitation-page'
import { type Message, pageAnswer, pages, seeOther } from '../pages/page'

/**
 * The page that the link in an invitation opens (protocol.md §6.4); it needs nothing but the mail.
 * Opening it changes nothing, because virus scanners follow the links in mails.
 */
export function invitationRoutes(http: HttpContext): AnyElysia {
  const asPage = pages(http, describe)
  return new Elysia({ name: 'invitations' })
    .get(
      '/:database/invitation',
      ...asPage('showInvitation', async ({ call, opened }) => {
        const shown = await opened.invitations.show(secretOf(call), http.origins.isDevelopment())
        return pageAnswer(call, invitationPage(shown), { sendsForm: true })
      }),
    )
    .post(
      '/:database/invitation',
      ...asPage('answerInvitation', async ({ call, opened }) => {
        requireOwnPage(call.sent)
        const secret = secretOf(call)
        const form = await readForm(http.bodies, call.sent, ['answer'], 'The answer must be a form')
        await opened.invitations.answer(secret, requireAnswer(form.get('answer')))
        return seeOther(call, `?token=${secret}`)
      }),
    )
}

const TITLES: Readonly<Partial<Record<ErrorCode, string>>> = {
  INVALID_REQUEST: 'This link is incomplete',
  UNKNOWN_INVITATION: 'This invitation no longer exists',
  INVITATION_EXPIRED: 'This link has expired',
  CONFLICT: 'Nothing was changed',
  USER_NOT_REGISTERED: 'You cannot join yet',
  USER_NOT_ACCEPTED: 'You cannot join yet',
  NO_SEATS_AVAILABLE: 'You cannot join yet',
  WEBHOOK_ERROR: 'You cannot join yet',
  USER_DEACTIVATED: 'You cannot join',
  LICENSE_EXPIRED: 'You cannot answer now',
}

function describe({ code, message }: SatchelError): Message {
  return { title: TITLES[code] ?? 'That did not work', text: message }
}

function secretOf({ query }: Call): string {
  const secret = new URLSearchParams(query).get('token') ?? ''
  if (/^[\w-]{43}$/.test(secret)) return secret
  throw new SatchelError(
    'INVALID_REQUEST',
    'The address is incomplete: open the link in the mail again, or copy all of it',
  )
}

function requireAnswer(text: string | null): InvitationAnswer {
  if (text === 'accept' || text === 'reject') return text
  throw new SatchelError('INVALID_REQUEST', 'The answer must be "accept" or "reject"')
}

/** Refuses a form that another site submits in the name of its visitor (Fetch Metadata). */
function requireOwnPage({ headers }: Request): void {
  const site = headers.get('sec-fetch-site') ?? 'none'
  if (site === 'same-origin' || site === 'none') return
  throw new SatchelError(
    'NOT_AUTHORIZED',
    'Not authorized: an invitation can only be answered on its own page',
  )
}

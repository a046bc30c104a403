import { type AnyElysia, Elysia } from 'elysia'
import { type ErrorCode, SatchelError } from '../../domain/value/error'
import type { InvitationAnswer } from '../../domain/rows/invitation-answer'
import type { Call } from '../call'
import type { HttpContext } from '../context'
import { readForm } from '../body/body'
import { invitationPage } from '../pages/invitation-page'
import { onPage, pageAnswer, seeOther } from '../pages/page'

/**
 * The page behind the link in an invitation (protocol.md §6.4), for people who have only the mail.
 * Opening it changes nothing: mail scanners follow links.
 */
export function invitationRoutes(http: HttpContext): AnyElysia {
  return new Elysia({ name: 'invitations' })
    .get(
      '/:database/invitation',
      ({ request }) =>
        onPage(http, request, titleOf, async (call, { invitations }) => {
          const shown = await invitations.show(secretOf(call), http.origins.isDevelopment())
          return pageAnswer(call, invitationPage(shown), { sendsForm: true })
        }),
      { parse: 'none', detail: { operationId: 'showInvitation' } },
    )
    .post(
      '/:database/invitation',
      ({ request }) =>
        onPage(http, request, titleOf, async (call, { invitations }) => {
          requireOwnPage(request)
          const secret = secretOf(call)
          const form = await readForm(http.bodies, request, ['answer'], 'An answer comes as a form')
          await invitations.answer(secret, requireAnswer(form.get('answer')))
          return seeOther(call, `?token=${secret}`)
        }),
      { parse: 'none', detail: { operationId: 'answerInvitation' } },
    )
}

const TITLES: Readonly<Partial<Record<ErrorCode, string>>> = {
  INVALID_REQUEST: 'This link is not complete',
  UNKNOWN_INVITATION: 'This invitation is not there',
  INVITATION_EXPIRED: 'This link is too old',
  CONFLICT: 'Nothing was changed',
  USER_NOT_REGISTERED: 'You cannot join yet',
  USER_NOT_ACCEPTED: 'You cannot join yet',
  NO_SEATS_AVAILABLE: 'You cannot join yet',
  WEBHOOK_ERROR: 'You cannot join yet',
  USER_DEACTIVATED: 'You cannot join',
  LICENSE_EXPIRED: 'You cannot answer now',
}

function titleOf({ code }: SatchelError): string {
  return TITLES[code] ?? 'That did not work'
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

/** A cross-site request does not come from the page itself (Fetch Metadata). */
function requireOwnPage(request: Request): void {
  const site = request.headers.get('sec-fetch-site') ?? 'none'
  if (site === 'same-origin' || site === 'none') return
  throw new SatchelError(
    'NOT_AUTHORIZED',
    'Not authorized: an invitation is answered on its own page',
  )
}

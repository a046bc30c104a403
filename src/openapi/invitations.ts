import type { ErrorCode } from '../domain/value/error'
import { object, type Operations, PAGE, type Parameter } from './specification'

const TOKEN: Parameter = {
  name: 'token',
  in: 'query',
  required: true,
  description: 'The secret in the link, which proves access to the mailbox.',
  schema: { type: 'string', pattern: '^[\\w-]{43}$' },
}

const REFUSALS: readonly ErrorCode[] = ['UNKNOWN_INVITATION', 'INVITATION_EXPIRED']

/** The page that the link in an invitation opens (protocol.md §6.4). */
export const INVITATION_OPERATIONS: Operations = {
  showInvitation: {
    tag: 'invitations',
    summary: 'Look at an invitation',
    description:
      'A page for browsers, behind the link in the mail that a row of `members` with `invite: true` sends. It names the inviter, the invitee and the realm, and has the buttons "Accept" and "Decline"; after an answer it shows the answer. Opening it changes nothing. The link is valid for 30 days.\n\nIt links to the application that sent the invitation, or to the only one that `satchel origin add` has listed. A refusal is a page too, or JSON for clients that accept only JSON.',
    parameters: [TOKEN],
    responses: { '200': PAGE },
    refusals: REFUSALS,
    alsoAsPage: true,
  },
  answerInvitation: {
    tag: 'invitations',
    summary: 'Accept or decline an invitation',
    description:
      'The action of the buttons of the page. An invitee who accepts becomes a member of the realm; a newcomer also becomes a user, if the sign-up policy of the database admits them (`satchel policy`). An answer may be repeated, and a rejected invitation may be accepted later. In the application, users answer with `accepted` or `rejected` in their row, by `POST /{database}/my/members`.',
    parameters: [TOKEN],
    body: {
      'application/x-www-form-urlencoded': {
        schema: object({ answer: { enum: ['accept', 'reject'] } }),
      },
    },
    responses: {
      '303': {
        description: 'Redirects to the page, which shows the answer.',
        headers: { Location: { description: 'The target URL.', schema: { type: 'string' } } },
      },
    },
    refusals: [
      ...REFUSALS,
      'CONFLICT',
      'NOT_AUTHORIZED',
      'USER_NOT_REGISTERED',
      'NO_SEATS_AVAILABLE',
      'WEBHOOK_ERROR',
      'USER_DEACTIVATED',
      'LICENSE_EXPIRED',
      'PAYLOAD_TOO_LARGE',
      'UNSUPPORTED_MEDIA_TYPE',
      'STORAGE_FULL',
      'READ_ONLY',
    ],
    alsoAsPage: true,
  },
}

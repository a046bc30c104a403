import type { ErrorCode } from '../domain/value/error'
import type { Operations, Parameter } from './specification'

const TOKEN: Parameter = {
  name: 'token',
  in: 'query',
  required: true,
  description: 'The secret in the link, which proves whose mailbox it is.',
  schema: { type: 'string', pattern: '^[\\w-]{43}$' },
}

const REFUSALS: readonly ErrorCode[] = ['UNKNOWN_INVITATION', 'INVITATION_EXPIRED']

/** The page that the link of an invitation leads to (protocol.md §6.4). */
export const INVITATION_OPERATIONS: Operations = {
  showInvitation: {
    tag: 'invitations',
    caller: 'anybody',
    summary: 'Look at an invitation',
    description:
      'A page for browsers, behind the link in the mail that a row of `members` with `invite: true` sends. It says who invites whom to what, and has a button to accept and one to decline; when there is an answer, it shows that. Looking at it changes nothing. The link is good for 30 days.\n\nIt leads on to the application from whose page the invitation came, or to the only one that `satchel origin add` has listed. A refusal is a page too, and JSON for who asks for JSON alone.',
    parameters: [TOKEN],
    responses: {
      '200': {
        description: 'The page.',
        content: { 'text/html': { schema: { type: 'string' } } },
      },
    },
    refusals: REFUSALS,
  },
  answerInvitation: {
    tag: 'invitations',
    caller: 'anybody',
    summary: 'Accept or decline an invitation',
    description:
      'What the buttons of the page do. Who accepts becomes a member of the realm, and a user if they are none and the policy of the database lets them (`satchel policy`). An answer may be given again, and a “no” may become a “yes”. Who is logged in answers as well with `accepted` or `rejected` in their row, by `POST /{database}/my/members`.',
    parameters: [TOKEN],
    body: {
      'application/x-www-form-urlencoded': {
        schema: {
          type: 'object',
          required: ['answer'],
          properties: { answer: { enum: ['accept', 'reject'] } },
        },
      },
    },
    responses: {
      '303': {
        description: 'To the page, which shows what it is now.',
        headers: { Location: { description: 'Where.', schema: { type: 'string' } } },
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
  },
}

import { BODY_REFUSALS } from './refusals'
import { answer, json, object, type Operations, type Schema, text } from './specification'

/** The answers of the routes for managers of a database. */
export const MANAGEMENT_SCHEMAS: Readonly<Record<string, Schema>> = {
  TemplateFile: object({
    path: text('Such as `email-templates/otp-subject.handlebars`.'),
    content: { type: 'string' },
  }),
}

/** The management of a database over HTTP (protocol.md §9). */
export const MANAGEMENT_OPERATIONS: Operations = {
  testTemplate: {
    tag: 'management',
    summary: 'Mail templates to try them out',
    description:
      'To the owner of the client. Another address (`to`) needs a mail server of the database itself, or development.',
    body: json(
      object({
        subjectStr: { type: 'string' },
        bodyTxtStr: { type: 'string' },
        bodyHtmlStr: { type: 'string' },
        'vars?': { type: 'object' },
        'to?': { type: 'string' },
      }),
      'A mail',
      {
        subjectStr: 'Your code is {{{otp}}}',
        bodyTxtStr: '{{{otp}}}',
        bodyHtmlStr: '<b>{{otp}}</b>',
        vars: { otp: 'ABCD1234' },
      },
    ),
    responses: {
      '200': answer(
        'It was sent.',
        object({ ok: { const: true }, emailReceiver: { type: 'string' } }),
        'To the owner',
        { ok: true, emailReceiver: 'alice@example.com' },
      ),
    },
    refusals: [...BODY_REFUSALS, 'MAIL_FAILED'],
  },
}

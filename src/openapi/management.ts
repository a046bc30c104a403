import { BODY_REFUSALS, STORE_REFUSALS } from './refusals'
import { BEARER, json, JSON_TYPE, type Operations, type Schema, schemaRef } from './specification'

/** The answers of the routes for managers of a database. */
export const MANAGEMENT_SCHEMAS: Readonly<Record<string, Schema>> = {
  TemplateFile: {
    type: 'object',
    required: ['path', 'content'],
    properties: {
      path: { type: 'string', description: 'Such as `email-templates/otp-subject.handlebars`.' },
      content: { type: 'string' },
    },
  },
}

/** The management of a database over HTTP (protocol.md §9). */
export const MANAGEMENT_OPERATIONS: Operations = {
  pullTemplates: {
    tag: 'management',
    summary: 'Read the mail templates',
    description: 'The templates of the database, the built-in ones for the rest, and test data.',
    curl: `curl "$DB/templates/pull" ${BEARER}`,
    responses: {
      '200': {
        description: 'The files.',
        content: json({ type: 'array', items: schemaRef('TemplateFile') }, 'One of them', [
          { path: 'email-templates/otp-subject.handlebars', content: 'Your code is {{{otp}}}' },
        ]),
      },
    },
  },
  pushTemplates: {
    tag: 'management',
    summary: 'Set the mail templates',
    description: 'Files outside `email-templates` are left out. All are stored, or none.',
    curl: `curl "$DB/templates/push" ${BEARER} \\\n  ${JSON_TYPE} -d '[]'`,
    body: json(
      { type: 'array', items: schemaRef('TemplateFile') },
      'The subject of one-time codes',
      [{ path: 'email-templates/otp-subject.handlebars', content: 'Your code is {{{otp}}}' }],
    ),
    responses: {
      '200': {
        description: 'How many were different.',
        content: json(
          {
            type: 'object',
            required: ['ok', 'numUpdatedTemplates'],
            properties: { ok: { const: true }, numUpdatedTemplates: { type: 'integer' } },
          },
          'One',
          { ok: true, numUpdatedTemplates: 1 },
        ),
      },
    },
    refusals: [...BODY_REFUSALS, ...STORE_REFUSALS],
  },
  resetTemplates: {
    tag: 'management',
    summary: 'Return to the built-in mail templates',
    description: 'Removes the templates and the test data of the database.',
    curl: `curl "$DB/templates/reset" ${BEARER} \\\n  ${JSON_TYPE} -d '{}'`,
    body: json({ type: 'object' }, 'Nothing', {}),
    responses: {
      '200': {
        description: 'How many the database had.',
        content: json(
          {
            type: 'object',
            required: ['ok', 'numResetTemplates'],
            properties: { ok: { const: true }, numResetTemplates: { type: 'integer' } },
          },
          'None',
          { ok: true, numResetTemplates: 0 },
        ),
      },
    },
    refusals: [...BODY_REFUSALS, ...STORE_REFUSALS],
  },
  testTemplate: {
    tag: 'management',
    summary: 'Mail templates to try them out',
    description:
      'To the owner of the client. Another address (`to`) needs a mail server of the database itself, or development.',
    body: json(
      {
        type: 'object',
        required: ['subjectStr', 'bodyTxtStr', 'bodyHtmlStr'],
        properties: {
          subjectStr: { type: 'string' },
          bodyTxtStr: { type: 'string' },
          bodyHtmlStr: { type: 'string' },
          vars: { type: 'object' },
          to: { type: 'string' },
        },
      },
      'A mail',
      {
        subjectStr: 'Your code is {{{otp}}}',
        bodyTxtStr: '{{{otp}}}',
        bodyHtmlStr: '<b>{{otp}}</b>',
        vars: { otp: 'ABCD1234' },
      },
    ),
    responses: {
      '200': {
        description: 'It was sent.',
        content: json(
          {
            type: 'object',
            required: ['ok', 'emailReceiver'],
            properties: { ok: { const: true }, emailReceiver: { type: 'string' } },
          },
          'To the owner',
          { ok: true, emailReceiver: 'alice@example.com' },
        ),
      },
    },
    refusals: [...BODY_REFUSALS, 'MAIL_FAILED'],
  },
}

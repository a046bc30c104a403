import { BODY_REFUSALS, STORE_REFUSALS } from './refusals'
import { BEARER, json, JSON_TYPE, type Operations, type Schema, schemaRef } from './specification'

const MESSAGE = {
  type: 'object',
  required: ['message'],
  properties: { message: { type: 'string' } },
}

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
  changeOrigins: {
    tag: 'management',
    summary: 'List, add and remove origins',
    description:
      '`{}` lists the origins of pages that may call the database; `{"origin"}` adds one, `{"origin", "delete": true}` removes it; both answer how many. `"force": true` permits http beyond this machine.',
    curl: `curl "$DB/whitelist" ${BEARER} \\\n  ${JSON_TYPE} -d '{"origin": "https://app.example.com"}'`,
    body: json(
      {
        type: 'object',
        properties: {
          origin: { type: 'string' },
          delete: { enum: [true, false, 'true'] },
          force: { enum: [true, false, 'true'] },
        },
      },
      'Add an origin',
      { origin: 'https://app.example.com' },
    ),
    responses: {
      '200': {
        description: 'The list, or how many origins were added or removed.',
        content: json(
          { anyOf: [{ type: 'array', items: { type: 'string' } }, { type: 'integer' }] },
          'One was added',
          1,
        ),
      },
    },
    refusals: [...BODY_REFUSALS, ...STORE_REFUSALS],
  },
  clearTable: {
    tag: 'management',
    summary: 'Delete all objects of a table',
    description:
      'In many short units, which clients get as deletions. When it is interrupted, the rest is still there.',
    curl: `curl "$DB/clear-table" ${BEARER} \\\n  ${JSON_TYPE} -d '{"table": "todoItems"}'`,
    body: json(
      { type: 'object', required: ['table'], properties: { table: { type: 'string' } } },
      'A table',
      { table: 'todoItems' },
    ),
    responses: { '200': { description: 'It is empty.', content: cleared() } },
    refusals: ['UNKNOWN_TABLE', ...BODY_REFUSALS, ...STORE_REFUSALS],
  },
  clearRealm: {
    tag: 'management',
    summary: 'Delete all objects and members of a realm',
    description:
      'The realm itself, its roles and the member row of its owner stay. In many short units, which clients get as deletions.',
    curl: `curl "$DB/clear-realm" ${BEARER} \\\n  ${JSON_TYPE} -d '{"realmId": "rlm-public"}'`,
    body: json(
      { type: 'object', required: ['realmId'], properties: { realmId: { type: 'string' } } },
      'A realm',
      { realmId: 'rlm-public' },
    ),
    responses: { '200': { description: 'It is empty.', content: cleared() } },
    refusals: ['UNKNOWN_REALM', ...BODY_REFUSALS, ...STORE_REFUSALS],
  },
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
  deleteDatabase: {
    tag: 'management',
    summary: 'Delete the database',
    description:
      'Marks it for deletion: for 30 days it is served, every token response has a warning in `alerts`, and `POST /undelete-db` takes it back; then everything is removed. `{"hard": true}` removes everything at once.',
    body: json(
      { type: 'object', properties: { hard: { type: 'boolean', default: false } } },
      'In 30 days',
      {},
    ),
    responses: {
      '200': {
        description: 'Done.',
        content: json(MESSAGE, 'In 30 days', {
          message: 'The database main is marked for deletion',
        }),
      },
    },
    refusals: [...BODY_REFUSALS, ...STORE_REFUSALS],
  },
  undeleteDatabase: {
    tag: 'management',
    summary: 'Take back a deletion',
    description: 'Within 30 days, with the same clients.',
    curl: `curl "$DB/undelete-db" ${BEARER} \\\n  ${JSON_TYPE} -d '{}'`,
    body: json({ type: 'object' }, 'Nothing', {}),
    responses: {
      '200': {
        description: 'Done.',
        content: json(MESSAGE, 'It was deleted', {
          message: 'The database main is not deleted any more',
        }),
      },
    },
    refusals: [...BODY_REFUSALS, ...STORE_REFUSALS],
  },
}

function cleared() {
  return json(
    {
      type: 'object',
      required: ['message', 'deletedCount'],
      properties: { message: { type: 'string' }, deletedCount: { type: 'integer' } },
    },
    'Two objects',
    { message: 'The table "todoItems" is empty', deletedCount: 2 },
  )
}

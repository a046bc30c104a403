import { SCOPES } from '../domain/value/scope'
import { json, type Operations, type Schema, schemaRef } from './specification'

const BEARER = '-H "Authorization: Bearer $TOKEN"'
const JSON_TYPE = "-H 'Content-Type: application/json'"

const CREDENTIALS = { clientId: 'c2vR8XkFZ0m7yTn4bLw1sA', clientSecret: 'its-secret-is-shown-once' }
const CREDENTIAL_PROPERTIES = { clientId: { type: 'string' }, clientSecret: { type: 'string' } }
const MESSAGE = {
  type: 'object',
  required: ['message'],
  properties: { message: { type: 'string' } },
}
const WRITTEN = ['PAYLOAD_TOO_LARGE', 'UNSUPPORTED_MEDIA_TYPE', 'UNPROCESSABLE'] as const
const STORED = ['LICENSE_EXPIRED', 'STORAGE_FULL', 'READ_ONLY'] as const

/** The answers of the routes for managers of a database. */
export const MANAGEMENT_SCHEMAS: Readonly<Record<string, Schema>> = {
  ClientCredentials: {
    description: 'The id and the secret of a client. The secret is shown once.',
    type: 'object',
    required: ['clientId', 'clientSecret'],
    properties: CREDENTIAL_PROPERTIES,
  },
  ManagedClient: {
    type: 'object',
    required: ['id', 'email', 'emailVerified', 'scopes'],
    properties: {
      id: { type: 'string' },
      email: { type: 'string', description: 'Its owner, or the name of a service account.' },
      emailVerified: {
        type: 'boolean',
        description: 'False until its owner has fetched the key with `dexie-cloud connect`.',
      },
      scopes: { type: 'array', items: { enum: SCOPES } },
    },
  },
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
    caller: ['MANAGE_DB'],
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
    refusals: [...WRITTEN, ...STORED],
  },
  listClients: {
    tag: 'management',
    caller: ['MANAGE_DB'],
    summary: 'List the API clients',
    description: 'The oldest first. Secrets are not known any more.',
    curl: `curl "$DB/clients" ${BEARER}`,
    responses: {
      '200': {
        description: 'The clients.',
        content: json({ type: 'array', items: schemaRef('ManagedClient') }, 'One client', [
          {
            id: CREDENTIALS.clientId,
            email: 'alice@example.com',
            emailVerified: true,
            scopes: [...SCOPES],
          },
        ]),
      },
    },
  },
  addClient: {
    tag: 'management',
    caller: ['MANAGE_DB'],
    summary: 'Authorise a person, or create a service account',
    description:
      'The person fetches the key of their client with `dexie-cloud connect`; a service account gets it at once. The client has at most the scopes of this token: all six mean these.',
    curl: `curl "$DB/clients/add" ${BEARER} \\\n  ${JSON_TYPE} -d '{"email": "bob@example.com", "scopes": ["MANAGE_DB"]}'`,
    body: json(
      {
        type: 'object',
        required: ['email', 'scopes'],
        properties: {
          email: { type: 'string' },
          scopes: { type: 'array', items: { type: 'string' } },
          serviceAccount: { type: 'boolean', default: false },
        },
      },
      'A service account',
      { email: 'ci@example.com', scopes: ['MANAGE_DB'], serviceAccount: true },
    ),
    responses: {
      '200': {
        description: 'Done. Only a service account comes with its key.',
        content: json(
          {
            type: 'object',
            required: ['ok'],
            properties: { ok: { const: true }, ...CREDENTIAL_PROPERTIES },
          },
          'A service account',
          { ok: true, ...CREDENTIALS },
        ),
      },
    },
    refusals: ['INVALID_SCOPE', ...WRITTEN, ...STORED],
  },
  deleteClients: {
    tag: 'management',
    caller: ['MANAGE_DB'],
    summary: 'Revoke clients',
    description:
      'Revokes one client by `client_id`, or all clients of an `email`. Their tokens end. The last client with all scopes cannot be revoked.',
    curl: `curl "$DB/clients/delete" ${BEARER} \\\n  ${JSON_TYPE} -d '{"email": "bob@example.com"}'`,
    body: json(
      {
        type: 'object',
        properties: { client_id: { type: 'string' }, email: { type: 'string' } },
      },
      'The clients of a person',
      { email: 'bob@example.com' },
    ),
    responses: {
      '200': {
        description: 'Done.',
        content: json(
          {
            type: 'object',
            required: ['ok', 'numClients'],
            properties: { ok: { const: true }, numClients: { type: 'integer' } },
          },
          'There was one',
          { ok: true, numClients: 1 },
        ),
      },
    },
    refusals: ['CONFLICT', ...WRITTEN, ...STORED],
  },
  rotateClient: {
    tag: 'management',
    caller: ['MANAGE_DB'],
    summary: 'Replace the key of a client',
    description:
      'Makes a new client with the same scopes and owner; the old key works for seven more days, or `oldClientExpiryDays`. Without `clientId` it is the client of the token. Another client may have no scope that the token lacks.',
    body: json(
      {
        type: 'object',
        properties: {
          oldClientExpiryDays: { type: 'number', minimum: 0, maximum: 365 },
          clientId: { type: 'string' },
        },
      },
      'Within a day',
      { oldClientExpiryDays: 1 },
    ),
    responses: {
      '200': {
        description: 'The new key, and when the old one ends.',
        content: json(
          {
            type: 'object',
            required: ['clientId', 'clientSecret', 'oldClientId', 'oldClientExpiresAt'],
            properties: {
              ...CREDENTIAL_PROPERTIES,
              oldClientId: { type: 'string' },
              oldClientExpiresAt: { type: 'string', format: 'date-time' },
            },
          },
          'A new key',
          {
            ...CREDENTIALS,
            oldClientId: 'cOldOne',
            oldClientExpiresAt: '2030-01-08T12:00:00.000Z',
          },
        ),
      },
    },
    refusals: ['UNKNOWN_CLIENT', 'CLIENT_EXPIRED', 'CONFLICT', ...WRITTEN, ...STORED],
  },
  connectClient: {
    tag: 'management',
    caller: [],
    summary: 'Fetch the key of a client',
    description:
      'For people whom a manager has authorised: the token comes from a login with a one-time code and the scope `CONNECT_CLIENT`, and works once. With `requireUnverified` only a client whose key was never fetched counts.',
    body: json(
      { type: 'object', properties: { requireUnverified: { type: 'boolean', default: false } } },
      'The first time',
      { requireUnverified: false },
    ),
    responses: {
      '200': {
        description: 'The key.',
        content: json(schemaRef('ClientCredentials'), 'A key', CREDENTIALS),
      },
    },
    refusals: ['NOT_AUTHORIZED', ...WRITTEN, 'STORAGE_FULL', 'READ_ONLY'],
  },
  clearTable: {
    tag: 'management',
    caller: ['GLOBAL_WRITE'],
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
    refusals: ['UNKNOWN_TABLE', ...WRITTEN, ...STORED],
  },
  clearRealm: {
    tag: 'management',
    caller: ['GLOBAL_WRITE'],
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
    refusals: ['UNKNOWN_REALM', ...WRITTEN, ...STORED],
  },
  pullTemplates: {
    tag: 'management',
    caller: ['MANAGE_DB'],
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
    caller: ['MANAGE_DB'],
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
    refusals: [...WRITTEN, ...STORED],
  },
  resetTemplates: {
    tag: 'management',
    caller: ['MANAGE_DB'],
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
    refusals: [...WRITTEN, ...STORED],
  },
  testTemplate: {
    tag: 'management',
    caller: ['MANAGE_DB'],
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
    refusals: [...WRITTEN, 'MAIL_FAILED'],
  },
  deleteDatabase: {
    tag: 'management',
    caller: ['DELETE_DB'],
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
    refusals: [...WRITTEN, ...STORED],
  },
  undeleteDatabase: {
    tag: 'management',
    caller: ['MANAGE_DB'],
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
    refusals: [...WRITTEN, ...STORED],
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

import { SCOPES } from '../domain/value/scope'
import { BODY_REFUSALS, STORE_REFUSALS } from './refusals'
import { BEARER, json, JSON_TYPE, type Operations, type Schema, schemaRef } from './specification'

const CREDENTIALS = { clientId: 'c2vR8XkFZ0m7yTn4bLw1sA', clientSecret: 'its-secret-is-shown-once' }
const CREDENTIAL_PROPERTIES = { clientId: { type: 'string' }, clientSecret: { type: 'string' } }

/** The answers about the API clients of a database. */
export const CLIENT_SCHEMAS: Readonly<Record<string, Schema>> = {
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
}

/** The API clients of a database (protocol.md §9). */
export const CLIENT_OPERATIONS: Operations = {
  listClients: {
    tag: 'management',
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
    refusals: ['INVALID_SCOPE', ...BODY_REFUSALS, ...STORE_REFUSALS],
  },
  deleteClients: {
    tag: 'management',
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
    refusals: ['CONFLICT', ...BODY_REFUSALS, ...STORE_REFUSALS],
  },
  rotateClient: {
    tag: 'management',
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
    refusals: ['UNKNOWN_CLIENT', 'CLIENT_EXPIRED', 'CONFLICT', ...BODY_REFUSALS, ...STORE_REFUSALS],
  },
  connectClient: {
    tag: 'management',
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
    refusals: ['NOT_AUTHORIZED', ...BODY_REFUSALS, 'STORAGE_FULL', 'READ_ONLY'],
  },
}

import { SCOPES } from '../domain/value/scope'
import { BODY_REFUSALS } from './refusals'
import {
  answer,
  json,
  object,
  type Operations,
  type Schema,
  schemaRef,
  text,
} from './specification'

const CREDENTIALS = { clientId: 'c2vR8XkFZ0m7yTn4bLw1sA', clientSecret: 'its-secret-is-shown-once' }
const CREDENTIAL_PROPERTIES = { clientId: { type: 'string' }, clientSecret: { type: 'string' } }

/** The answers of the routes for managers of a database. */
export const CLIENT_SCHEMAS: Readonly<Record<string, Schema>> = {
  ClientCredentials: {
    description: 'The id and the secret of a client. The secret is shown once.',
    type: 'object',
    required: ['clientId', 'clientSecret'],
    properties: CREDENTIAL_PROPERTIES,
  },
  ManagedClient: object({
    id: { type: 'string' },
    email: text('Its owner, or the name of a service account.'),
    emailVerified: {
      type: 'boolean',
      description: 'False until its owner has fetched the key with `dexie-cloud connect`.',
    },
    scopes: { type: 'array', items: { enum: SCOPES } },
  }),
  TemplateFile: object({
    path: text('Such as `email-templates/otp-subject.handlebars`.'),
    content: { type: 'string' },
  }),
}

/** The API clients of a database (protocol.md §9). */
export const CLIENT_OPERATIONS: Operations = {
  connectClient: {
    tag: 'management',
    summary: 'Fetch the key of a client',
    description:
      'For people whom a manager has authorised: the token comes from a login with a one-time code and the scope `CONNECT_CLIENT`, and works once. With `requireUnverified` only a client whose key was never fetched counts.',
    body: json(
      object({ 'requireUnverified?': { type: 'boolean', default: false } }),
      'The first time',
      { requireUnverified: false },
    ),
    responses: {
      '200': answer('The key.', schemaRef('ClientCredentials'), 'A key', CREDENTIALS),
    },
    refusals: ['NOT_AUTHORIZED', ...BODY_REFUSALS, 'STORAGE_FULL', 'READ_ONLY'],
  },
}

import { version } from '../../package.json'
import { BODY_REFUSALS, ERROR_CODES } from './refusals'
import {
  answer,
  json,
  object,
  PAGE,
  type Operation,
  type Operations,
  type Schema,
  schemaRef,
  text,
} from './specification'

const LOGIN = object({
  grant_type: { const: 'otp' },
  scopes: { type: 'array', items: { const: 'CREATE_DB' }, minItems: 1, maxItems: 1 },
  'email?': { type: 'string', format: 'email' },
  'otp_id?': { type: 'string' },
  'otp?': { type: 'string' },
})

const requestServiceToken: Operation = {
  tag: 'service',
  summary: 'Log in to create a database',
  description:
    'In two steps, for `dexie-cloud create`: with `email` a one-time code is mailed, with `otp_id` and `otp` it is redeemed for a token that creates one database. A setting of the server names the people who may (`--create-databases`); by default everybody in development and no person elsewhere.',
  body: {
    'application/json': {
      schema: LOGIN,
      examples: {
        request: {
          summary: 'Request a code',
          value: { grant_type: 'otp', scopes: ['CREATE_DB'], email: 'alice@example.com' },
        },
        redeem: {
          summary: 'Redeem it',
          value: { grant_type: 'otp', scopes: ['CREATE_DB'], otp_id: 'k3v0Zq1x', otp: 'ABCD1234' },
        },
      },
    },
  },
  responses: {
    '200': answer(
      'The id of the code, or the token.',
      { type: 'object', required: ['type'] },
      'A code was mailed',
      {
        type: 'otp-sent',
        otp_id: 'k3v0Zq1x',
      },
    ),
  },
  refusals: [
    'INVALID_SCOPE',
    'INVALID_OTP',
    'OTP_EXPIRED',
    'NOT_AUTHORIZED',
    'UNSUPPORTED_GRANT_TYPE',
    ...BODY_REFUSALS,
    'MAIL_NOT_CONFIGURED',
    'MAIL_FAILED',
    'TOO_MANY_REQUESTS',
  ],
  alsoAsText: true,
}

const createDatabase: Operation = {
  tag: 'service',
  summary: 'Create a database',
  description:
    'The token comes from `POST /token` at the address of the server, with the scope `CREATE_DB`, and works once. Its owner can fetch further keys with `dexie-cloud connect`.',
  responses: {
    '200': answer(
      'The address of the database, and the key of its first client.',
      {
        allOf: [schemaRef('ClientCredentials')],
        required: ['url'],
        properties: { url: { type: 'string' } },
      },
      'A database',
      {
        url: 'http://127.0.0.1:7080/zk3v0qx7a',
        clientId: 'c2vR8XkFZ0m7yTn4bLw1sA',
        clientSecret: 'its-secret-is-shown-once',
      },
    ),
  },
  refusals: [
    'DB_LIMIT_REACHED',
    'NO_PUBLIC_ADDRESS',
    'PAYLOAD_TOO_LARGE',
    'STORAGE_FULL',
    'READ_ONLY',
    'TOO_MANY_REQUESTS',
  ],
}

const DOCUMENT = { type: 'object', required: ['openapi', 'info', 'paths'] }

/** Routes of the server itself (protocol.md §12, design.md §6). */
export const SERVICE_OPERATIONS: Operations = {
  requestServiceToken,
  requestServiceTokenOfSdk: {
    ...requestServiceToken,
    summary: 'Log in to create a database, as the SDK does',
  },
  createDatabase,
  createDatabaseOfSdk: { ...createDatabase, summary: 'Create a database, as the SDK does' },
  describeService: {
    tag: 'service',
    summary: 'Name and version',
    description:
      'The server and its version. A browser gets a page; on this machine, in development, it has the addresses of the databases and the last mails.',
    curl: 'curl "$SERVER/"',
    responses: {
      '200': {
        description: 'The server.',
        content: {
          ...json(schemaRef('Service'), 'The server', {
            name: 'satchel',
            version,
            documentation: '/openapi',
          }),
          ...PAGE.content,
        },
      },
    },
  },
  readGuides: {
    tag: 'service',
    summary: 'The guides',
    description: 'A page for people, which works offline.',
    curl: 'curl "$SERVER/docs"',
    responses: { '200': PAGE },
    refusals: ['TOO_MANY_REQUESTS'],
    alsoAsPage: true,
  },
  readGuide: {
    tag: 'service',
    summary: 'A guide',
    description: 'A page for people, such as `sharing` or `operations`.',
    curl: 'curl "$SERVER/docs/sharing"',
    responses: { '200': PAGE },
    refusals: ['UNKNOWN_ROUTE', 'TOO_MANY_REQUESTS'],
    alsoAsPage: true,
  },
  checkHealth: {
    tag: 'service',
    summary: 'Is the process alive?',
    description: 'Answers while the process is running, regardless of its databases.',
    curl: 'curl "$SERVER/health"',
    responses: {
      '200': answer('It is alive.', status('healthy'), 'Alive', { status: 'healthy' }),
    },
  },
  checkReadiness: {
    tag: 'service',
    summary: 'Can it serve?',
    description: 'Queries the open databases. A server that is shutting down is not ready.',
    curl: 'curl "$SERVER/ready"',
    responses: {
      '200': answer('It is ready.', status('ready'), 'Ready', { status: 'ready' }),
    },
    refusals: ['BUSY', 'STORAGE_FAILED'],
  },
  readDocumentation: {
    tag: 'service',
    summary: 'This page',
    description: 'Works offline: everything it loads comes from this server.',
    curl: 'curl "$SERVER/openapi"',
    responses: {
      '200': PAGE,
    },
    refusals: ['TOO_MANY_REQUESTS'],
  },
  describeInterface: {
    tag: 'service',
    summary: 'This interface as OpenAPI 3.1',
    description: 'For client generators.',
    curl: 'curl "$SERVER/openapi/json"',
    responses: {
      '200': {
        description: 'The document.',
        content: { 'application/json': { schema: DOCUMENT } },
      },
    },
    refusals: ['TOO_MANY_REQUESTS'],
  },
  loadAsset: {
    tag: 'service',
    summary: 'A file of the page',
    description: 'The name contains a hash of the content, so the file can be cached forever.',
    responses: {
      '200': {
        description: 'The file.',
        headers: {
          'Cache-Control': {
            description: 'A year, without revalidation.',
            schema: { const: 'public, max-age=31536000, immutable' },
          },
        },
        content: {
          'text/javascript': { schema: { type: 'string' } },
          'text/css': { schema: { type: 'string' } },
          'image/svg+xml': { schema: { type: 'string' } },
          'text/plain': { schema: { type: 'string' } },
        },
      },
    },
    refusals: ['UNKNOWN_ROUTE', 'TOO_MANY_REQUESTS'],
  },
}

function status(word: string): Schema {
  return object({ status: { const: word } })
}

export const SERVICE_SCHEMAS: Readonly<Record<string, Schema>> = {
  Error: {
    description: 'The body of an error, except where documented otherwise. At most 4 KiB.',
    ...object({
      code: { type: 'string', enum: ERROR_CODES, description: 'For programs.' },
      message: text('For people.'),
      requestId: text('The `X-Request-Id` of the answer.'),
      'reason?': text('The permission, the scope or the property that caused the error.'),
    }),
  },
  Service: object({
    name: { const: 'satchel' },
    version: { type: 'string' },
    documentation: text('The address of this page.'),
  }),
}

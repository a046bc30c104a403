import { toOpenAPISchema } from '@elysiajs/openapi/openapi'
import type { AnyElysia } from 'elysia'
import type { ErrorCode } from '../domain/value/error'
import { HEADERS, withQuota } from './headers'
import { BLOB_OPERATIONS, BLOB_SCHEMAS } from './blob-operations'
import { introduction, SCOPE_MEANINGS } from './introduction'
import { INVITATION_OPERATIONS } from './invitation-operations'
import { LOGIN_OPERATIONS } from './login-operations'
import { LOGIN_SCHEMAS } from './login-schemas'
import { OBJECT_OPERATIONS } from './object-operations'
import { OBJECT_SCHEMAS } from './object-schemas'
import { PATH_PARAMETERS } from './parameters'
import { refusals } from './refusals'
import { ROW_SCHEMAS } from './row-schemas'
import { SERVICE_OPERATIONS } from './service-operations'
import { SERVICE_SCHEMAS } from './service-schemas'
import type { Caller, Operation, Operations, Tag } from './specification'
import { TOKEN_OPERATIONS } from './token-operations'
import { TOKEN_SCHEMAS } from './token-schemas'
import { USER_OPERATIONS } from './user-operations'
import { USER_SCHEMAS } from './user-schemas'
import { VALUE_SCHEMAS } from './value-schemas'
import { WEBHOOK_SCHEMAS, WEBHOOKS } from './webhooks'

const OPERATIONS: Operations = {
  ...TOKEN_OPERATIONS,
  ...LOGIN_OPERATIONS,
  ...OBJECT_OPERATIONS,
  ...INVITATION_OPERATIONS,
  ...BLOB_OPERATIONS,
  ...USER_OPERATIONS,
  ...SERVICE_OPERATIONS,
}

const TAGS: Readonly<Record<Tag, string>> = {
  tokens: 'Who is asking',
  login: 'How people log in',
  my: 'What the subject of the token may see',
  all: 'The whole database',
  public: 'What everybody may read',
  tables: 'The tables of /my by shorter addresses',
  invitations: 'Where the links in invitations lead',
  blobs: 'Binary data beside the objects',
  users: 'The people who use a database',
  service: 'What belongs to no database',
}

/**
 * The interface as an OpenAPI 3.1 document: the routes are those of `app`, and what they mean is in
 * the tables of this folder. Throws when one of them has no operation there.
 */
export function createDocument(app: AnyElysia, version: string): object {
  const { paths } = toOpenAPISchema(app, { staticFile: false })
  return {
    openapi: '3.1.1',
    info: {
      title: 'Satchel',
      version,
      summary: 'An open backend for local-first applications.',
      description: introduction(),
    },
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
    paths: mapValues(paths, (methods) =>
      mapValues(methods ?? {}, (route) => describe(route as Route)),
    ),
    webhooks: WEBHOOKS,
    components: {
      headers: HEADERS,
      parameters: PATH_PARAMETERS,
      schemas: {
        ...SERVICE_SCHEMAS,
        ...TOKEN_SCHEMAS,
        ...LOGIN_SCHEMAS,
        ...OBJECT_SCHEMAS,
        ...BLOB_SCHEMAS,
        ...USER_SCHEMAS,
        ...WEBHOOK_SCHEMAS,
        ...ROW_SCHEMAS,
        ...VALUE_SCHEMAS,
      },
      securitySchemes: SECURITY_SCHEMES,
    },
  }
}

/** What the framework knows of a route. */
interface Route {
  readonly operationId: string
  readonly parameters?: readonly { readonly name: string }[]
}

const SECURITY_SCHEMES = {
  bearer: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'JWT',
    description:
      'An access token: the `accessToken` of `POST /{database}/token`, or what `satchel token --sub alice@example.com` prints.',
  },
  client: {
    type: 'oauth2',
    description:
      'Gets a token of the client itself, for the database `main`. On `/my` it stands for the client: to be a user there, take a token of that user as bearer.',
    flows: { clientCredentials: { tokenUrl: '/main/token', scopes: SCOPE_MEANINGS } },
  },
  basic: { type: 'http', scheme: 'basic', description: 'The id and the secret of a client.' },
} as const

function describe({ operationId, parameters = [] }: Route): object {
  const operation = OPERATIONS[operationId]
  if (operation === undefined) throw new Error(`the operation ${operationId} is not described`)
  const { tag, caller, summary, body, responses } = operation
  const answers = { ...responses, ...refusals(codesOf(operation), operation) }
  return {
    operationId,
    tags: [tag],
    summary,
    description: descriptionOf(operation),
    parameters: [
      ...parameters.map(({ name }) => ({ $ref: `#/components/parameters/${name}` })),
      ...(operation.parameters ?? []),
    ],
    ...(body === undefined ? {} : { requestBody: { required: true, content: body } }),
    responses: withQuota(answers, tag !== 'service' && tag !== 'blobs'),
    security: securityOf(caller),
    ...(typeof caller === 'string' ? {} : { 'x-required-scopes': caller }),
  }
}

function descriptionOf({ description, caller, curl }: Operation): string {
  const paragraphs = [description, `**Who may:** ${whoMay(caller)}`]
  if (curl !== undefined) paragraphs.push(`\`\`\`sh\n${curl}\n\`\`\``)
  return paragraphs.join('\n\n')
}

function whoMay(caller: Caller): string {
  if (caller === 'anybody') return 'everybody; no token is needed.'
  if (caller === 'client') {
    return 'who knows the id and secret of a client, holds the key that a refresh token is bound to, or logs in.'
  }
  if (caller.length === 0) return 'the bearer of a token; it needs no scope.'
  return `the bearer of a token with ${caller.map((scope) => `\`${scope}\``).join(' and ')}.`
}

function securityOf(caller: Caller): readonly Readonly<Record<string, readonly string[]>>[] {
  if (caller === 'anybody') return []
  if (caller === 'client') return [{ basic: [] }, {}]
  return [{ bearer: caller }, { client: caller }]
}

/** Those of every route, of what its caller shows, and its own. */
function codesOf({ tag, caller, refusals = [] }: Operation): ErrorCode[] {
  return [
    'INVALID_REQUEST',
    ...(typeof caller === 'string' ? [] : BEARER),
    ...(typeof caller === 'string' || caller.length === 0 ? [] : SCOPED),
    'ORIGIN_NOT_ALLOWED',
    ...(tag === 'service' ? [] : DATABASE),
    ...refusals,
    'INTERNAL',
  ]
}

const BEARER: readonly ErrorCode[] = ['INVALID_TOKEN', 'USER_DEACTIVATED']
const SCOPED: readonly ErrorCode[] = ['NOT_AUTHORIZED']
const DATABASE: readonly ErrorCode[] = [
  'UNKNOWN_DATABASE',
  'TOO_MANY_REQUESTS',
  'BUSY',
  'STORAGE_FAILED',
  'NEWER_DATA',
]

function mapValues<T, U>(
  record: Readonly<Record<string, T>>,
  change: (value: T) => U,
): Record<string, U> {
  return Object.fromEntries(
    Object.entries(record).map(([name, value]) => [name, change(value)] as const),
  )
}

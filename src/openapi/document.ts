import { type Door, doorOf, scopesOf } from '../domain/access/door'
import { type ErrorCode, MEANINGS } from '../domain/value/error'
import { KEY_BYTES } from '../domain/value/key'
import { SERVER_ADDRESSES } from '../domain/value/schema'
import type { Scope } from '../domain/value/scope'
import { formatTime, RATE_LIMIT_NAMES, RATE_LIMITS } from '../limits/rate-limits'
import { BLOB_OPERATIONS, BLOB_SCHEMAS } from './blobs'
import { CHANGES_OPERATIONS } from './changes'
import { CLIENT_OPERATIONS, CLIENT_SCHEMAS } from './clients'
import { INVITATION_OPERATIONS } from './invitations'
import { LOGIN_OPERATIONS, LOGIN_SCHEMAS } from './logins'
import { OBJECT_SCHEMAS, ROW_SCHEMAS, VALUE_SCHEMAS } from './object-schemas'
import { OBJECT_OPERATIONS } from './objects'
import { HEADERS, withQuota, refusals, ERROR_CODES } from './refusals'
import { SERVICE_OPERATIONS, SERVICE_SCHEMAS } from './service'
import {
  mapValues,
  type Operation,
  type Operations,
  type Parameter,
  type Schema,
  type Tag,
} from './specification'
import { STATUS } from './status'
import { SYNC_OPERATIONS, SYNC_SCHEMAS } from './sync'
import { TOKEN_OPERATIONS } from './token-operations'
import { TOKEN_SCHEMAS } from './token-schemas'
import { TRANSFER_OPERATIONS } from './transfers'
import { describeTable, type TableOperation } from './table'
import { USER_SCHEMAS } from './users'
import { WEBHOOK_SCHEMAS, WEBHOOKS } from './webhooks'

const OPERATIONS: Operations = {
  ...TOKEN_OPERATIONS,
  ...LOGIN_OPERATIONS,
  ...CHANGES_OPERATIONS,
  ...OBJECT_OPERATIONS,
  ...INVITATION_OPERATIONS,
  ...BLOB_OPERATIONS,
  ...SYNC_OPERATIONS,
  ...CLIENT_OPERATIONS,
  ...TRANSFER_OPERATIONS,
  ...SERVICE_OPERATIONS,
}

const TAGS: Readonly<Record<Tag, string>> = {
  tokens: 'Authentication',
  login: 'Logins of people',
  my: 'Objects that the subject of the token may see',
  all: 'The whole database',
  public: 'Objects that everyone may read',
  tables: 'The tables of /my at shorter addresses',
  invitations: 'The pages of invitations',
  blobs: 'Binary data that objects reference',
  sync: 'Live sync of the client add-on',
  users: 'The users of a database',
  management: 'The routes of the public command line client, `dexie-cloud`',
  service: 'Routes of the server itself',
}

/**
 * The interface as an OpenAPI 3.1 document. `paths` are the registered routes, by path and method; the
 * tables of this folder describe them, and `table` those that it serves. Throws when a route has no description.
 */
export function createDocument(
  paths: Routes,
  table: readonly TableOperation[],
  version: string,
): object {
  const operations = { ...OPERATIONS, ...describeTable(table) }
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
      mapValues(methods, (route) => describe(route, operations)),
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
        ...SYNC_SCHEMAS,
        ...CLIENT_SCHEMAS,
        ...WEBHOOK_SCHEMAS,
        ...ROW_SCHEMAS,
        ...VALUE_SCHEMAS,
      },
      securitySchemes: SECURITY_SCHEMES,
    },
  }
}

/** Names that other routes have where the short addresses of tables are. */
const TAKEN = [...SERVER_ADDRESSES]

/** Path parameters, by their name in the routes. */
const PATH_PARAMETERS: Readonly<Record<string, Parameter>> = {
  database: inPath(
    'database',
    'The name of the database. The first start of a server creates `main`.',
    { type: 'string', pattern: '^[a-z][a-z0-9-]{0,62}$', default: 'main' },
  ),
  table: inPath(
    'table',
    'A table of the schema (`satchel schema push`), or one of the built-in tables `realms`, `members` and `roles`.',
    { type: 'string', minLength: 1 },
    'todoItems',
  ),
  shortTable: inPath(
    'table',
    'A table. Those with the name of another route of the database are only at `/my/{table}`.',
    { type: 'string', minLength: 1, not: { enum: TAKEN } },
    'todoItems',
  ),
  key: inPath(
    'key',
    `The primary key, URL-encoded, at most ${KEY_BYTES} bytes. A compound key is the URL-encoded JSON of its parts: \`["rlm-public","editor"]\` is sent as \`%5B%22rlm-public%22%2C%22editor%22%5D\`. On \`/my\`, \`#settings\` (\`%23settings\`) is the caller's own object of that name, which contains no ":" unless the caller's id is an e-mail address.`,
    { type: 'string', minLength: 1, maxLength: KEY_BYTES },
    'milk',
  ),
  blob: inPath(
    'blob',
    'The id of the blob, 1 to 128 letters, digits and `_ - . ~ |`. To download it, the `ref` that its upload returned: `1:` and the id; the colon may be encoded.',
    { type: 'string', minLength: 1, maxLength: 130 },
    '1:holiday-2030-01',
  ),
  user: inPath(
    'user',
    'The user id, URL-encoded.',
    { type: 'string', minLength: 1 },
    'alice@example.com',
  ),
  provider: inPath(
    'provider',
    'The `name` of a login provider.',
    { type: 'string', pattern: '^[a-z][a-z0-9-]{0,62}$' },
    'google',
  ),
  guide: inPath('guide', 'The name of a guide.', { type: 'string', minLength: 1 }, 'sharing'),
  asset: inPath('asset', 'The name of a file of the documentation page.', { type: 'string' }),
}

function inPath(name: string, description: string, schema: Schema, example?: string): Parameter {
  return {
    name,
    in: 'path',
    required: true,
    description,
    schema,
    ...(example === undefined ? {} : { example }),
  }
}

/** The registered routes by path (`/{database}/users`) and method. */
export type Routes = Readonly<Record<string, Readonly<Record<string, Route>>>>

/** A route as it was registered. */
interface Route {
  readonly operationId: string
  readonly parameters?: readonly { readonly name: string }[]
}

function describe({ operationId, parameters = [] }: Route, operations: Operations): object {
  const operation = operations[operationId]
  if (operation === undefined) throw new Error(`the operation ${operationId} is not described`)
  const { tag, summary, body, responses, pathParameters = {} } = operation
  const door = doorOf(operationId)
  const scopes = door === 'ticket' ? [] : scopesOf(door)
  const answers = { ...responses, ...refusals(codesOf(operation, scopes), operation) }
  return {
    operationId,
    tags: [tag],
    summary,
    description: descriptionOf(operation, door),
    parameters: [
      ...parameters.map(({ name }) => ({
        $ref: `#/components/parameters/${pathParameters[name] ?? name}`,
      })),
      ...(operation.parameters ?? []),
    ],
    ...(body === undefined ? {} : { requestBody: { required: true, content: body } }),
    responses: withQuota(answers, isCounted(operation)),
    security: securityOf(door, scopes),
    ...(scopes === undefined ? {} : { 'x-required-scopes': scopes }),
  }
}

/** True when the requests of a route are counted by the rate limits. */
function isCounted({ tag, refusals = [] }: Operation): boolean {
  return tag === 'service' ? refusals.includes('TOO_MANY_REQUESTS') : tag !== 'blobs'
}

function descriptionOf({ description, curl }: Operation, door: Door): string {
  const paragraphs = [description, `**Access:** ${accessOf(door)}`]
  if (curl !== undefined) paragraphs.push(`\`\`\`sh\n${curl}\n\`\`\``)
  return paragraphs.join('\n\n')
}

function accessOf(door: Door): string {
  if (door === 'anyone' || door === 'link') return 'all callers; no token is needed.'
  if (door === 'client') {
    return 'callers with the id and secret of a client or with the key that a refresh token is bound to, and people who log in.'
  }
  const scopes = scopesOf(door) ?? []
  if (scopes.length === 0) return 'the bearer of a token; it needs no scope.'
  const bearer = `the bearer of a token with ${scopes.map((scope) => `\`${scope}\``).join(' and ')}`
  return isOpen(door) ? `${bearer}; without a token for public data.` : `${bearer}.`
}

function securityOf(
  door: Door,
  scopes: readonly Scope[] | undefined,
): readonly Readonly<Record<string, readonly string[]>>[] {
  if (door === 'client') return [{ basic: [] }, {}]
  if (scopes === undefined) return []
  return [{ bearer: scopes }, { client: scopes }, ...(isOpen(door) ? [{}] : [])]
}

/** True for a door that anonymous callers may enter too. */
function isOpen(door: Door): boolean {
  return typeof door === 'object' && 'withToken' in door
}

/** The refusals of every route, of its authentication, and its own. */
function codesOf(
  { tag, refusals = [] }: Operation,
  scopes: readonly Scope[] | undefined,
): ErrorCode[] {
  const codes: readonly ErrorCode[] = [
    'INVALID_REQUEST',
    ...(scopes === undefined ? [] : BEARER),
    ...(scopes === undefined || scopes.length === 0 ? [] : SCOPED),
    'ORIGIN_NOT_ALLOWED',
    ...(tag === 'service' ? [] : DATABASE),
    ...refusals,
    'INTERNAL',
  ]
  return [...new Set(codes)]
}

const BEARER: readonly ErrorCode[] = ['INVALID_TOKEN', 'USER_DEACTIVATED']
const SCOPED: readonly ErrorCode[] = ['NOT_AUTHORIZED']
const DATABASE: readonly ErrorCode[] = [
  'UNKNOWN_DATABASE',
  'TOO_MANY_REQUESTS',
  'BUSY',
  'STORAGE_FAILED',
  'DAMAGED',
  'NEWER_DATA',
  'COPIED_DATABASE',
]

/** The meaning of each scope (spec.md §5.4, protocol.md §9.2). */
export const SCOPE_MEANINGS: Readonly<Record<Scope, string>> = {
  ACCESS_DB: 'Read and write under the access rules of realms.',
  GLOBAL_READ: 'Read all objects of all realms.',
  GLOBAL_WRITE: 'Write all objects of all realms.',
  IMPERSONATE: 'Request tokens of users, with claims.',
  MANAGE_DB: 'Manage clients, origins and the schema.',
  DELETE_DB: 'Delete the database.',
}

/** The introduction of the page. Paragraphs are lines: the page breaks where the text does. */
export function introduction(): string {
  return [
    'Each database has its own address, `/{database}`, with these routes:',
    '* `POST /token` issues bearer tokens,',
    '* `/all`, `/my` and `/public` are three views on the same tables: the whole database, the objects that the subject of the token may read, and the objects that everyone may read; `/my/{table}` is also served as `/{table}`,',
    '* `/blob` holds binary data, which objects reference,',
    '* `/sync` serves the client add-on, `dexie-cloud-addon`,',
    '* `/users` lists its users.',
    '',
    'The examples work in a shell with these variables, and a table that has been declared:',
    '',
    '```sh',
    'SERVER=http://127.0.0.1:7080',
    'DB=$SERVER/main',
    'TOKEN=$(satchel token --sub alice@example.com --scopes ACCESS_DB,GLOBAL_READ,GLOBAL_WRITE,MANAGE_DB)',
    `echo '{"todoItems": "@id, title"}' | satchel schema push -`,
    '```',
    '',
    ...section('Scopes', [
      '| scope | permission |',
      '|---|---|',
      ...Object.entries(SCOPE_MEANINGS).map(([scope, text]) => `| \`${scope}\` | ${text} |`),
      '',
      'A token has only the requested scopes. A missing or invalid token is answered with 401, and a missing scope with 403, before the body is read.',
    ]),
    ...section('Objects and typed values', [
      'An object is a JSON object with a primary key, which the schema of its table names, and a `realmId`, the realm it belongs to: a user id (the private realm of that user), `rlm-public`, or the id of a row of `realms`. Rows of `members` and `roles` hold the permissions in a realm.',
      '',
      'Values that JSON cannot represent are objects with `$t`, the name of their type, and `v`: a Date is `{"$t":"Date","v":"2030-01-31T12:00:00.000Z"}`. They are returned as they were sent; those of a known type that a client could not read are refused. Integers beyond ±9007199254740991 are refused: send them as `{"$t":"bigint","v":"…"}`.',
    ]),
    ...section('Headers and limits', [
      '* Every answer has an `X-Request-Id`, which the log of the server contains too.',
      '* Answers to requests with a token have `Cache-Control: private, no-store`.',
      '* A page of another origin may call after `satchel origin add` has listed it. It can read `Link`, `Retry-After` and the headers of rate limits.',
      '* A body has at most 16 MiB, 64 levels of nesting and 1,000,000 values, and a blob at most 1 GiB, unless the server is configured otherwise.',
    ]),
    ...section('Rate limits', [
      'A server limits the rate of requests (`satchel serve --rate-limits`), except in development: on loopback without a public address. These are the default limits:',
      '',
      ...limitTable(),
      '',
      'Requests for blobs are not counted. The window of a limit begins with the first request. A network is an IPv4 address, or the first 64 bits of an IPv6 address. Answers report the limit in `Ratelimit-Limit`, `Ratelimit-Remaining` and `Ratelimit-Reset` (seconds). A request above the limit is refused with 429 and `Retry-After`, before its body is read; beyond `firstSyncs` it waits for its turn instead.',
    ]),
    ...section('Errors', [
      'The body of an error is `{"code", "message", "requestId"}`, and `reason` when a permission, a scope or a property is the cause. It never repeats request data.',
      '',
      '| code | status | meaning |',
      '|---|---|---|',
      ...ERROR_CODES.map((code) => `| \`${code}\` | ${STATUS[code]} | ${MEANINGS[code]} |`),
      '',
      'At `POST /token` the status of `INVALID_GRANT` is 401.',
    ]),
  ].join('\n')
}

/** The default rate limits. */
function limitTable(): string[] {
  const rows = RATE_LIMIT_NAMES.map((name) => {
    const { count, window, counts, per } = RATE_LIMITS[name]
    return `| \`${name}\` | ${count} in ${formatTime(window)} | ${counts} | ${per} |`
  })
  return ['| name | limit | counts | for each |', '|---|---|---|---|', ...rows]
}

/** Folded until it is opened; the empty line makes Markdown of the text after it. */
function section(title: string, lines: readonly string[]): string[] {
  return [`<details><summary>${title}</summary>`, '', ...lines, '', '</details>', '']
}

const SECURITY_SCHEMES = {
  bearer: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'JWT',
    description:
      'An access token: the `accessToken` of `POST /{database}/token`, or the output of `satchel token --sub alice@example.com`.',
  },
  client: {
    type: 'oauth2',
    description:
      'Gets a token of the client itself, for the database `main`. On `/my` its subject is the client; to act as a user there, use a token of that user as bearer.',
    flows: { clientCredentials: { tokenUrl: '/main/token', scopes: SCOPE_MEANINGS } },
  },
  basic: { type: 'http', scheme: 'basic', description: 'The id and the secret of a client.' },
} as const

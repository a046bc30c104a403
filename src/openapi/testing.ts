import { EXPLAINED } from '../domain/object/explain'
import { mapValues, type Schema } from './specification'

/** An address of test mode, below `/{database}/_test/` (docs/testing.md). */
export interface TestRoute {
  readonly method: 'GET' | 'POST' | 'DELETE'
  /** `restore/:id`, with at most one parameter. */
  readonly path: string
  /** The operation `test.<name>` that answers it. */
  readonly operation: string
  readonly summary: string
  readonly description: string
  /** The properties of the JSON body, or of the query. */
  readonly input?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly answer: Schema
}

const NOTHING: Schema = { type: 'object', additionalProperties: false }
const TEXT: Schema = { type: 'string' }

export const TEST_ROUTES: readonly TestRoute[] = [
  {
    method: 'POST',
    path: 'snapshot',
    operation: 'snapshot',
    summary: 'Take a snapshot',
    description:
      'Keeps the database as it is, in memory: objects, users, codes, blobs, mails, the clock and the state of sync.',
    answer: object({ id: TEXT }),
  },
  {
    method: 'DELETE',
    path: 'snapshot/:id',
    operation: 'forget',
    summary: 'Delete a snapshot',
    description: 'Frees its memory. A database keeps at most 100 snapshots.',
    answer: NOTHING,
  },
  {
    method: 'POST',
    path: 'restore/:id',
    operation: 'restore',
    summary: 'Return to a snapshot',
    description:
      'The database is as it was, and nothing fails on purpose. Live connections are closed; clients fetch everything anew, as after a restart.',
    answer: NOTHING,
  },
  {
    method: 'POST',
    path: 'fork/:id',
    operation: 'fork',
    summary: 'Make a database of a snapshot',
    description:
      'The new database has an identity of its own: tokens and logins of the first are not valid for it, the secrets of clients are.',
    answer: object({ name: TEXT, url: TEXT }),
  },
  {
    method: 'POST',
    path: 'reset',
    operation: 'reset',
    summary: 'Return to the beginning',
    description:
      'Keeps schema, clients, keys, origins, policy and providers, empties the rest, applies the seed again and lets the clock show the time of the machine.',
    answer: NOTHING,
  },
  {
    method: 'GET',
    path: 'mail',
    operation: 'mail',
    summary: 'Read mails',
    description:
      'The newest comes first. While there is none, the answer waits for one, for up to `wait`. With `service` in the place of the database: mails to people who create databases.',
    input: {
      to: { ...TEXT, description: 'Only mails to this address.' },
      after: { ...TEXT, description: 'Only mails that came after the one with this `id`.' },
      wait: { ...TEXT, description: 'At most 60 seconds.', examples: ['5s', '250ms'] },
    },
    answer: object({
      mails: {
        type: 'array',
        items: object({
          id: TEXT,
          to: TEXT,
          kind: { enum: ['otp', 'invite'] },
          subject: TEXT,
          otp: { type: ['string', 'null'] },
          link: { type: ['string', 'null'] },
          text: TEXT,
          html: TEXT,
        }),
      },
    }),
  },
  {
    method: 'POST',
    path: 'login',
    operation: 'login',
    summary: 'Log a user in',
    description:
      'Answers what `/token` answers. With `page`, also `url`: an application with the client add-on that is opened at this address is logged in.',
    input: {
      email: TEXT,
      name: TEXT,
      publicKey: { ...TEXT, description: 'PEM; with it there is a refresh token.' },
      page: { ...TEXT, description: 'The address of a page of the application.' },
    },
    required: ['email'],
    answer: { type: 'object', required: ['accessToken', 'claims'], additionalProperties: true },
  },
  {
    method: 'POST',
    path: 'clock',
    operation: 'clock',
    summary: 'Read or move the clock of the database',
    description:
      'Tokens, codes, evaluations, rate limits and the collection of blobs follow it. Signatures of refresh requests and `wait` follow the time of the machine.',
    input: {
      advance: { ...TEXT, examples: ['31d', '1h30m', '-2m'] },
      set: { ...TEXT, format: 'date-time' },
      freeze: { type: 'boolean', description: 'True stops the clock, false lets it run on.' },
    },
    answer: object({ now: { ...TEXT, format: 'date-time' }, frozen: { type: 'boolean' } }),
  },
  {
    method: 'POST',
    path: 'idp',
    operation: 'idp',
    summary: 'Open the login provider for tests',
    description:
      'Adds the login provider `test` to the database: an OpenID provider of this server, with a page on which a tester chooses a person.',
    input: {
      people: {
        type: 'array',
        items: {
          type: 'object',
          required: ['email'],
          properties: {
            email: TEXT,
            name: TEXT,
            failure: { enum: ['denied', 'unverified', 'wrong-nonce', 'slow', 'down'] },
          },
        },
      },
    },
    answer: object({ provider: TEXT, issuer: TEXT }),
  },
  {
    method: 'POST',
    path: 'idp/login',
    operation: 'idp-login',
    summary: 'Log a person in at the login provider, without a browser',
    description:
      'Answers the address to which the provider would return the browser of an application that began a login with this `redirect_uri`: with a code, or with the error.',
    input: { as: TEXT, provider: { ...TEXT, default: 'test' }, redirect_uri: TEXT },
    required: ['as', 'redirect_uri'],
    answer: object({ url: TEXT }),
  },
  {
    method: 'POST',
    path: 'explain',
    operation: 'explain',
    summary: 'Explain the rights of a user',
    description: 'Answers what `GET /{database}/explain` answers.',
    input: {
      as: { ...TEXT, description: 'A user id.' },
      do: { enum: EXPLAINED },
      table: TEXT,
      key: TEXT,
      realm: { ...TEXT, description: 'For `add`; by default the private realm of the user.' },
      property: { ...TEXT, description: 'For `update`; by default any.' },
    },
    required: ['as', 'do', 'table'],
    answer: { type: 'object', required: ['allowed', 'rule'], additionalProperties: true },
  },
  {
    method: 'POST',
    path: 'fault',
    operation: 'fault',
    summary: 'Make the server fail',
    description:
      'All other requests of the database, until the next change, restore or reset: with `latency` they take longer, with `errorRate` so many of them get 503, with `offline` none is executed and no answer arrives, with `loseReplies` all are executed and no answer arrives. Without a body the answer has the present state.',
    input: {
      latency: { ...TEXT, examples: ['200ms', '1s'] },
      errorRate: { type: 'number', minimum: 0, maximum: 1 },
      offline: { type: 'boolean' },
      loseReplies: { type: 'boolean' },
    },
    answer: object({
      latency: { type: 'integer', description: 'ms' },
      errorRate: { type: 'number' },
      offline: { type: 'boolean' },
      loseReplies: { type: 'boolean' },
    }),
  },
]

/** The addresses of test mode as an OpenAPI 3.1 document of their own (promises.md 43). */
export function describeTestRoutes(version: string): object {
  const byPath = Object.groupBy(TEST_ROUTES, ({ path }) => path.replace(':id', '{id}'))
  return {
    openapi: '3.1.1',
    info: {
      title: 'Satchel test mode',
      version,
      description: 'Addresses that exist only with `satchel serve --memory --test`.',
    },
    paths: Object.fromEntries(
      Object.entries(byPath).map(([path, routes = []]) => [
        `/{database}/_test/${path}`,
        Object.fromEntries(routes.map((route) => [route.method.toLowerCase(), describe(route)])),
      ]),
    ),
    components: { securitySchemes: { test: { type: 'http', scheme: 'bearer' } } },
    security: [{ test: [] }],
  }
}

function describe({ method, path, operation, summary, description, ...route }: TestRoute): object {
  const { input = {}, required = [], answer } = route
  const inQuery = method === 'GET'
  const names = path.includes(':id') ? ['database', 'id'] : ['database']
  return {
    operationId: operation,
    summary,
    description,
    parameters: [
      ...names.map((name) => ({ name, in: 'path', required: true, schema: TEXT })),
      ...(inQuery ? Object.entries(input) : []).map(([name, schema]) => ({
        name,
        in: 'query',
        schema,
      })),
    ],
    ...(inQuery || Object.keys(input).length === 0
      ? {}
      : {
          requestBody: {
            content: { 'application/json': { schema: { ...object(input), required } } },
          },
        }),
    responses: {
      '200': { description: summary, content: { 'application/json': { schema: answer } } },
      ...mapValues(REFUSALS, (refusal) => ({ description: refusal })),
    },
  }
}

const REFUSALS = {
  '400': 'The input is wrong.',
  '401': 'The test token is missing or wrong.',
  '403': 'A page of another origin, or another machine, has called.',
  '404': 'There is no such database or snapshot.',
}

function object(properties: Readonly<Record<string, Schema>>): {
  readonly [keyword: string]: unknown
} {
  const required = Object.keys(properties)
  return { type: 'object', properties, required, additionalProperties: false }
}

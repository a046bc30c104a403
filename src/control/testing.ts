import { explain, readQuestion } from '../domain/object/explain'
import { requireEmail } from '../domain/value/email'
import { SatchelError } from '../domain/value/error'
import { SECOND } from '../domain/value/time'
import type { DataFolder } from '../host/data-folder'
import type { KeptMail } from '../host/mailbox'
import { IDP_FAILURES, type IdpPerson, SERVICE, type Testing } from '../host/test-mode'
import {
  described,
  type Field,
  type Fields,
  flag,
  number,
  oneOf,
  optional,
  text,
  type Values,
  readFields,
  schemaOf,
  type Schema,
} from './fields'
import { type Declaration, type Method, onFolder } from './operation'
import { QUESTION } from './users'

const PERSON = { email: text, name: optional(text), failure: optional(oneOf(IDP_FAILURES)) }

/** The people of the login provider. */
const people: Field<readonly IdpPerson[]> = {
  schema: { type: 'array', items: schemaOf(PERSON) },
  expected: 'an array',
  parse: (value) =>
    Array.isArray(value)
      ? value.map((given) => {
          const { email, ...person } = readFields(PERSON, given)
          return { email: requireEmail(email), ...person }
        })
      : undefined,
}

/** `5s` or `250ms`, or a number of ms. */
const wait: Field<number> = {
  schema: { ...text.schema, description: 'At most 60 seconds.', examples: ['5s', '250ms'] },
  expected: 'a time of at most 60s, such as 5s',
  parse(value) {
    const [, count, unit] = /^(\d{1,6})(ms|s)$/.exec(String(value)) ?? []
    const ms = typeof value === 'number' ? value : Number(count) * (unit === 's' ? SECOND : 1)
    return ms >= 0 && ms <= MAX_WAIT_MS ? ms : undefined
  },
}

const MAX_WAIT_MS = 60 * SECOND

/** Each property is there. */
function closed(properties: Readonly<Record<string, Schema>>): Schema {
  return {
    type: 'object',
    properties,
    required: Object.keys(properties),
    additionalProperties: false,
  }
}

const TEXT = text.schema
const TIME = { ...TEXT, format: 'date-time' }
const NULLABLE = { type: ['string', 'null'] }
const BOOLEAN = { type: 'boolean' }
const NOTHING = { type: 'object', additionalProperties: false }
const MAIL = closed({
  id: TEXT,
  to: TEXT,
  kind: { enum: ['otp', 'invite'] },
  subject: TEXT,
  otp: NULLABLE,
  link: NULLABLE,
  text: TEXT,
  html: TEXT,
})

/** The operations of test mode, each also at `/<database>/_test/…` (promises.md 43). */
export const testOperations = {
  /** The id of a new snapshot. */
  'test.snapshot': onTested(
    {
      effect: 'write',
      summary: 'Take a snapshot',
      address: 'POST snapshot',
      description:
        'Keeps the database as it is, in memory: objects, users, codes, blobs, mails, the clock and the state of sync.',
      answer: closed({ id: TEXT }),
      input: {},
    },
    ({ testing, database }) => testing.snapshot(database),
  ),

  'test.snapshots': onTested(
    {
      effect: 'read',
      summary: 'List the snapshots',
      address: 'GET snapshot',
      description: 'The newest comes first. `created` is the time of the machine.',
      answer: closed({
        snapshots: { type: 'array', items: closed({ id: TEXT, created: TIME }) },
      }),
      input: {},
    },
    async ({ testing, database }) => ({
      snapshots: testing.snapshots(database).map(({ id, created }) => {
        return { id, created: new Date(created).toISOString() }
      }),
    }),
  ),

  'test.restore': onTested(
    {
      effect: 'destroy',
      summary: 'Return to a snapshot',
      address: 'POST restore/:id',
      description:
        'The database is as it was, and nothing fails on purpose. Live connections are closed; clients fetch everything anew, as after a restart.',
      answer: NOTHING,
      input: { id: text },
    },
    async ({ testing, database }, { id }) => {
      await testing.restore(database, id)
      return {}
    },
  ),

  'test.forget': onTested(
    {
      effect: 'destroy',
      summary: 'Delete a snapshot',
      address: 'DELETE snapshot/:id',
      description: 'Frees its memory. A database keeps at most 100 snapshots.',
      answer: NOTHING,
      input: { id: text },
    },
    async ({ testing, database }, { id }) => {
      testing.removeSnapshot(database, id)
      return {}
    },
  ),

  'test.fork': onTested(
    {
      effect: 'write',
      summary: 'Make a database of a snapshot',
      address: 'POST fork/:id',
      description:
        'The new database has an identity of its own: tokens and logins of the first are not valid for it, the secrets of clients are.',
      answer: closed({ name: TEXT, url: TEXT }),
      input: { id: text },
    },
    async ({ testing, database, folder }, { id }) => {
      const name = await testing.fork(database, id)
      return { name, url: folder.url(name) }
    },
  ),

  'test.reset': onTested(
    {
      effect: 'destroy',
      summary: 'Return to the beginning',
      address: 'POST reset',
      description:
        'Keeps schema, clients, keys, origins, policy and providers, empties the rest, applies the seed again and lets the clock show the time of the machine.',
      answer: NOTHING,
      input: {},
    },
    async ({ testing, database }) => {
      await testing.reset(database)
      return {}
    },
  ),

  /** Of a database, or of the `SERVICE`. `wait` is in ms; the mails come newest first. */
  'test.mail': atAddress(
    {
      effect: 'secret',
      summary: 'Read mails',
      address: 'GET mail',
      description:
        'The newest comes first. While there is none, the answer waits for one, for up to `wait`. With `service` in the place of the database: mails to people who create databases.',
      answer: closed({ mails: { type: 'array', items: MAIL } }),
      input: {
        database: text,
        to: described(optional(text), 'Only mails to this address.'),
        after: described(optional(text), 'Only mails that came after the one with this `id`.'),
        wait: optional(wait),
      },
    },
    async (folder, { database, to, after, wait }) => {
      const testing = requireTesting(folder)
      if (database !== SERVICE) await folder.hosts.open(database)
      const mails = await testing.mailbox(database).find(to, after, wait ?? 0)
      return { mails: mails.flatMap(asTestsRead) }
    },
  ),

  'test.login': onTested(
    {
      effect: 'secret',
      summary: 'Log a user in',
      address: 'POST login',
      description:
        'Answers what `/token` answers. With `page`, also `url`: an application with the client add-on that is opened at this address is logged in.',
      answer: { type: 'object', required: ['accessToken', 'claims'], additionalProperties: true },
      input: {
        email: text,
        name: optional(text),
        publicKey: described(optional(text), 'PEM; with it there is a refresh token.'),
        page: described(optional(text), 'The address of a page of the application.'),
      },
    },
    ({ testing, database }, order) => testing.login(database, order),
  ),

  'test.explain': onTested(
    {
      effect: 'read',
      summary: 'Explain the rights of a user',
      address: 'POST explain',
      description: 'Answers what `GET /{database}/explain` answers.',
      answer: { type: 'object', required: ['allowed', 'rule'], additionalProperties: true },
      input: QUESTION,
    },
    async ({ database, folder }, question) => {
      const opened = await folder.hosts.open(database)
      const now = opened.clock.now()
      return await opened.database.read((tx) => explain(tx, readQuestion(question), now))
    },
  ),

  'test.fault': onTested(
    {
      effect: 'write',
      summary: 'Make the server fail',
      address: 'POST fault',
      description:
        'All other requests of the database, until the next change, restore or reset: with `latency` they take longer, with `errorRate` so many of them get 503, with `offline` none is executed and no answer arrives, with `loseReplies` all are executed and no answer arrives. Without a body the answer has the present state.',
      answer: closed({
        latency: { type: 'integer', description: 'ms' },
        errorRate: number.schema,
        offline: BOOLEAN,
        loseReplies: BOOLEAN,
      }),
      input: {
        latency: described(optional(text), undefined, { examples: ['200ms', '1s'] }),
        errorRate: described(optional(number), undefined, { minimum: 0, maximum: 1 }),
        offline: optional(flag),
        loseReplies: optional(flag),
      },
    },
    async ({ testing, database }, change) => testing.fault(database, change),
  ),

  'test.idp': onTested(
    {
      effect: 'write',
      summary: 'Open the login provider for tests',
      address: 'POST idp',
      description:
        'Adds the login provider `test` to the database: an OpenID provider of this server, with a page on which a tester chooses a person.',
      answer: closed({ provider: TEXT, issuer: TEXT }),
      input: { people: optional(people) },
    },
    async ({ testing, database, folder }, { people }) => {
      const provider = await testing.openIdp(database, people)
      return { provider, issuer: `${folder.url(database)}/_test/idp` }
    },
  ),

  /** The address to which the browser returns, with the code in it or the error. */
  'test.idp-login': onTested(
    {
      effect: 'secret',
      summary: 'Log a person in at the login provider, without a browser',
      address: 'POST idp/login',
      description:
        'Answers the address to which the provider would return the browser of an application that began a login with this `redirect_uri`: with a code, or with the error.',
      answer: closed({ url: TEXT }),
      input: {
        as: text,
        provider: described(optional(text), undefined, { default: 'test' }),
        redirect_uri: text,
      },
    },
    async ({ testing, database }, { as, provider, redirect_uri: redirectUri }) => ({
      url: await testing.idpLogin(database, { as, provider: provider ?? 'test', redirectUri }),
    }),
  ),

  'test.clock': onTested(
    {
      effect: 'write',
      summary: 'Read or move the clock of the database',
      address: 'POST clock',
      description:
        'Tokens, codes, evaluations, rate limits and the collection of blobs follow it. Signatures of refresh requests and `wait` follow the time of the machine.',
      answer: closed({ now: TIME, frozen: BOOLEAN }),
      input: {
        advance: described(optional(text), undefined, { examples: ['31d', '1h30m', '-2m'] }),
        set: described(optional(text), undefined, { format: 'date-time' }),
        freeze: described(optional(flag), 'True stops the clock, false lets it run on.'),
      },
      asks: (input) => Object.values(input).every((change) => change === null),
    },
    async ({ testing, database }, change) => {
      const { now, isFrozen } = await testing.clock(database, change)
      return { now: new Date(now).toISOString(), frozen: isFrozen }
    },
  ),
}

interface Tested {
  readonly testing: Testing
  readonly database: string
  readonly folder: DataFolder
}

/** An operation of test mode without its callers, with its address and what is said of that. */
interface TestDeclaration<F extends Fields, Output> extends Omit<Declaration<F, Output>, 'scopes'> {
  /** The method, and the path below `/<database>/_test/`. */
  readonly address: `${Method} ${string}`
  readonly description: string
  readonly answer: Schema
}

/** An operation on a database of a server in test mode. Running it throws `CONFLICT` on any other. */
function onTested<F extends Fields, Output>(
  declaration: TestDeclaration<F, Output>,
  run: (tested: Tested, input: Values<F>) => Promise<Output>,
) {
  return atAddress(
    { ...declaration, input: { database: text, ...declaration.input } },
    async (folder, input) => {
      const testing = requireTesting(folder)
      const { database, ...rest } = input as Values<F> & { readonly database: string }
      // Throws for an unknown name.
      await folder.hosts.open(database)
      return await run({ testing, database, folder }, rest as unknown as Values<F>)
    },
  )
}

function atAddress<F extends Fields, Output>(
  { address, description, answer, ...declaration }: TestDeclaration<F, Output>,
  run: (folder: DataFolder, input: Values<F>) => Promise<Output>,
) {
  const [method, path] = address.split(' ') as [Method, string]
  const operation = onFolder({ ...declaration, scopes: 'operator' }, run)
  return { ...operation, recordedIn: null, route: { method, path, description, answer } }
}

/** The addresses for tests. */
export function testRoutes() {
  return Object.entries(testOperations).map(([name, { route, summary, input }]) => {
    const { database: _, id: _id, ...fields }: Fields = input
    return { ...route, operation: name.replace('test.', ''), summary, input: schemaOf(fields) }
  })
}

/** Throws `CONFLICT`. */
function requireTesting({ testing }: DataFolder): Testing {
  if (testing !== undefined) return testing
  throw new SatchelError(
    'CONFLICT',
    'This server does not run in test mode: start it with satchel serve --memory --test',
  )
}

/** The contents of a mail beside its recipient; those of one that was given up are not kept. */
function asTestsRead({ id, to, kind, contents }: KeptMail) {
  if (contents === null) return []
  const { from: _, otpId: _id, ...rest } = contents
  return [{ id, to, kind, ...rest }]
}

import { explain, readQuestion } from '../domain/object/explain'
import { requireEmail } from '../domain/value/email'
import { SatchelError } from '../domain/value/error'
import { SECOND } from '../domain/value/time'
import type { DataFolder } from '../host/data-folder'
import { IDP_FAILURES, type IdpPerson, SERVICE, type Testing } from '../host/test-mode'
import {
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
} from './fields'
import { type Declaration, onFolder } from './operation'
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
    return ms >= 0 && ms <= LONGEST_WAIT ? ms : undefined
  },
}

const LONGEST_WAIT = 60 * SECOND

/** The operations of test mode, each also at `/<database>/_test/…` (promises.md 43). */
export const testOperations = {
  /** The id of a new snapshot. */
  'test.snapshot': onTested(
    { effect: 'write', summary: 'Take a snapshot', input: {} },
    ({ testing, database }) => testing.snapshot(database),
  ),

  'test.restore': onTested(
    { effect: 'destroy', summary: 'Return to a snapshot', input: { id: text } },
    async ({ testing, database }, { id }) => {
      await testing.restore(database, id)
      return {}
    },
  ),

  'test.forget': onTested(
    { effect: 'destroy', summary: 'Delete a snapshot', input: { id: text } },
    async ({ testing, database }, { id }) => {
      testing.removeSnapshot(database, id)
      return {}
    },
  ),

  'test.fork': onTested(
    { effect: 'write', summary: 'Make a database of a snapshot', input: { id: text } },
    async ({ testing, database, folder }, { id }) => {
      const name = await testing.fork(database, id)
      return { name, url: folder.url(name) }
    },
  ),

  'test.reset': onTested(
    { effect: 'destroy', summary: 'Return to the beginning', input: {} },
    async ({ testing, database }) => {
      await testing.reset(database)
      return {}
    },
  ),

  /** Of a database, or of the `SERVICE`. `wait` is in ms; the mails come newest first. */
  'test.mail': onFolder(
    {
      scopes: 'operator',
      effect: 'secret',
      summary: 'Read mails',
      input: { database: text, to: optional(text), after: optional(text), wait: optional(wait) },
    },
    async (folder, { database, to, after, wait }) => {
      const testing = requireTesting(folder)
      if (database !== SERVICE) await folder.hosts.open(database)
      return { mails: await testing.mailbox(database).find(to, after, wait ?? 0) }
    },
  ),

  'test.login': onTested(
    {
      effect: 'secret',
      summary: 'Log a user in',
      input: { email: text, name: optional(text), publicKey: optional(text), page: optional(text) },
    },
    ({ testing, database }, order) => testing.login(database, order),
  ),

  'test.explain': onTested(
    { effect: 'read', summary: 'Explain the rights of a user', input: QUESTION },
    async ({ database, folder }, question) => {
      const host = await folder.hosts.open(database)
      const now = host.clock.now()
      return await host.database.read((tx) => explain(tx, readQuestion(question), now))
    },
  ),

  'test.fault': onTested(
    {
      effect: 'write',
      summary: 'Make the server fail',
      input: {
        latency: optional(text),
        errorRate: optional(number),
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
      input: { as: text, provider: optional(text), redirect_uri: text },
    },
    async ({ testing, database }, { as, provider, redirect_uri: redirectUri }) => ({
      url: await testing.idpLogin(database, { as, provider: provider ?? 'test', redirectUri }),
    }),
  ),

  'test.clock': onTested(
    {
      effect: 'write',
      summary: 'Read or move the clock of the database',
      input: { advance: optional(text), set: optional(text), freeze: optional(flag) },
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

/** An operation on a database of a server in test mode. Running it throws `CONFLICT` on any other. */
function onTested<F extends Fields, Output>(
  declaration: Omit<Declaration<F, Output>, 'scopes'>,
  run: (tested: Tested, input: Values<F>) => Promise<Output>,
) {
  return onFolder(
    { ...declaration, scopes: 'operator', input: { database: text, ...declaration.input } },
    async (folder, input) => {
      const testing = requireTesting(folder)
      const { database, ...rest } = input as Values<F> & { readonly database: string }
      // Throws for an unknown name.
      await folder.hosts.open(database)
      return await run({ testing, database, folder }, rest as unknown as Values<F>)
    },
  )
}

/** Throws `CONFLICT`. */
function requireTesting({ testing }: DataFolder): Testing {
  if (testing !== undefined) return testing
  throw new SatchelError(
    'CONFLICT',
    'This server does not run in test mode: start it with satchel serve --memory --test',
  )
}

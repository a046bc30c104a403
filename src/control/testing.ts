import { explain, readQuestion } from '../domain/object/explain'
import { requireEmail } from '../domain/value/email'
import { SatchelError } from '../domain/value/error'
import { SECOND } from '../domain/value/time'
import { isRecord } from '../domain/value/value'
import type { DataFolder } from '../host/data-folder'
import { IDP_FAILURES, type IdpPerson, SERVICE, type Testing } from '../host/test-mode'
import {
  type Fields,
  flag,
  number,
  onFolder,
  oneOf,
  optional,
  text,
  type Values,
} from './operation'
import { QUESTION } from './users'

/** The operations of test mode, each also at `/<database>/_test/…` (promises.md 43). */
export const testOperations = {
  /** The id of a new snapshot. */
  'test.snapshot': onTested({}, ({ testing, database }) => testing.snapshot(database)),

  'test.restore': onTested({ id: text }, async ({ testing, database }, { id }) => {
    await testing.restore(database, id)
    return {}
  }),

  'test.forget': onTested({ id: text }, async ({ testing, database }, { id }) => {
    testing.removeSnapshot(database, id)
    return {}
  }),

  'test.fork': onTested({ id: text }, async ({ testing, database, folder }, { id }) => {
    const name = await testing.fork(database, id)
    return { name, url: folder.url(name) }
  }),

  'test.reset': onTested({}, async ({ testing, database }) => {
    await testing.reset(database)
    return {}
  }),

  /** Of a database, or of the `SERVICE`. `wait` is in ms; the mails come newest first. */
  'test.mail': onFolder(
    { database: text, to: optional(text), after: optional(text), wait: optional(wait) },
    async (folder, { database, to, after, wait }) => {
      const testing = requireTesting(folder)
      if (database !== SERVICE) await folder.hosts.open(database)
      return { mails: await testing.mailbox(database).find(to, after, wait ?? 0) }
    },
  ),

  'test.login': onTested(
    { email: text, name: optional(text), publicKey: optional(text), page: optional(text) },
    ({ testing, database }, order) => testing.login(database, order),
  ),

  'test.explain': onTested(QUESTION, async ({ database, folder }, question) => {
    const host = await folder.hosts.open(database)
    const now = host.clock.now()
    return await host.database.read((tx) => explain(tx, readQuestion(question), now))
  }),

  'test.fault': onTested(
    {
      latency: optional(text),
      errorRate: optional(number),
      offline: optional(flag),
      loseReplies: optional(flag),
    },
    async ({ testing, database }, change) => testing.fault(database, change),
  ),

  'test.idp': onTested(
    { people: optional(people) },
    async ({ testing, database, folder }, { people }) => {
      const provider = await testing.openIdp(database, people)
      return { provider, issuer: `${folder.url(database)}/_test/idp` }
    },
  ),

  /** The address to which the browser returns, with the code in it or the error. */
  'test.idp-login': onTested(
    { as: text, provider: optional(text), redirect_uri: text },
    async ({ testing, database }, { as, provider, redirect_uri: redirectUri }) => ({
      url: await testing.idpLogin(database, { as, provider: provider ?? 'test', redirectUri }),
    }),
  ),

  'test.clock': onTested(
    { advance: optional(text), set: optional(text), freeze: optional(flag) },
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
  fields: F,
  run: (tested: Tested, input: Values<F>) => Promise<Output>,
) {
  return onFolder({ database: text, ...fields }, async (folder, input) => {
    const testing = requireTesting(folder)
    const { database, ...rest } = input as Values<F> & { readonly database: string }
    // Throws for an unknown name.
    await folder.hosts.open(database)
    return await run({ testing, database, folder }, rest as unknown as Values<F>)
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

/** The people of the login provider. */
function people(value: unknown, name: string): readonly IdpPerson[] {
  if (!Array.isArray(value)) throw new SatchelError('INVALID_REQUEST', `${name} must be an array`)
  return value.map((person: unknown) => {
    const given = isRecord(person) ? person : {}
    return {
      email: requireEmail(text(given['email'], 'email')),
      name: optional(text)(given['name'], 'name'),
      failure: optional(oneOf(IDP_FAILURES))(given['failure'], 'failure'),
    }
  })
}

const LONGEST_WAIT = 60 * SECOND

/** `5s` or `250ms`, or a number of ms. */
function wait(value: unknown, name: string): number {
  const [, count, unit] = /^(\d{1,6})(ms|s)$/.exec(String(value)) ?? []
  const ms = typeof value === 'number' ? value : Number(count) * (unit === 's' ? SECOND : 1)
  if (ms >= 0 && ms <= LONGEST_WAIT) return ms
  throw new SatchelError('INVALID_REQUEST', `${name} must be a time of at most 60s, such as 5s`)
}

import { MANAGE, READ, WRITE } from '../domain/access/door'
import { readUserChanges, writeUser } from '../domain/user/change'
import { requireEmail } from '../domain/value/email'
import { explain, EXPLAINED, readQuestion } from '../domain/object/explain'
import { showUser, getUser, listUsers, unknownUser } from '../domain/user/list'
import { findPolicy, NEW_USERS } from '../domain/user/policy'
import { parseUserQuery } from '../domain/user/query'
import { removeUser } from '../domain/user/removal'
import type { User } from '../domain/store/users'
import { foldUserId } from '../domain/value/user-id'
import { quoted, SatchelError } from '../domain/value/error'
import { flag, number, numberOr, oneOf, optional, text } from './fields'
import { onDatabase } from './operation'

/** A question as in `GET /<database>/explain`. */
export const QUESTION = {
  as: text,
  do: oneOf(EXPLAINED),
  table: text,
  key: optional(text),
  realm: optional(text),
  property: optional(text),
}

/** Users, and the policy that decides about new ones. */
export const userOperations = {
  /** `query` is the query string of `GET /users`. */
  'user.list': onDatabase(
    { scopes: READ, effect: 'read', summary: 'List users', input: { query: text } },
    async ({ database, authority }, input, { actor, now }) => {
      const query = parseUserQuery(input.query)
      await authority.settleLogins()
      return await listUsers(database, actor, query, now)
    },
  ),

  'user.show': onDatabase(
    { scopes: READ, effect: 'read', summary: 'Get one user', input: { id: text } },
    async ({ database, authority }, { id }, { actor, now }) => {
      await authority.settleLogins()
      return await getUser(database, actor, foldUserId(id), now)
    },
  ),

  /**
   * `user` is JSON as in `POST /users`. With `isNew` the user must not exist yet, otherwise they must
   * exist. `displayName` and `email` are merged into the data of the user, and stay when the rest of
   * it is replaced.
   */
  'user.write': onDatabase(
    {
      scopes: WRITE,
      effect: 'write',
      summary: 'Create or change a user',
      input: { user: text, isNew: flag, displayName: optional(text), email: optional(text) },
    },
    async (_host, { isNew, displayName, email, ...input }, { now, write }) => {
      const [change] = readUserChanges(JSON.parse(input.user))
      if (change === undefined) throw new SatchelError('INVALID_REQUEST', 'user must be one user')
      return await write((tx) => {
        const known = tx.users.find(change.id)
        if (isNew && known !== undefined) {
          throw new SatchelError('CONFLICT', `The user ${quoted(change.id)} exists already`)
        }
        if (!isNew && known === undefined) throw unknownUser()
        const data = {
          ...(change.data === undefined ? known?.data : nameAndEmailOf(known)),
          ...change.data,
          ...(displayName === null ? {} : { displayName }),
          ...(email === null ? {} : { email }),
        }
        const isGiven = displayName !== null || email !== null || change.data !== undefined
        const policy = findPolicy(tx)
        const written = isGiven ? { ...change, data } : change
        return showUser(writeUser(tx, written, policy, now), policy, now)
      })
    },
  ),

  'user.delete': onDatabase(
    { scopes: WRITE, effect: 'destroy', summary: 'Delete a user', input: { id: text } },
    async (_host, input, { now, write }) => {
      const id = foldUserId(input.id)
      await write((tx) => removeUser(tx, id, now))
      return { id }
    },
  ),

  explain: onDatabase(
    { scopes: READ, effect: 'read', summary: 'Explain the rights of a user', input: QUESTION },
    ({ database }, question, { now }) =>
      database.read((tx) => explain(tx, readQuestion(question), now)),
  ),

  'policy.show': onDatabase(
    { scopes: MANAGE, effect: 'read', summary: 'Show the policy about new users', input: {} },
    async ({ database }) => database.read(findPolicy),
  ),

  /**
   * Null changes nothing; `seats` is a number of seats or `none` for no limit, `hookUrl` an address
   * or `none`. The secret of the web hook is returned once, with its first address.
   */
  'policy.set': onDatabase(
    {
      scopes: MANAGE,
      effect: 'secret',
      summary: 'Set the policy about new users',
      input: {
        newUsers: optional(oneOf(NEW_USERS)),
        evalDays: optional(number),
        seats: optional(numberOr('none')),
        hookUrl: optional(text),
      },
    },
    async ({ webhook }, { newUsers, evalDays, seats, hookUrl }) => {
      const { policy, hookSecret } = await webhook.setPolicy({
        ...(newUsers === null ? {} : { newUsers }),
        ...(evalDays === null ? {} : { evalDays }),
        ...(seats === null ? {} : { seats: seats === 'none' ? null : seats }),
        ...(hookUrl === null ? {} : { hookUrl: hookUrl === 'none' ? null : hookUrl }),
      })
      return { ...policy, ...(hookSecret === null ? {} : { hookSecret }) }
    },
  ),

  /** Asks the web hook about a person, without creating a user. */
  'policy.test': onDatabase(
    {
      scopes: MANAGE,
      effect: 'read',
      summary: 'Ask the web hook about a person',
      input: { email: text },
    },
    async ({ webhook }, input) => {
      const email = requireEmail(input.email)
      return { email, ...(await webhook.test({ id: email, email, name: null })) }
    },
  ),

  /** `days`: how long the old secret signs as well. */
  'policy.rotate-secret': onDatabase(
    {
      scopes: MANAGE,
      effect: 'secret',
      summary: 'Replace the secret of the web hook',
      input: { days: optional(number) },
    },
    ({ webhook }, { days }) => webhook.rotate(days ?? undefined),
  ),
}

function nameAndEmailOf(user: User | undefined): User['data'] {
  const entries = Object.entries(user?.data ?? {})
  return Object.fromEntries(entries.filter(([name]) => name === 'displayName' || name === 'email'))
}

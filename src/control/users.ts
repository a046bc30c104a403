import { requireScopes, requireStanding, requireWriter } from '../domain/access/actor'
import { DOORS, READ, WRITE } from '../domain/access/door'
import { JSON_LIMITS, parseJson } from '../domain/json/scan'
import { explain, EXPLAINED, readQuestion } from '../domain/object/explain'
import { type User, USER_ORDERS, USER_TYPES } from '../domain/store/users'
import { readUserChanges, writeUser, writeUsers } from '../domain/user/change'
import { showUser, getUser, listUsers, unknownUser } from '../domain/user/list'
import { findPolicy } from '../domain/user/policy'
import { MAX_USERS, parseUserQuery } from '../domain/user/query'
import { removeUser } from '../domain/user/removal'
import { quoted, SatchelError } from '../domain/value/error'
import { randomToken } from '../domain/value/id'
import { foldUserId } from '../domain/value/user-id'
import { described, flag, json, number, oneOf, optional, schemaRef, text } from './fields'
import { onDatabase } from './operation'

/** A question about the rights of a user. */
export const QUESTION = {
  as: described(text, 'A user id.', { minLength: 1, examples: ['alice@example.com'] }),
  do: described(oneOf(EXPLAINED), 'What the user would do.', { examples: ['update'] }),
  table: described(text, 'A table.', { minLength: 1, examples: ['todoItems'] }),
  key: described(optional(text), 'The key of the object, for all but `add`.'),
  realm: described(
    optional(text),
    'The realm to `add` to; by default the private one of the user.',
  ),
  property: described(optional(text), 'The property to `update`; by default any.'),
}

const BOB = {
  userId: 'bob@example.com',
  type: 'eval',
  evalDaysLeft: 14,
  data: { displayName: 'Bob', email: 'bob@example.com' },
}

const SHOWN = {
  userId: 'bob@example.com',
  created: '2030-01-01T12:00:00.000Z',
  updated: '2030-01-01T12:00:00.000Z',
  lastLogin: null,
  type: 'eval',
  evalDaysLeft: 14,
  maxAllowedEvalDaysLeft: 30,
  deactivated: null,
  data: { displayName: 'Bob', email: 'bob@example.com' },
}

/** The parameters that filter, sort and page the list of users (spec.md §4.2). */
const LIST_QUERY = {
  search: described(
    text,
    'A substring of the user id, of `data.email` or of `data.displayName`; case and accents are ignored.',
    { maxLength: 1000 },
  ),
  active: described(
    optional(flag),
    '`true`: users who are not deactivated; `false`: users who are.',
  ),
  type: described(oneOf(USER_TYPES), 'Users of this type.'),
  sort: described(
    oneOf(USER_ORDERS),
    'The order. Users without a value come first, and last in descending order; names are sorted without case and accents.',
    { default: 'userId' },
  ),
  desc: described(flag, 'Descending: `desc` alone or `desc=true`.'),
  limit: described(
    number,
    `The maximum number of users in a page; more than ${MAX_USERS} counts as ${MAX_USERS}. There are fewer if their data is many megabytes.`,
    { type: 'integer', minimum: 1, maximum: 999_999_999_999_999, default: MAX_USERS },
  ),
  pagingKey: described(
    text,
    'The `pagingKey` of the previous page; the rest of the request must be the same.',
    { minLength: 1 },
  ),
}

const CHANGES = {
  anyOf: [{ type: 'array', items: schemaRef('UserChange') }, schemaRef('UserChange')],
}

/** The users of a database (spec.md §2.3, §3, §4, §4.2, §4.3). */
export const userOperations = {
  'user.list': onDatabase(
    {
      scopes: READ,
      effect: 'read',
      summary: 'List users',
      input: { query: text },
      rest: {
        operationId: 'listUsers',
        address: 'GET /users',
        tag: 'users',
        description:
          'Users in pages of at most 1,000. A user who exists throughout is listed once, even if others are created or deleted meanwhile; a user whose sort key changes meanwhile may be listed twice or not at all.',
        curl: '/users?search=b&sort=lastLogin&desc&limit=50',
        query: LIST_QUERY,
        answer: {
          description: 'A page of users.',
          schema: schemaRef('UserList'),
          example: ['The only page', { data: [SHOWN], hasMore: false }],
        },
      },
    },
    async ({ database, authority }, input, { actor, now }) => {
      const query = parseUserQuery(input.query)
      await authority.settleLogins()
      return await listUsers(database, actor, query, now)
    },
  ),

  'user.show': onDatabase(
    {
      scopes: DOORS.getUser,
      effect: 'read',
      summary: 'Get one user',
      input: { user: text },
      rest: {
        operationId: 'getUser',
        address: 'GET /users/:user',
        tag: 'users',
        description: 'Users may read their own account; reading others also needs `GLOBAL_READ`.',
        curl: '/users/alice@example.com',
        answer: { description: 'The user.', schema: schemaRef('User'), example: ['A user', SHOWN] },
        refusals: ['UNKNOWN_USER'],
      },
    },
    async ({ database, authority }, { user }, { actor, now }) => {
      const id = foldUserId(user)
      if (id !== actor.subject) requireScopes(actor, READ)
      await authority.settleLogins()
      return await getUser(database, actor, id, now)
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
      const [change] = readUserChanges(parseJson(input.user, JSON_LIMITS, { name: 'user' }))
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

  'user.write-all': onDatabase(
    {
      scopes: WRITE,
      effect: 'write',
      summary: 'Create, change, deactivate and reactivate users',
      input: { users: { ...json, schema: CHANGES } },
      rest: {
        operationId: 'writeUsers',
        address: 'POST /users',
        tag: 'users',
        description:
          'An array of users, or one; at most 10,000. Unknown users are created, the others are changed. The request is atomic: either everything is stored, or nothing. An unknown property rejects the request; other data belongs in `data`.',
        curl: JSON.stringify([BOB]),
        body: 'users',
        examples: {
          'A new user': [BOB],
          'From evaluation to production': [{ userId: BOB.userId, type: 'prod' }],
          'Deactivate a user': [{ userId: BOB.userId, deactivated: true }],
        },
        isLarge: true,
        answer: {
          description: 'The users after the change: one for one, an array for an array.',
          schema: { anyOf: [{ type: 'array', items: schemaRef('User') }, schemaRef('User')] },
          example: ['A new user', [SHOWN]],
        },
      },
    },
    async ({ database }, { users }, { actor, now, record }) => {
      const written = await writeUsers(database, actor, readUserChanges(users), now, record)
      return Array.isArray(users) ? written : written[0]
    },
  ),

  'user.delete': onDatabase(
    {
      scopes: DOORS.deleteUser,
      effect: 'destroy',
      summary: 'Delete a user',
      input: { user: text },
      rest: {
        operationId: 'deleteUser',
        address: 'DELETE /users/:user',
        tag: 'users',
        description:
          'Users may delete their own account, even with an expired licence; deleting others also needs `GLOBAL_READ` and `GLOBAL_WRITE`. Objects that only this user could see are erased. Shared objects stay, without the user as a member; in a realm without another manager, all remaining members get full rights. Bytes of erased rows are overwritten in the minutes after; some can stay in gaps of pages until the operator compacts the database. Freed blocks of the disk, snapshots, copies from before an upgrade and backups keep what they had.',
        curl: '/users/bob@example.com',
        answer: { description: 'Deleted.' },
        show: () => undefined,
        refusals: ['UNKNOWN_USER'],
      },
    },
    async ({ database, mailbox }, { user }, { folder, actor, now, record }) => {
      const id = foldUserId(user)
      const isOwn = id === actor.subject
      if (!isOwn) requireScopes(actor, WRITE)
      const email = await database.write(
        (tx) => {
          // Leaving needs no licence; removing others does.
          if (isOwn) requireStanding(tx, actor)
          else requireWriter(tx, actor, now)
          // First: the caller may be this user, of whom nothing is to be left.
          record(tx)
          const address = tx.users.find(id)?.data?.['email']
          removeUser(tx, id, now)
          return address
        },
        { subject: actor.subject },
      )
      folder.audit.rename(id, randomToken(12))
      mailbox.forget(id)
      if (typeof email === 'string') mailbox.forget(email)
      return { id }
    },
  ),

  explain: onDatabase(
    {
      scopes: READ,
      effect: 'read',
      summary: 'Explain the rights of a user',
      input: QUESTION,
      rest: {
        operationId: 'explain',
        address: 'GET /explain',
        tag: 'users',
        description:
          'Whether a user may read, add, update or delete, by the rules of `/my`, with each step that leads to the answer. Rows of `realms`, `members` and `roles` have further rules, which it does not look at.',
        curl: '/explain?as=alice@example.com&do=update&table=todoItems&key=milk&property=title',
        answer: {
          description: 'The explanation.',
          schema: schemaRef('Explanation'),
          example: [
            'A right of a role',
            {
              allowed: true,
              rule: 'the role "doer" in the row mmb0Tvdz',
              user: { userId: 'bob@example.com', state: 'active' },
              object: { key: 'milk', owner: 'alice@example.com' },
              realm: { realmId: 'rlm0Tvdz', kind: 'shared' },
              members: [
                {
                  row: 'mmb0Tvdz',
                  state: 'accepted',
                  permissions: {},
                  roles: [{ name: 'doer', permissions: { update: { todoItems: ['done'] } } }],
                },
              ],
            },
          ],
        },
        refusals: ['UNKNOWN_TABLE'],
      },
    },
    (_host, question, { now, read }) => read((tx) => explain(tx, readQuestion(question), now)),
  ),
}

function nameAndEmailOf(user: User | undefined): User['data'] {
  const entries = Object.entries(user?.data ?? {})
  return Object.fromEntries(entries.filter(([name]) => name === 'displayName' || name === 'email'))
}

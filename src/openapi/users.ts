import { EXPLAINED } from '../domain/object/explain'
import { USER_ORDERS, USER_TYPES } from '../domain/store/users'
import { MAX_USERS } from '../domain/user/query'
import { BODY_REFUSALS, STORE_REFUSALS } from './refusals'
import {
  BEARER,
  inQuery,
  type Parameter,
  type Schema,
  schemaRef,
  json,
  type Operations,
} from './specification'

const MOMENT: Schema = { type: 'string', format: 'date-time' }

/** The data of a user, besides the properties of the server. */
export const USER_DATA_SCHEMA = {
  description:
    'Any JSON object of at most 64 KiB; the server uses `displayName` and `email`. Every token response of the user contains it. A mailed invitation belongs to the user with that `email` here, so store only verified addresses.',
  type: ['object', 'null'],
  properties: {
    displayName: { type: ['string', 'null'] },
    email: { type: ['string', 'null'] },
  },
  additionalProperties: true,
} satisfies Schema

const EXPLAIN_PARAMETERS: readonly Parameter[] = [
  {
    name: 'as',
    in: 'query',
    required: true,
    description: 'A user id.',
    schema: { type: 'string', minLength: 1 },
    example: 'alice@example.com',
  },
  {
    name: 'do',
    in: 'query',
    required: true,
    description: 'What the user would do.',
    schema: { enum: EXPLAINED },
    example: 'update',
  },
  {
    name: 'table',
    in: 'query',
    required: true,
    description: 'A table.',
    schema: { type: 'string', minLength: 1 },
    example: 'todoItems',
  },
  inQuery('key', 'The key of the object, for all but `add`.'),
  inQuery('realm', 'The realm to `add` to; by default the private one of the user.'),
  inQuery('property', 'The property to `update`; by default any.'),
]

/** Users and what is written of them (spec.md §2.3, §4.2, §4.3). */
export const USER_SCHEMAS: Readonly<Record<string, Schema>> = {
  User: {
    description: 'A user of the database.',
    type: 'object',
    required: ['userId', 'created', 'updated', 'type', 'maxAllowedEvalDaysLeft', 'data'],
    properties: {
      userId: schemaRef('UserId'),
      created: MOMENT,
      updated: {
        ...MOMENT,
        description: 'The time of the last change to the user; logins do not count.',
      },
      lastLogin: { ...MOMENT, type: ['string', 'null'] },
      type: { enum: USER_TYPES },
      validUntil: { ...MOMENT, description: 'After this time the user can read, but not write.' },
      evalDaysLeft: {
        description:
          'The remaining days of evaluation, of 24 hours each since its start; a day that has begun counts as a whole day. They apply while the type is `eval`.',
        type: 'integer',
        minimum: 0,
      },
      maxAllowedEvalDaysLeft: {
        description: 'The longest evaluation that the policy of the database allows, in days.',
        type: 'integer',
        minimum: 1,
      },
      deactivated: {
        ...MOMENT,
        type: ['string', 'null'],
        description: 'When the user was deactivated; null: they are active.',
      },
      data: USER_DATA_SCHEMA,
    },
    additionalProperties: false,
  },
  Explanation: {
    description: 'The rights of a user, step by step.',
    type: 'object',
    required: ['allowed', 'rule', 'user', 'object', 'realm', 'members'],
    properties: {
      allowed: { type: 'boolean' },
      rule: { type: 'string', description: 'The rule that decided.' },
      user: {
        type: 'object',
        required: ['userId', 'state'],
        properties: {
          userId: { type: 'string' },
          state: { enum: ['active', 'unknown', 'deactivated', 'licence expired'] },
        },
        additionalProperties: false,
      },
      object: {
        description: 'Null when there is none.',
        type: ['object', 'null'],
        required: ['key', 'owner'],
        properties: { key: { type: 'string' }, owner: { type: ['string', 'null'] } },
        additionalProperties: false,
      },
      realm: {
        description: 'Null when there is none.',
        type: ['object', 'null'],
        required: ['realmId', 'kind'],
        properties: {
          realmId: { type: 'string' },
          kind: { enum: ['private', 'public', 'shared'] },
        },
        additionalProperties: false,
      },
      members: {
        description: 'The member rows of the user in the realm.',
        type: 'array',
        items: {
          type: 'object',
          required: ['row', 'state', 'permissions', 'roles'],
          properties: {
            row: { type: 'string' },
            state: { enum: ['accepted', 'open', 'rejected'] },
            permissions: { type: 'object' },
            roles: {
              type: 'array',
              items: {
                type: 'object',
                required: ['name', 'permissions'],
                properties: {
                  name: { type: 'string' },
                  permissions: {
                    description: 'Null when there is no such role.',
                    type: ['object', 'null'],
                  },
                },
                additionalProperties: false,
              },
            },
          },
          additionalProperties: false,
        },
      },
    },
    additionalProperties: false,
  },
  UserList: {
    type: 'object',
    required: ['data', 'hasMore'],
    properties: {
      data: { type: 'array', items: schemaRef('User'), maxItems: MAX_USERS },
      hasMore: { type: 'boolean' },
      pagingKey: {
        type: 'string',
        description: 'Present if there are more users: repeat the request with it.',
      },
    },
    additionalProperties: false,
  },
  UserChange: {
    description:
      'A user to create, who needs a `type`, or the changes to an existing one: absent properties stay unchanged.',
    type: 'object',
    required: ['userId'],
    properties: {
      userId: schemaRef('UserId'),
      type: { enum: USER_TYPES },
      validUntil: {
        ...MOMENT,
        type: ['string', 'null'],
        description: 'A date without a time is midnight UTC. Null: no expiry.',
      },
      evalDaysLeft: {
        type: ['integer', 'null'],
        minimum: 0,
        description:
          'Counted from now, at most `maxAllowedEvalDaysLeft`. Null: the evaluation starts over.',
      },
      deactivated: {
        anyOf: [{ type: 'boolean' }, MOMENT, { type: 'null' }],
        description:
          '`true` deactivates the user and deletes nothing; `false` and null reactivate them.',
      },
      data: USER_DATA_SCHEMA,
    },
    additionalProperties: false,
  },
}

/** The parameters that filter, sort and page the list of users (spec.md §4.2). */
export const USER_PARAMETERS: readonly Parameter[] = [
  inQuery(
    'search',
    'A substring of the user id, of `data.email` or of `data.displayName`; case and accents are ignored.',
    { type: 'string', maxLength: 1000 },
  ),
  inQuery('active', '`true`: users who are not deactivated; `false`: users who are.', {
    type: 'boolean',
  }),
  inQuery('type', 'Users of this type.', { enum: USER_TYPES }),
  inQuery(
    'sort',
    'The order. Users without a value come first, and last in descending order; names are sorted without case and accents.',
    { enum: USER_ORDERS, default: 'userId' },
  ),
  inQuery('desc', 'Descending: `desc` alone or `desc=true`.', { type: 'boolean', default: false }),
  inQuery(
    'limit',
    `The maximum number of users in a page; more than ${MAX_USERS} counts as ${MAX_USERS}. There are fewer if their data is many megabytes.`,
    { type: 'integer', minimum: 1, maximum: 999_999_999_999_999, default: MAX_USERS },
  ),
  inQuery(
    'pagingKey',
    'The `pagingKey` of the previous page; the rest of the request must be the same.',
    { type: 'string', minLength: 1 },
  ),
]

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

/** The users of a database (spec.md §3, §4, §4.2, §4.3). */
export const USER_OPERATIONS: Operations = {
  listUsers: {
    tag: 'users',
    summary: 'List users',
    description:
      'Users in pages of at most 1,000. A user who exists throughout is listed once, even if others are created or deleted meanwhile; a user whose sort key changes meanwhile may be listed twice or not at all.',
    curl: `curl "$DB/users?search=b&sort=lastLogin&desc&limit=50" ${BEARER}`,
    parameters: USER_PARAMETERS,
    responses: {
      '200': {
        description: 'A page of users.',
        content: json(schemaRef('UserList'), 'The only page', { data: [SHOWN], hasMore: false }),
      },
    },
  },
  getUser: {
    tag: 'users',
    summary: 'Get one user',
    description: 'Users may read their own account; reading others also needs `GLOBAL_READ`.',
    curl: `curl "$DB/users/alice@example.com" ${BEARER}`,
    responses: {
      '200': { description: 'The user.', content: json(schemaRef('User'), 'A user', SHOWN) },
    },
    refusals: ['UNKNOWN_USER'],
  },
  explain: {
    tag: 'users',
    summary: 'Explain the rights of a user',
    description:
      'Whether a user may read, add, update or delete, by the rules of `/my`, with each step that leads to the answer. Rows of `realms`, `members` and `roles` have further rules, which it does not look at.',
    curl: `curl "$DB/explain?as=alice@example.com&do=update&table=todoItems&key=milk&property=title" ${BEARER}`,
    parameters: EXPLAIN_PARAMETERS,
    responses: {
      '200': {
        description: 'The explanation.',
        content: json(schemaRef('Explanation'), 'A right of a role', {
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
        }),
      },
    },
    refusals: ['UNKNOWN_TABLE'],
  },
  writeUsers: {
    tag: 'users',
    summary: 'Create, change, deactivate and reactivate users',
    description:
      'An array of users, or one; at most 10,000. Unknown users are created, the others are changed. The request is atomic: either everything is stored, or nothing. An unknown property rejects the request; other data belongs in `data`.',
    curl: `curl "$DB/users" ${BEARER} \\
  -H 'Content-Type: application/json' \\
  -d '${JSON.stringify([BOB])}'`,
    body: {
      'application/json': {
        schema: {
          anyOf: [{ type: 'array', items: schemaRef('UserChange') }, schemaRef('UserChange')],
        },
        examples: {
          create: { summary: 'A new user', value: [BOB] },
          change: {
            summary: 'From evaluation to production',
            value: [{ userId: BOB.userId, type: 'prod' }],
          },
          deactivate: {
            summary: 'Deactivate a user',
            value: [{ userId: BOB.userId, deactivated: true }],
          },
        },
      },
    },
    responses: {
      '200': {
        description: 'The users after the change: one for one, an array for an array.',
        content: json(
          { anyOf: [{ type: 'array', items: schemaRef('User') }, schemaRef('User')] },
          'A new user',
          [SHOWN],
        ),
      },
    },
    refusals: [...BODY_REFUSALS, ...STORE_REFUSALS],
  },
  deleteUser: {
    tag: 'users',
    summary: 'Delete a user',
    description:
      'Users may delete their own account, even with an expired licence; deleting others also needs `GLOBAL_READ` and `GLOBAL_WRITE`. Objects that only this user could see are erased. Shared objects stay, without the user as a member; in a realm without another manager, all remaining members get full rights.',
    curl: `curl -X DELETE "$DB/users/bob@example.com" ${BEARER}`,
    responses: { '204': { description: 'Deleted.' } },
    refusals: ['UNKNOWN_USER', ...STORE_REFUSALS],
  },
}

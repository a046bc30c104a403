import { USER_TYPES } from '../domain/store/users'
import { MAX_USERS } from '../domain/user/query'
import { closed, type Schema, schemaRef, text } from './specification'

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

/** Users and what is written of them (spec.md §2.3, §4.2, §4.3). */
export const USER_SCHEMAS: Readonly<Record<string, Schema>> = {
  User: {
    description: 'A user of the database.',
    ...closed({
      userId: schemaRef('UserId'),
      created: MOMENT,
      updated: {
        ...MOMENT,
        description: 'The time of the last change to the user; logins do not count.',
      },
      'lastLogin?': { ...MOMENT, type: ['string', 'null'] },
      type: { enum: USER_TYPES },
      'validUntil?': {
        ...MOMENT,
        description: 'After this time the user can read, but not write.',
      },
      'evalDaysLeft?': {
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
      'deactivated?': {
        ...MOMENT,
        type: ['string', 'null'],
        description: 'When the user was deactivated; null: they are active.',
      },
      data: USER_DATA_SCHEMA,
    }),
  },
  Explanation: {
    description: 'The rights of a user, step by step.',
    ...closed({
      allowed: { type: 'boolean' },
      rule: text('The rule that decided.'),
      user: closed({
        userId: { type: 'string' },
        state: { enum: ['active', 'unknown', 'deactivated', 'licence expired'] },
      }),
      object: orNull({ key: { type: 'string' }, owner: { type: ['string', 'null'] } }),
      realm: orNull({
        realmId: { type: 'string' },
        kind: { enum: ['private', 'public', 'shared'] },
      }),
      members: {
        description: 'The member rows of the user in the realm.',
        type: 'array',
        items: closed({
          row: { type: 'string' },
          state: { enum: ['accepted', 'open', 'rejected'] },
          permissions: { type: 'object' },
          roles: {
            type: 'array',
            items: closed({
              name: { type: 'string' },
              permissions: {
                description: 'Null when there is no such role.',
                type: ['object', 'null'],
              },
            }),
          },
        }),
      },
    }),
  },
  UserList: closed({
    data: { type: 'array', items: schemaRef('User'), maxItems: MAX_USERS },
    hasMore: { type: 'boolean' },
    'pagingKey?': text('Present if there are more users: repeat the request with it.'),
  }),
  UserChange: {
    description:
      'A user to create, who needs a `type`, or the changes to an existing one: absent properties stay unchanged.',
    ...closed({
      userId: schemaRef('UserId'),
      'type?': { enum: USER_TYPES },
      'validUntil?': {
        ...MOMENT,
        type: ['string', 'null'],
        description: 'A date without a time is midnight UTC. Null: no expiry.',
      },
      'evalDaysLeft?': {
        type: ['integer', 'null'],
        minimum: 0,
        description:
          'Counted from now, at most `maxAllowedEvalDaysLeft`. Null: the evaluation starts over.',
      },
      'deactivated?': {
        anyOf: [{ type: 'boolean' }, MOMENT, { type: 'null' }],
        description:
          '`true` deactivates the user and deletes nothing; `false` and null reactivate them.',
      },
      'data?': USER_DATA_SCHEMA,
    }),
  },
}

function orNull(properties: Parameters<typeof closed>[0]): Schema {
  return {
    ...closed(properties),
    description: 'Null when there is none.',
    type: ['object', 'null'],
  }
}

import { MAX_USERS, USER_ORDERS } from '../domain/user/query'
import { USER_TYPES } from '../domain/user/user'
import { type Parameter, type Schema, schemaRef } from './specification'

const MOMENT: Schema = { type: 'string', format: 'date-time' }

/** What is kept of a user besides what the server keeps. */
export const USER_DATA_SCHEMA = {
  description:
    'Free-form, at most 64 KiB; `displayName` and `email` are known. It comes with every token of the user. An invitation that is mailed to an `email` is for the user who has it here: write only addresses that are proven.',
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
    description: 'A person who uses the database.',
    type: 'object',
    required: ['userId', 'created', 'updated', 'type', 'maxAllowedEvalDaysLeft', 'data'],
    properties: {
      userId: schemaRef('UserId'),
      created: MOMENT,
      updated: { ...MOMENT, description: 'When somebody last changed the user; logins do not.' },
      lastLogin: { ...MOMENT, type: ['string', 'null'] },
      type: { enum: USER_TYPES },
      validUntil: { ...MOMENT, description: 'From then on the user can read, but not write.' },
      evalDaysLeft: {
        description:
          'Days of evaluation that are left, of 24 hours each from the moment it began, by the clock of the server; a begun day counts as one. They count while the type is `eval`.',
        type: 'integer',
        minimum: 0,
      },
      maxAllowedEvalDaysLeft: {
        description: 'The policy of the database: how long an evaluation may last.',
        type: 'integer',
        minimum: 1,
      },
      deactivated: {
        ...MOMENT,
        type: ['string', 'null'],
        description: 'Since when the user is locked out; null: they are active.',
      },
      data: USER_DATA_SCHEMA,
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
        description: 'While there are more: send the same request again with it.',
      },
    },
    additionalProperties: false,
  },
  UserChange: {
    description:
      'A user to create, who needs a `type`, or what to change of one who is there: absent properties stay.',
    type: 'object',
    required: ['userId'],
    properties: {
      userId: schemaRef('UserId'),
      type: { enum: USER_TYPES },
      validUntil: {
        ...MOMENT,
        type: ['string', 'null'],
        description: 'A date alone begins in UTC. Null: without an end.',
      },
      evalDaysLeft: {
        type: ['integer', 'null'],
        minimum: 0,
        description:
          'From now on, at most `maxAllowedEvalDaysLeft`. Null: an evaluation begins anew.',
      },
      deactivated: {
        anyOf: [{ type: 'boolean' }, MOMENT, { type: 'null' }],
        description:
          '`true` locks the user out and deletes nothing; `false` and null let them in again.',
      },
      data: USER_DATA_SCHEMA,
    },
    additionalProperties: false,
  },
}

/** What narrows, sorts and pages the list of users (spec.md §4.2). */
export const USER_PARAMETERS: readonly Parameter[] = [
  {
    name: 'search',
    in: 'query',
    description:
      'Text that is part of the user id, of `data.email` or of `data.displayName`; case and accents do not count.',
    schema: { type: 'string', maxLength: 1000 },
  },
  {
    name: 'active',
    in: 'query',
    description: '`true`: users who are not deactivated; `false`: those who are.',
    schema: { type: 'boolean' },
  },
  { name: 'type', in: 'query', description: 'Users of this type.', schema: { enum: USER_TYPES } },
  {
    name: 'sort',
    in: 'query',
    description:
      'What to sort by. Users without a value come first, and last in descending order; names are sorted without case and accents.',
    schema: { enum: USER_ORDERS, default: 'userId' },
  },
  {
    name: 'desc',
    in: 'query',
    description: 'Descending: `desc` alone or `desc=true`.',
    schema: { type: 'boolean', default: false },
  },
  {
    name: 'limit',
    in: 'query',
    description: 'The most users of one page; fewer come when their data is many megabytes.',
    schema: { type: 'integer', minimum: 1, maximum: MAX_USERS, default: MAX_USERS },
  },
  {
    name: 'pagingKey',
    in: 'query',
    description: 'That of the page before; the rest of the request stays the same.',
    schema: { type: 'string', minLength: 1 },
  },
]

import { type Schema, schemaRef } from './specification'

const NAMES: Schema = {
  anyOf: [{ const: '*' }, { type: 'array', items: { type: 'string' } }],
  description: '`"*"`, or a list of names.',
}

const MOMENT: Schema = {
  anyOf: [schemaRef('DateValue'), { type: 'string', format: 'date-time' }, { type: 'null' }],
}

/** The rows of the built-in tables, which decide who may do what (protocol.md §6.2, §6.3). */
export const ROW_SCHEMAS: Readonly<Record<string, Schema>> = {
  PermissionSet: {
    description:
      'What may be done in a realm. `"*"` of `update` does not include `realmId` and `owner`: they are listed by name. Nobody grants more than they hold in the realm.',
    type: 'object',
    properties: {
      add: { ...NAMES, description: 'Tables into which objects may be inserted.' },
      update: {
        description: 'Properties that may change, by table.',
        anyOf: [{ const: '*' }, { type: 'object', additionalProperties: NAMES }],
      },
      manage: { ...NAMES, description: 'Tables whose objects may be changed and deleted freely.' },
    },
    examples: [{ add: ['todoItems'], update: { todoItems: ['title', 'done'] } }],
  },
  Realm: {
    description:
      'A row of `realms`: a place whose objects its members share. Its owner has every right in it.',
    type: 'object',
    properties: {
      realmId: {
        type: 'string',
        pattern: '^rlm',
        not: { const: 'rlm-public' },
        description: 'The primary key; the server makes it when it is absent.',
      },
      name: { type: 'string' },
      represents: { type: 'string', description: 'What it is to people: “a to-do list”.' },
      owner: { type: ['string', 'null'] },
    },
    additionalProperties: schemaRef('Value'),
  },
  Member: {
    description:
      'A row of `members`: who is in a realm, with which rights. It counts as accepted when `userId` is set and `rejected` is absent or older than `accepted`.',
    type: 'object',
    required: ['realmId'],
    properties: {
      id: {
        type: 'string',
        description: 'The primary key; the server makes it when it is absent.',
      },
      realmId: { type: 'string', pattern: '^rlm' },
      userId: {
        type: ['string', 'null'],
        description: 'Set by that person when they accept; by `GLOBAL_WRITE` at once.',
      },
      email: { type: ['string', 'null'], description: 'Who is invited.' },
      name: { type: 'string' },
      invite: {
        type: 'boolean',
        description:
          'True sends the invitation to `email` when the row is written, and again when the address or the realm is another one, or when it was false before. Not to members, not to who has answered, not to or from demo users, and not from an import.',
      },
      invitedDate: {
        ...MOMENT,
        description: 'When the invitation went out; the server’s to write, like `invitedBy`.',
      },
      invitedBy: {
        type: 'object',
        properties: {
          name: { type: 'string' },
          email: { type: 'string' },
          userId: { type: 'string' },
        },
      },
      accepted: MOMENT,
      rejected: MOMENT,
      roles: { type: ['array', 'null'], items: { type: 'string' } },
      permissions: { anyOf: [schemaRef('PermissionSet'), { type: 'null' }] },
      owner: { type: ['string', 'null'] },
    },
    additionalProperties: schemaRef('Value'),
  },
  Role: {
    description:
      'A row of `roles`: a name for permissions. The primary key is `["<realmId>","<name>"]`. A role of `rlm-public` counts in every realm that has none of its name.',
    type: 'object',
    required: ['realmId', 'name'],
    properties: {
      realmId: { type: 'string', pattern: '^rlm' },
      name: { type: 'string', minLength: 1 },
      permissions: { anyOf: [schemaRef('PermissionSet'), { type: 'null' }] },
      displayName: { type: 'string' },
      description: { type: 'string' },
      sortOrder: { type: 'number' },
      owner: { type: ['string', 'null'] },
    },
    additionalProperties: schemaRef('Value'),
  },
}

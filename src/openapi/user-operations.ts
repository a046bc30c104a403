import { json, type Operations, schemaRef } from './specification'
import { USER_PARAMETERS } from './user-schemas'

const BEARER = '-H "Authorization: Bearer $TOKEN"'

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

/** The people who use a database (spec.md §3, §4, §4.2, §4.3). */
export const USER_OPERATIONS: Operations = {
  listUsers: {
    tag: 'users',
    caller: ['ACCESS_DB', 'GLOBAL_READ'],
    summary: 'List users',
    description:
      'Users in pages of at most 1,000. Whoever is there while the pages are read comes once, even if others come and go; who changes meanwhile in what the list is sorted by may come twice or not at all.',
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
    caller: ['ACCESS_DB'],
    summary: 'Get one user',
    description: 'Everybody may see themselves; to see others takes `GLOBAL_READ` besides.',
    curl: `curl "$DB/users/alice@example.com" ${BEARER}`,
    responses: {
      '200': { description: 'The user.', content: json(schemaRef('User'), 'A user', SHOWN) },
    },
    refusals: ['UNKNOWN_USER'],
  },
  writeUsers: {
    tag: 'users',
    caller: ['ACCESS_DB', 'GLOBAL_READ', 'GLOBAL_WRITE'],
    summary: 'Create, change, deactivate and reactivate users',
    description:
      'An array of users, or one; at most 10,000. Who is not known is created, the others are changed. The request is one unit: either everything is stored, or nothing. A property that is not one of these refuses the request; what else there is to keep belongs in `data`.',
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
            summary: 'Lock a user out',
            value: [{ userId: BOB.userId, deactivated: true }],
          },
        },
      },
    },
    responses: {
      '200': {
        description: 'The users as they now are: one for one, an array for an array.',
        content: json(
          { anyOf: [{ type: 'array', items: schemaRef('User') }, schemaRef('User')] },
          'A new user',
          [SHOWN],
        ),
      },
    },
    refusals: [
      'LICENSE_EXPIRED',
      'PAYLOAD_TOO_LARGE',
      'UNSUPPORTED_MEDIA_TYPE',
      'UNPROCESSABLE',
      'STORAGE_FULL',
      'READ_ONLY',
    ],
  },
  deleteUser: {
    tag: 'users',
    caller: ['ACCESS_DB'],
    summary: 'Delete a user',
    description:
      'Everybody may delete themselves, with an expired licence too; to delete others takes `GLOBAL_READ` and `GLOBAL_WRITE` besides. What only this user could see is erased. What is shared stays, without them in it; where nobody else had full rights, all remaining members get them.',
    curl: `curl -X DELETE "$DB/users/bob@example.com" ${BEARER}`,
    responses: { '204': { description: 'Deleted.' } },
    refusals: ['UNKNOWN_USER', 'LICENSE_EXPIRED', 'STORAGE_FULL', 'READ_ONLY'],
  },
}

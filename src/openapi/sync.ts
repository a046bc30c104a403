import { BODY_REFUSALS } from './refusals'
import { answer, json, object, type Operations, schemaRef, text } from './specification'

const EXAMPLE_REQUEST = {
  v: 3,
  clientIdentity: 'UebGj3YD7M35H75CKtI6xQ==',
  schema: { todoItems: { markedForSync: true, generatedGlobalId: true, idPrefix: 'tdt' } },
  baseRevs: [],
  changes: [],
  y: [],
}

const EXAMPLE_ANSWER = {
  dbId: '3f0c2a3e-1a70-4ed6-9cde-2b8ba8ff0c1b',
  realms: ['rlm-public'],
  inviteRealms: [],
  schema: {
    todoItems: {
      markedForSync: true,
      generatedGlobalId: true,
      idPrefix: 'tdt',
      initiallySynced: true,
    },
  },
  rejections: [],
  changes: [],
  serverRevision: '["k3v0Zq1x","17"]',
}

/** Live sync of the published client add-on (protocol.md §4). */
export const SYNC_OPERATIONS: Operations = {
  sync: {
    tag: 'sync',
    summary: 'Synchronise a local database',
    description:
      'The request of `dexie-cloud-addon`: it sends the changes that were made on a device and gets those of all others since its last request. An application does not call it itself: it sets `databaseUrl` to the address of the database. A token needs the scope `ACCESS_DB`; without one the client gets what is public and sends no changes. Operations with the same `txid` are stored all or none; a rejected transaction is listed in `rejections`, and `changes` restores its objects. When the request is answered, everything in it is durable. The first answer to a client, and any that holds new realms, may be long: it is streamed, and `serverRevision` comes last.',
    curl: `curl -X POST "$DB/sync" -H 'Content-Type: application/json' -d '${JSON.stringify(EXAMPLE_REQUEST)}'`,
    body: json(schemaRef('SyncRequest'), 'The first request of a client', EXAMPLE_REQUEST),
    responses: {
      '200': answer(
        'What the client has to do to be up to date.',
        schemaRef('SyncAnswer'),
        'Nothing is public',
        EXAMPLE_ANSWER,
      ),
    },
    refusals: [
      'INVALID_TOKEN',
      'NOT_AUTHORIZED',
      'LICENSE_EXPIRED',
      'USER_DEACTIVATED',
      'TOO_SLOW',
      'CONFLICT',
      ...BODY_REFUSALS,
      'INVALID_SCHEMA',
      'STORAGE_FULL',
      'READ_ONLY',
    ],
  },
}

const CHANGES = {
  type: 'array',
  description: 'Operations by table, in order.',
  items: object({
    table: { type: 'string' },
    muts: { type: 'array', items: { type: 'object', required: ['type', 'keys'] } },
  }),
} as const

/** A rejected operation does not make the request malformed: only its transaction is restored. */
const OPERATIONS = {
  type: ['array', 'null'],
  description: 'Operations by table, in order. Those with the same `txid` are one transaction.',
  items: object({
    table: { type: 'string' },
    'muts?': {
      type: ['array', 'null'],
      items: object({
        txid: { type: 'string', minLength: 1, maxLength: 100 },
        'type?': { description: '`insert`, `upsert`, `update`, `modify` or `delete`.' },
        'keys?': {
          type: ['array', 'null'],
          items: { type: ['string', 'array'] },
          description: 'Primary keys; compound ones as JSON text.',
        },
      }),
    },
  }),
} as const

const NAMES = { type: ['array', 'null'], items: { type: 'string' } } as const

const REALMS = { type: 'array', items: { type: 'string' } } as const

export const SYNC_SCHEMAS = {
  SyncRequest: {
    description: 'Typed JSON; unknown properties are ignored, and null means absent.',
    ...object({
      'v?': { description: 'The version of the protocol, 3 or later; not used.' },
      'dbID?': { description: 'The `dbId` of an earlier answer.' },
      clientIdentity: { type: 'string', maxLength: 100 },
      'schema?': {
        type: ['object', 'null'],
        description: 'The tables of the client, each an object.',
      },
      'lastPull?': {
        type: ['object', 'null'],
        description: 'What the client stored of the last answer; absent at first.',
        properties: { realms: NAMES, inviteRealms: NAMES },
      },
      'baseRevs?': {
        type: ['array', 'null'],
        items: object({ tableName: { type: 'string' }, clientRev: { type: 'number' } }),
      },
      'changes?': OPERATIONS,
    }),
  },
  SyncAnswer: object({
    serverRevision: text('Opaque: the client sends it back.'),
    dbId: { type: 'string' },
    realms: { ...REALMS, description: 'The realms whose content the client has now.' },
    inviteRealms: { ...REALMS, description: 'The realms with an invitation for the user.' },
    schema: { type: 'object', additionalProperties: { type: 'object' } },
    changes: CHANGES,
    'rejections?': {
      type: 'array',
      items: object({
        txid: { type: 'string' },
        name: text('An error code.'),
        message: { type: 'string' },
      }),
    },
  }),
} as const

import {
  BEARER,
  type Content,
  inQuery,
  json,
  object,
  type Operation,
  type Operations,
  type Parameter,
} from './specification'

const IMPORTED = json(
  object({
    ok: { const: true },
    objects: { type: 'integer' },
    deleted: { type: 'integer' },
    demoUsers: { type: 'integer' },
    blobs: { type: 'integer' },
    tables: { type: 'integer', description: 'Tables that the file declares.' },
    followed: {
      type: ['string', 'null'],
      description:
        'The id of an import of the same file that was under way: this request waited for its end, and imported nothing. Null otherwise.',
    },
  }),
  'One table with two objects',
  { ok: true, objects: 2, deleted: 0, demoUsers: 0, blobs: 0, tables: 1, followed: null },
)

function importOf(summary: string, description: string, body: Content, curl?: string): Operation {
  return {
    tag: 'management',
    summary,
    description: `${description} The body may be compressed (\`Content-Encoding: gzip\`). All of it is checked before anything is stored. A table that nothing declares is declared, unless the database is sealed.`,
    ...(curl === undefined ? {} : { curl }),
    body,
    responses: { '200': { description: 'It is imported.', content: IMPORTED } },
    refusals: [
      'UNKNOWN_TABLE',
      'UNKNOWN_REALM',
      'CONFLICT',
      'INVALID_SCHEMA',
      'LICENSE_EXPIRED',
      'PAYLOAD_TOO_LARGE',
      'TOO_SLOW',
      'UNSUPPORTED_MEDIA_TYPE',
      'UNPROCESSABLE',
      'STORAGE_FULL',
      'READ_ONLY',
    ],
  }
}

const SELECTION: readonly Parameter[] = [
  inQuery('realmId', 'Only the objects of this realm.'),
  inQuery('table', 'Only the objects of this table.'),
]

const FILE = { type: 'string', contentEncoding: 'binary' }

/** Imports and exports over HTTP (protocol.md §9.4). */
export const TRANSFER_OPERATIONS: Operations = {
  importFile: importOf(
    'Import a JSON file',
    'With the sections `schema`, `sealed`, `demoUsers`, `roles` and `data`; null deletes, everything else stays.',
    {
      'application/x-tson': {
        schema: { type: 'object' },
        examples: {
          file: {
            summary: 'A table with one object',
            value: {
              schema: { todoItems: '@id' },
              data: { 'rlm-public': { todoItems: { milk: { title: 'Buy milk' } } } },
            },
          },
        },
      },
    },
    `curl "$DB/import" ${BEARER} \\
  -d '{"schema": {"todoItems": "@id, title"}}'`,
  ),
  importLines: importOf('Import NDJSON', 'The lines of an export.', {
    'application/x-ndjson': { schema: { type: 'string' } },
  }),
  importBlobs: importOf(
    'Import blobs',
    'The answer of `GET /export/blobs`. Blobs that no object references within a day are removed.',
    { 'application/octet-stream': { schema: FILE } },
  ),
  exportLines: {
    tag: 'management',
    summary: 'Export as NDJSON',
    description:
      'A line with the schema, one with the global roles, one with the demo users, then a line for each object.',
    curl: `curl "$DB/export/stream" ${BEARER}`,
    parameters: SELECTION,
    responses: {
      '200': {
        description: 'The lines.',
        content: { 'application/x-ndjson': { schema: { type: 'string' } } },
      },
    },
    refusals: ['UNKNOWN_TABLE'],
  },
  exportDatabase: {
    tag: 'management',
    summary: 'Export as JSON',
    description: 'The sections of an import file.',
    curl: `curl "$DB/export" ${BEARER}`,
    parameters: SELECTION,
    responses: {
      '200': {
        description: 'The file.',
        content: { 'application/json': { schema: { type: 'object' } } },
      },
    },
    refusals: ['UNKNOWN_TABLE'],
  },
  exportBlobs: {
    tag: 'management',
    summary: 'Export the blobs',
    description:
      'A zip file, which clients need not read: `POST /import/blobs` takes it. Of a part, the blobs that its objects reference.',
    curl: `curl "$DB/export/blobs" ${BEARER}`,
    parameters: [...SELECTION, inQuery('blobIds', 'Only these blobs, separated by commas.')],
    responses: {
      '200': {
        description: 'The blobs.',
        content: { 'application/octet-stream': { schema: FILE } },
      },
      '204': { description: 'There are none.' },
    },
    refusals: ['UNKNOWN_TABLE', 'BLOB_DAMAGED', 'STORAGE_FULL', 'READ_ONLY'],
  },
}

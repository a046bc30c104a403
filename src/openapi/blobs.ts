import {
  answer,
  BEARER,
  inHeader,
  object,
  type Operations,
  type Parameter,
  schemaRef,
} from './specification'

/** The bytes of a blob, of any type. */
const BYTES = { schema: { type: 'string', format: 'binary' } } as const

const HEADERS = {
  ETag: {
    description:
      'The SHA-256 of the whole blob in hex, in quotes: for `If-None-Match` and `If-Range`.',
    schema: { type: 'string' },
  },
  'Cache-Control': {
    description: 'A blob never changes and can be cached forever.',
    schema: { type: 'string' },
    example: 'private, max-age=31536000, immutable',
  },
  'Content-Disposition': {
    description: '`attachment` for types that a browser would execute or does not know.',
    schema: { type: 'string' },
  },
} as const

const CONTENT_RANGE = {
  'Content-Range': {
    description:
      'The range of the bytes and the size of the blob; each part of several ranges has its own.',
    schema: { type: 'string' },
    example: 'bytes 0-4/11',
  },
} as const

const CONDITIONS: readonly Parameter[] = [
  inHeader(
    'Range',
    'Which bytes: `bytes=0-499`, `bytes=500-`, `bytes=-500`, or up to 32 of these separated by commas. A malformed header, or one for more bytes than the blob has in total, is ignored.',
  ),
  inHeader(
    'If-None-Match',
    'The `ETag` of the caller’s copy: answered with 304 if it is still current.',
  ),
  inHeader(
    'If-Range',
    'The `ETag` of the caller’s partial copy: `Range` applies only if it is still current.',
  ),
]

/** Binary data beside the objects that reference it (spec.md §2.7, §4.5). */
export const BLOB_OPERATIONS: Operations = {
  uploadBlob: {
    tag: 'blobs',
    summary: 'Upload a blob',
    description:
      'The body is the blob, under an id chosen by the caller: 24 random characters or more. It is streamed to the disk, is durable when the request is answered, and never changes: the same bytes under the same id give the same `ref`, other bytes are rejected. Put the `ref` into an object, as a BlobRef, and every reader of that object may read the blob. Until then only its uploader may. An upload that sends nothing for a minute, or less than 1 KiB a second, is cancelled.',
    curl: `head -c 100000 /dev/urandom | curl -X PUT "$DB/blob/holiday-2030-01?ct=image%2Fjpeg" ${BEARER} --data-binary @-`,
    parameters: [
      {
        name: 'ct',
        in: 'query',
        description:
          'The content type, URL-encoded; it defaults to the header `Content-Type`, and then to `application/octet-stream`.',
        schema: { type: 'string', maxLength: 255 },
        example: 'image/jpeg',
      },
    ],
    body: { '*/*': BYTES },
    responses: {
      '200': answer('The blob is stored.', schemaRef('BlobUploaded'), 'Uploaded', {
        ref: '1:holiday-2030-01',
      }),
    },
    refusals: [
      'LICENSE_EXPIRED',
      'TOO_SLOW',
      'CONFLICT',
      'PAYLOAD_TOO_LARGE',
      'UNSUPPORTED_MEDIA_TYPE',
      'STORAGE_FULL',
      'QUOTA_EXCEEDED',
      'READ_ONLY',
    ],
  },
  downloadBlob: {
    tag: 'blobs',
    summary: 'Download a blob',
    description:
      'The bytes as they were uploaded, with their content type. A blob is readable by its uploader and by every reader of an object that references it; no token is needed if an object in `rlm-public` references it. A started download continues if the reader loses access. Browsers never execute a blob.',
    curl: `curl "$DB/blob/1:holiday-2030-01" ${BEARER} --output /dev/null`,
    parameters: CONDITIONS,
    responses: {
      '200': { description: 'The blob.', headers: HEADERS, content: { '*/*': BYTES } },
      '206': {
        description: 'The requested ranges; several are sent as `multipart/byteranges`.',
        headers: { ...HEADERS, ...CONTENT_RANGE },
        content: { '*/*': BYTES, 'multipart/byteranges': BYTES },
      },
      '304': { description: 'The copy of the caller is current.', headers: HEADERS },
    },
    refusals: ['UNKNOWN_BLOB', 'RANGE_NOT_SATISFIABLE', 'BLOB_DAMAGED'],
  },
}

export const BLOB_SCHEMAS = {
  BlobUploaded: object({
    ref: {
      type: 'string',
      description:
        'The name of the blob in BlobRefs, to be stored unchanged: `<version>:<blobId>`.',
      pattern: '^1:[\\w.~|-]{1,128}$',
    },
  }),
} as const

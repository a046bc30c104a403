import { MAX_LIMIT } from '../domain/object/filter'
import { BINARY_TYPES } from '../domain/value/typed-value'
import {
  inHeader,
  inQuery,
  object,
  type Parameter,
  type Schema,
  schemaRef,
  text,
} from './specification'

const OWNER = {
  type: ['string', 'null'],
  description:
    'The user with every permission on the object, or null. Absent from an upsert it stays unchanged; a new object is owned by its writer on `/my`, and by no user on the other views.',
}

const HAS_BLOB_REFS = {
  description:
    'Clients mark an object that contains a BlobRef with 1. The server sets the mark when it stores a value as a blob, and otherwise stores it like any property.',
}

/** Objects of application tables (spec.md §2.5, design.md §5, §6 keys). */
export const OBJECT_SCHEMAS: Readonly<Record<string, Schema>> = {
  UserId: {
    description:
      'Identifies a person: 1 to 256 bytes without control characters, not beginning with `rlm` or `#`. With a login by e-mail it is the address in lower case.',
    type: 'string',
    minLength: 1,
    maxLength: 256,
    pattern: '^(?!rlm|#|\\.{1,2}$)',
    examples: ['alice@example.com'],
  },
  RealmId: {
    description:
      'The realm of an object, which determines its readers: a user id for the private realm of that user, `rlm-public` for objects that everyone may read, or the `realmId` of a row of `realms`. `rlm~<key>` ties a realm to the object with that key.',
    type: 'string',
    minLength: 1,
    examples: ['rlm-public', 'alice@example.com'],
  },
  StoredObject: {
    description:
      'A stored object. The server has filled in the primary key (which the schema of the table names), `realmId` and `owner`.',
    ...object({
      realmId: schemaRef('RealmId'),
      owner: OWNER,
      '_hasBlobRefs?': HAS_BLOB_REFS,
    }),
    additionalProperties: schemaRef('Value'),
  },
  NewObject: {
    description:
      'An object to store. It replaces the whole object with the same primary key. The key may be absent if the schema declares it as generated (`@`). A property name that begins with `$` is written with a second one: `$$x` for `$x`.',
    ...object({
      'realmId?': schemaRef('RealmId'),
      'owner?': OWNER,
      '_hasBlobRefs?': HAS_BLOB_REFS,
    }),
    additionalProperties: schemaRef('Value'),
  },
  PlacedObject: {
    description: 'An object to store with a `realmId`, which `/all` requires.',
    allOf: [schemaRef('NewObject'), { type: 'object', required: ['realmId'] }],
  },
}

const NAMES: Schema = {
  anyOf: [{ const: '*' }, { type: 'array', items: { type: 'string' } }],
  description: '`"*"`, or a list of names.',
}

const MOMENT: Schema = {
  anyOf: [schemaRef('DateValue'), { type: 'string', format: 'date-time' }, { type: 'null' }],
}

/** The rows of the built-in tables, which hold the permissions (protocol.md §6.2, §6.3). */
export const ROW_SCHEMAS: Readonly<Record<string, Schema>> = {
  PermissionSet: {
    description:
      'The permissions in a realm. `"*"` of `update` does not include `realmId` and `owner`: they are listed by name. A writer can grant only permissions that they hold in the realm.',
    ...object({
      'add?': { ...NAMES, description: 'Tables that allow inserting objects.' },
      'update?': {
        description: 'Properties that may be changed, by table.',
        anyOf: [{ const: '*' }, { type: 'object', additionalProperties: NAMES }],
      },
      'manage?': {
        ...NAMES,
        description: 'Tables whose objects may be changed and deleted freely.',
      },
    }),
    examples: [{ add: ['todoItems'], update: { todoItems: ['title', 'done'] } }],
  },
  Realm: {
    description:
      'A row of `realms`: a set of objects that its members share. Its owner has every permission in it.',
    ...object({
      'realmId?': {
        type: 'string',
        pattern: '^rlm',
        not: { const: 'rlm-public' },
        description: 'The primary key; generated when absent.',
      },
      'name?': { type: 'string' },
      'represents?': text('The kind of thing that it is to users: “a to-do list”.'),
      'owner?': { type: ['string', 'null'] },
    }),
    additionalProperties: schemaRef('Value'),
  },
  Member: {
    description:
      'A row of `members`: a member of a realm and their rights. It counts as accepted when `userId` is set and `rejected` is absent or older than `accepted`.',
    ...object({
      'id?': text('The primary key; generated when absent.'),
      realmId: { type: 'string', pattern: '^rlm' },
      'userId?': {
        type: ['string', 'null'],
        description:
          'Set by the member when they accept, or in advance by a caller with `GLOBAL_WRITE`.',
      },
      'email?': { type: ['string', 'null'], description: 'The invited address.' },
      'name?': { type: 'string' },
      'invite?': {
        type: 'boolean',
        description:
          'True sends the invitation to `email` when the row is written, and again when the address or the realm changes, or when it was false before. No mail is sent to members, to invitees who have answered, to or from demo users, or by an import.',
      },
      'invitedDate?': {
        ...MOMENT,
        description: 'When the invitation was sent; set by the server, like `invitedBy`.',
      },
      'invitedBy?': object({
        'name?': { type: 'string' },
        'email?': { type: 'string' },
        'userId?': { type: 'string' },
      }),
      'accepted?': MOMENT,
      'rejected?': MOMENT,
      'roles?': { type: ['array', 'null'], items: { type: 'string' } },
      'permissions?': { anyOf: [schemaRef('PermissionSet'), { type: 'null' }] },
      'owner?': { type: ['string', 'null'] },
    }),
    additionalProperties: schemaRef('Value'),
  },
  Role: {
    description:
      'A row of `roles`: named permissions. The primary key is `["<realmId>","<name>"]`. A role of `rlm-public` applies in every realm without a role of that name.',
    ...object({
      realmId: { type: 'string', pattern: '^rlm' },
      name: { type: 'string', minLength: 1 },
      'permissions?': { anyOf: [schemaRef('PermissionSet'), { type: 'null' }] },
      'displayName?': { type: 'string' },
      'description?': { type: 'string' },
      'sortOrder?': { type: 'number' },
      'owner?': { type: ['string', 'null'] },
    }),
    additionalProperties: schemaRef('Value'),
  },
}

/** The values of an object: JSON, and typed values that JSON lacks (spec.md §2.6, protocol.md §1.2). */
export const VALUE_SCHEMAS: Readonly<Record<string, Schema>> = {
  Value: {
    description:
      'Any JSON value. Values that JSON cannot represent are typed values, `{"$t", "v"}`.',
    anyOf: [
      { type: ['null', 'boolean', 'number', 'string'] },
      { type: 'array', items: schemaRef('Value') },
      schemaRef('TypedValue'),
      schemaRef('BlobRef'),
      { type: 'object', additionalProperties: schemaRef('Value') },
    ],
  },
  TypedValue: {
    description:
      'A value that JSON cannot represent: `$t` names the type and `v` holds the value. Values of these types that a client could not read are refused with 422; values of other types are stored and returned unchanged.',
    anyOf: [
      schemaRef('DateValue'),
      schemaRef('NumberValue'),
      schemaRef('BigIntValue'),
      schemaRef('BinaryValue'),
      schemaRef('BlobValue'),
      schemaRef('FileValue'),
      schemaRef('SetValue'),
      schemaRef('MapValue'),
      schemaRef('UndefinedValue'),
      { ...object({ $t: { type: 'string' } }), additionalProperties: true },
    ],
  },
  DateValue: typed('Date', 'A point in time: ISO 8601 in UTC, `NaN` for an invalid Date.', {
    type: 'string',
    examples: ['2030-01-31T12:00:00.000Z'],
  }),
  NumberValue: typed('number', 'A number that JSON cannot represent.', {
    enum: ['NaN', 'Infinity', '-Infinity'],
  }),
  BigIntValue: typed('bigint', 'An integer of any size, in decimal digits.', {
    type: 'string',
    pattern: '^-?[0-9]{1,1000}$',
  }),
  BinaryValue: {
    description:
      'Bytes in b64lex: base64 with other characters, so that the text sorts like the bytes (`0-9`, `A-Z`, `_`, `a-z`, `|` for the values 0 to 63, `-` for padding).',
    ...object({
      $t: { enum: [...BINARY_TYPES.keys()] },
      v: { type: 'string', examples: ['0042'] },
    }),
  },
  BlobValue: typed('Blob', 'A Blob with its data in standard base64.', base64(), {
    type: text('Its media type.'),
  }),
  FileValue: typed('File', 'A File with its data in standard base64.', base64(), {
    type: text('Its media type.'),
    name: { type: 'string' },
    lastModified: { type: 'string', format: 'date-time' },
  }),
  SetValue: typed('Set', 'A Set: its elements.', { type: 'array', items: schemaRef('Value') }),
  MapValue: typed('Map', 'A Map: its entries, key and value.', {
    type: 'array',
    items: { type: 'array', items: schemaRef('Value'), minItems: 2, maxItems: 2 },
  }),
  UndefinedValue: {
    description: 'A property that exists and is undefined. Inside an array it is stored as `null`.',
    ...object({ $t: { const: 'undefined' } }),
  },
  BlobRef: {
    description:
      'Binary data or a long string in blob storage (spec version 3). The object that contains it has `_hasBlobRefs: 1`.',
    ...object({
      _bt: text('The original type: `Blob`, `File`, `ArrayBuffer`, `Uint8Array`, `string`, …'),
      ref: { type: 'string', description: '`<version>:<blobId>`', examples: ['1:0abC3fGh'] },
      size: { type: 'integer', minimum: 0, description: 'Bytes.' },
      'ct?': text('The media type, for Blob and File only.'),
    }),
  },
}

function typed(
  name: string,
  description: string,
  value: Schema,
  more: Readonly<Record<string, Schema>> = {},
): Schema {
  const { properties, ...kind } = object({ $t: { const: name }, v: value })
  return { description, ...kind, properties: { ...properties, ...more } }
}

function base64(): Schema {
  return { type: 'string', contentEncoding: 'base64' }
}

/** The parameters that filter and page a list (design.md §6). */
export const LIST_PARAMETERS: readonly Parameter[] = [
  {
    name: 'filters',
    in: 'query',
    style: 'form',
    explode: true,
    description:
      'Filters, each a parameter of its own: `?country=SE&population=1000`. Filters with different names must all match; a repeated name matches either value. A value matches a string, a number by its JSON text, `true`, `false`, `null`, a Date by its ISO text, and an array with a matching element. Dotted names address nested properties (`address.city`), `realmId` selects a realm, and a property that begins with `$` is written as it is stored, `$$x`. Indexes of the schema are used.',
    schema: {
      type: 'object',
      additionalProperties: { type: 'string' },
      // The default of the page: no filter.
      examples: [{}],
    },
  },
  inQuery(
    '$limit',
    'The maximum number of objects in a page. Without it the whole list is streamed.',
    { type: 'integer', minimum: 1, maximum: MAX_LIMIT },
  ),
  inQuery('$after', 'The end of the previous page: an opaque value from its `Link` header.', {
    type: 'string',
    minLength: 1,
  }),
]

/** The SDK’s name of the filter for a realm (protocol.md §14.1). */
export const REALM = inQuery('realm', 'An alias of the filter `realmId`.')

export const PREFER = inHeader(
  'Prefer',
  '`return=minimal` (RFC 7240): answer 204 instead of the stored objects.',
  { type: 'string', examples: ['return=minimal'] },
)

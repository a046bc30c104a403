import { type Schema, schemaRef } from './specification'

const OWNER =
  'The user who may do everything with the object, or null. Absent from an upsert it stays as it is; a new object gets its writer on `/my`, nobody on the other views.'

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
      'Where an object belongs and who may see it: a user id for the private realm of that user, `rlm-public` for what everybody may read, or the `realmId` of a row of `realms`. `rlm~<key>` ties a realm to the object with that key.',
    type: 'string',
    minLength: 1,
    examples: ['rlm-public', 'alice@example.com'],
  },
  StoredObject: {
    description:
      'An object as it is stored, with the primary key that the schema of its table names, `realmId` and `owner` filled in.',
    type: 'object',
    required: ['realmId', 'owner'],
    properties: {
      realmId: schemaRef('RealmId'),
      owner: { type: ['string', 'null'], description: OWNER },
      _hasBlobRefs: { const: 1, description: 'Marks an object with a BlobRef in it.' },
    },
    additionalProperties: schemaRef('Value'),
  },
  NewObject: {
    description:
      'An object to store. It replaces the object with the same primary key as a whole. The key may be absent where the schema has the server make it (`@`). A property whose name begins with `$` is written with one more: `$$x` for `$x`.',
    type: 'object',
    properties: {
      realmId: schemaRef('RealmId'),
      owner: { type: ['string', 'null'], description: OWNER },
      _hasBlobRefs: { const: 1, description: 'Marks an object with a BlobRef in it.' },
    },
    additionalProperties: schemaRef('Value'),
  },
  PlacedObject: {
    description: 'An object to store that says where it belongs, as `/all` demands.',
    allOf: [schemaRef('NewObject'), { type: 'object', required: ['realmId'] }],
  },
}

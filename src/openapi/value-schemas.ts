import { BINARY_TYPES } from '../domain/value/inline-value'
import { type Schema, schemaRef } from './specification'

/** What may stand in an object: JSON, and what JSON has no form for (spec.md §2.6, protocol.md §1.2). */
export const VALUE_SCHEMAS: Readonly<Record<string, Schema>> = {
  Value: {
    description:
      'Any JSON value. Values that JSON has no form for are typed values, `{"$t", "v"}`.',
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
      'A value of a type that JSON does not have: `$t` names the type and `v` holds the value. Names that are not listed are stored and returned as they came.',
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
      {
        type: 'object',
        required: ['$t'],
        properties: { $t: { type: 'string' } },
        additionalProperties: true,
      },
    ],
  },
  DateValue: typed('Date', 'A moment: ISO 8601 in UTC, `NaN` for an invalid Date.', {
    type: 'string',
    examples: ['2030-01-31T12:00:00.000Z'],
  }),
  NumberValue: typed('number', 'A number that JSON has no form for.', {
    enum: ['NaN', 'Infinity', '-Infinity'],
  }),
  BigIntValue: typed('bigint', 'An integer of any size, in decimal digits.', {
    type: 'string',
    pattern: '^-?[0-9]+$',
  }),
  BinaryValue: {
    description:
      'Bytes in b64lex: base64 whose characters are replaced so that they sort like the bytes (`0-9`, `A-Z`, `_`, `a-z`, `|` for the values 0 to 63, `-` for padding).',
    type: 'object',
    required: ['$t', 'v'],
    properties: {
      $t: { enum: [...BINARY_TYPES.keys()] },
      v: { type: 'string', examples: ['0042'] },
    },
  },
  BlobValue: typed('Blob', 'A Blob with its data in standard base64.', base64(), {
    type: { type: 'string', description: 'Its media type.' },
  }),
  FileValue: typed('File', 'A File with its data in standard base64.', base64(), {
    type: { type: 'string', description: 'Its media type.' },
    name: { type: 'string' },
    lastModified: { type: 'string', format: 'date-time' },
  }),
  SetValue: typed('Set', 'A Set: its elements.', { type: 'array', items: schemaRef('Value') }),
  MapValue: typed('Map', 'A Map: its entries, key and value.', {
    type: 'array',
    items: { type: 'array', items: schemaRef('Value'), minItems: 2, maxItems: 2 },
  }),
  UndefinedValue: {
    description: 'A property that is there and undefined. Inside an array it is stored as `null`.',
    type: 'object',
    required: ['$t'],
    properties: { $t: { const: 'undefined' } },
  },
  BlobRef: {
    description:
      'Binary data or a long string that lies in blob storage (spec version 3). The object around it bears `_hasBlobRefs: 1`.',
    type: 'object',
    required: ['_bt', 'ref', 'size'],
    properties: {
      _bt: {
        type: 'string',
        description: 'The type it had: `Blob`, `File`, `ArrayBuffer`, `Uint8Array`, `string`, …',
      },
      ref: { type: 'string', description: '`<version>:<blobId>`', examples: ['1:0abC3fGh'] },
      size: { type: 'integer', minimum: 0, description: 'Bytes.' },
      ct: { type: 'string', description: 'Its media type; of Blob and File only.' },
    },
  },
}

function typed(
  name: string,
  description: string,
  value: Schema,
  more: Readonly<Record<string, Schema>> = {},
): Schema {
  return {
    description,
    type: 'object',
    required: ['$t', 'v'],
    properties: { $t: { const: name }, v: value, ...more },
  }
}

function base64(): Schema {
  return { type: 'string', contentEncoding: 'base64' }
}

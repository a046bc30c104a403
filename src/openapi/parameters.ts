import { MAX_LIMIT } from '../domain/object/filter'
import { KEY_BYTES } from '../domain/value/key'
import type { Parameter } from './specification'

/** Those of the paths, by the name that a route gives them. */
export const PATH_PARAMETERS: Readonly<Record<string, Parameter>> = {
  database: {
    name: 'database',
    in: 'path',
    required: true,
    description: 'The name of the database. The first start of a server makes `main`.',
    schema: { type: 'string', pattern: '^[a-z][a-z0-9-]{0,62}$', default: 'main' },
  },
  table: {
    name: 'table',
    in: 'path',
    required: true,
    description:
      'A table of the schema (`satchel schema push`), or one of the built-in tables `realms`, `members` and `roles`.',
    schema: { type: 'string', minLength: 1 },
    example: 'todoItems',
  },
  key: {
    name: 'key',
    in: 'path',
    required: true,
    description: `The primary key, URL-encoded, at most ${KEY_BYTES} bytes. A compound key is the URL-encoded JSON of its parts: \`["rlm-public","editor"]\` is sent as \`%5B%22rlm-public%22%2C%22editor%22%5D\`. On \`/my\`, \`#settings\` (\`%23settings\`) is the caller's own object of that name.`,
    schema: { type: 'string', minLength: 1, maxLength: KEY_BYTES },
    example: 'milk',
  },
  blob: {
    name: 'blob',
    in: 'path',
    required: true,
    description:
      'The id of the blob, 1 to 128 letters, digits and `_ - . ~ |`. To read it, the `ref` that its upload gave: `1:` and the id; the colon may be encoded.',
    schema: { type: 'string', minLength: 1, maxLength: 130 },
    example: '1:holiday-2030-01',
  },
  user: {
    name: 'user',
    in: 'path',
    required: true,
    description: 'The user id, URL-encoded.',
    schema: { type: 'string', minLength: 1 },
    example: 'alice@example.com',
  },
  provider: {
    name: 'provider',
    in: 'path',
    required: true,
    description: 'The `name` of a login provider.',
    schema: { type: 'string', pattern: '^[a-z][a-z0-9-]{0,62}$' },
    example: 'google',
  },
  asset: {
    name: 'asset',
    in: 'path',
    required: true,
    description: 'The name of a file, as the page refers to it.',
    schema: { type: 'string' },
  },
}

/** What narrows and pages a list (design.md §6). */
export const LIST_PARAMETERS: readonly Parameter[] = [
  {
    name: 'filters',
    in: 'query',
    style: 'form',
    explode: true,
    description:
      'Filters, each a parameter of its own: `?country=SE&population=1000`. Different names must all hold; a name that comes twice means either value. A value matches a string, a number by its JSON text, `true`, `false`, `null`, a Date by its ISO text, and an array that has such an element. Dotted names reach inside (`address.city`), `realmId` names a realm, and a property that begins with `$` is written as it is stored, `$$x`. Indexes of the schema are used.',
    schema: {
      type: 'object',
      additionalProperties: { type: 'string' },
      // What the page begins with: no filter.
      examples: [{}],
    },
  },
  {
    name: '$limit',
    in: 'query',
    description: 'The most objects of one page. Without it the whole list streams.',
    schema: { type: 'integer', minimum: 1, maximum: MAX_LIMIT },
  },
  {
    name: '$after',
    in: 'query',
    description: 'Where the page before this one ended: from its `Link` header, opaque.',
    schema: { type: 'string', minLength: 1 },
  },
]

/** What the SDK calls the filter for a realm (protocol.md §14.1). */
export const REALM: Parameter = {
  name: 'realm',
  in: 'query',
  description: 'Another name of the filter `realmId`.',
  schema: { type: 'string', minLength: 1 },
}

export const PREFER: Parameter = {
  name: 'Prefer',
  in: 'header',
  description: '`return=minimal` (RFC 7240): answer 204 instead of the stored objects.',
  schema: { type: 'string', examples: ['return=minimal'] },
}

import { type ViewName, VIEWS } from '../domain/access/view'
import type { ErrorCode } from '../domain/value/error'
import { LIST_PARAMETERS, PREFER, REALM } from './object-schemas'
import {
  answer,
  type Content,
  json,
  mapValues,
  type Operation,
  type Operations,
  type Parameter,
  schemaRef,
  type Tag,
} from './specification'

/** The differences between the addresses where tables are served. */
export interface TablePlace {
  /** The prefix of its operation names. */
  readonly name: string
  readonly tag: Tag
  readonly view: ViewName
  /** The path between the database and the table. */
  readonly path: string
  readonly lists: string
  readonly upserts: string
  readonly deletes: string
  /** The schemas of written values: objects of the application and rows of built-in tables. */
  readonly written: readonly string[]
  readonly realmId: string
  readonly key: string
  /** Additional parameters of lists. */
  readonly parameters: readonly Parameter[]
  /** Some names of tables have other routes at these addresses. */
  readonly isShort: boolean
}

export const EXAMPLE_USER = 'alice@example.com'

const ALL: TablePlace = {
  ...placeOf('all'),
  lists: 'Every object of the table, in all realms.',
  upserts:
    'Every object must have a `realmId`: a user, `rlm-public`, or an existing realm. The access rules of realms do not apply: `GLOBAL_WRITE` overrides them.',
  deletes: 'Deletes the object, in any realm.',
  written: ['PlacedObject', 'Realm', 'Member', 'Role'],
  realmId: 'rlm-public',
  key: 'news',
}

const MY: TablePlace = {
  ...placeOf('my'),
  lists:
    'The objects of the private realm of the subject, of `rlm-public` and of every realm in which the subject is an accepted member. In `realms` and `members`, pending invitations are listed too; of the rows of `members` in `rlm-public`, only those of the subject.',
  upserts:
    'Without a `realmId`, a new object is stored in the private realm of the subject, and an existing one stays in its realm. In other realms the subject needs permissions; a refusal names the missing one as `reason`. A new BlobRef to a blob that the subject may not read is refused; `reason` names the property.',
  deletes:
    'Requires ownership of the object, or `manage` on its table in its realm. Members may delete their own row of `members` to leave the realm.',
  written: ['NewObject', 'Realm', 'Member', 'Role'],
  realmId: EXAMPLE_USER,
  key: 'milk',
}

const PUBLIC: TablePlace = {
  ...placeOf('public'),
  lists: 'The objects that everyone may read.',
  upserts:
    'Writes into `rlm-public` only: `realmId` may be absent, and naming another realm is refused.',
  deletes: 'Deletes an object in `rlm-public`; other objects are not found.',
  written: ['NewObject', 'Member', 'Role'],
  realmId: 'rlm-public',
  key: 'welcome',
}

const ALIAS: TablePlace = {
  ...MY,
  name: 'table',
  tag: 'tables',
  path: '',
  lists: 'The list of `/my` at a shorter address.',
  upserts: 'The same as under `/my`.',
  deletes: 'The same as under `/my`.',
  key: 'bread',
  parameters: [REALM],
  isShort: true,
}

export const TABLE_PLACES: readonly TablePlace[] = [ALL, MY, PUBLIC, ALIAS]

function placeOf(view: ViewName) {
  return { name: view, tag: view, view, path: `/${view}`, parameters: [], isShort: false }
}

const WRITE_REFUSALS: readonly ErrorCode[] = [
  'NOT_AUTHORIZED',
  'LICENSE_EXPIRED',
  'CONFLICT',
  'STORAGE_FULL',
  'READ_ONLY',
]

const BODY_REFUSALS: readonly ErrorCode[] = [
  'UNKNOWN_TABLE',
  ...WRITE_REFUSALS,
  'UNKNOWN_REALM',
  'UNPROCESSABLE',
  'PAYLOAD_TOO_LARGE',
  'UNSUPPORTED_MEDIA_TYPE',
  'BLOB_NOT_READABLE',
  'QUOTA_EXCEEDED',
  // Of a row of `members` that is sent by mail.
  'TOO_MANY_REQUESTS',
  'MAIL_NOT_CONFIGURED',
  'NO_PUBLIC_ADDRESS',
]

const OFFLOADING =
  'If the server or the database is configured to (`--offload-beyond`), larger files, binary values and texts within an object are stored as blobs: the answer and all readers get a BlobRef instead, and `_hasBlobRefs: 1`.'

/** The operations on tables at all their addresses (spec.md §4, §4.1, protocol.md §14.1). */
export const OBJECT_OPERATIONS: Operations = Object.assign({}, ...TABLE_PLACES.map(operationsAt))

function operationsAt(place: TablePlace): Operations {
  const { name } = place
  const operations = {
    [`${name}List`]: list(place),
    [`${name}Get`]: get(place),
    [`${name}Upsert`]: upsert(place),
    [`${name}Replace`]: replace(place),
    [`${name}Delete`]: remove(place),
  }
  return place.isShort ? mapValues(operations, withTakenNames) : operations
}

/** Where a table has the name of another route. */
function withTakenNames(operation: Operation): Operation {
  const refusals = [...(operation.refusals ?? []), 'UNKNOWN_ROUTE', 'METHOD_NOT_ALLOWED'] as const
  return { ...operation, refusals, pathParameters: { table: 'shortTable' } }
}

function list(place: TablePlace): Operation {
  const { tag, view, path, lists, parameters } = place
  return {
    tag,
    summary: 'List the objects of a table',
    description: `${lists} They are sorted by creation, in a plain array. Without \`$limit\` the whole list is streamed, whatever its length.`,
    curl: `curl -G "$DB${path}/todoItems"${bearer(VIEWS[view].read !== null)} \\
  --data-urlencode 'title=Buy milk' --data-urlencode '$limit=10'`,
    parameters: [...parameters, ...LIST_PARAMETERS],
    responses: {
      '200': {
        description: 'The objects.',
        headers: {
          Link: {
            description:
              'With `$limit`, if there are more objects: the URL of the next page, relative to this one (RFC 8288).',
            schema: { type: 'string' },
            example: '<?$limit=10&$after=s2k>; rel="next"',
          },
        },
        content: json({ type: 'array', items: schemaRef('StoredObject') }, 'One object', [
          storedExample(place),
        ]),
      },
    },
    refusals: ['UNKNOWN_TABLE', ...tokenRefusals(view)],
  }
}

function get(place: TablePlace): Operation {
  const { tag, view, path, key } = place
  return {
    tag,
    summary: 'Get one object',
    description:
      'The object as it is stored. A missing object and one that the caller may not see are answered alike.',
    curl: `curl "$DB${path}/todoItems/${key}"${bearer(VIEWS[view].read !== null)}`,
    responses: {
      '200': answer('The object.', schemaRef('StoredObject'), 'An object', storedExample(place)),
    },
    refusals: ['UNKNOWN_TABLE', 'UNKNOWN_OBJECT', ...tokenRefusals(view)],
  }
}

function upsert(place: TablePlace): Operation {
  const { tag, view, path, upserts, written } = place
  const object = newExample(place)
  const one = { anyOf: written.map(schemaRef) }
  return {
    tag,
    summary: 'Create or replace objects',
    description: `An array of objects, or one object. Each is created, or replaces the object with its primary key. The request is atomic: either everything is stored, or nothing. ${upserts} A row of \`members\` with \`invite: true\` and an \`email\` is sent to that address as an invitation. ${OFFLOADING}`,
    curl: `curl "$DB${path}/todoItems"${bearer(true)} \\
  -H 'Content-Type: application/json' \\
  -d '${JSON.stringify(object)}'`,
    parameters: [PREFER],
    body: {
      'application/json': {
        schema: { anyOf: [{ type: 'array', items: one }, one] },
        examples: {
          one: { summary: 'One object', value: object },
          several: { summary: 'Several objects', value: [object, { ...object, id: 'bread' }] },
          ...(view === 'public' ? {} : builtInExamples(view)),
        },
      },
    },
    responses: {
      '200': {
        description: 'The stored objects: one for one, an array for an array.',
        ...stored(place),
      },
      '204': { description: 'Stored; the request has `Prefer: return=minimal`.' },
    },
    refusals: BODY_REFUSALS,
  }
}

function stored(place: TablePlace): { readonly content: Content } {
  const schema = {
    anyOf: [{ type: 'array', items: schemaRef('StoredObject') }, schemaRef('StoredObject')],
  }
  return { content: json(schema, 'One object', storedExample(place)) }
}

function replace(place: TablePlace): Operation {
  const { tag, path, key, upserts, written } = place
  const { id: _, ...object } = newExample(place)
  return {
    tag,
    summary: 'Create or replace one object',
    description: `The object is replaced by the body. The key may be omitted from the body; a different key is rejected. ${upserts} ${OFFLOADING}`,
    curl: `curl -X PUT "$DB${path}/todoItems/${key}"${bearer(true)} \\
  -H 'Content-Type: application/json' \\
  -d '${JSON.stringify(object)}'`,
    parameters: [PREFER],
    body: {
      'application/json': {
        schema: { anyOf: written.map(schemaRef) },
        examples: { one: { summary: 'An object', value: object } },
      },
    },
    responses: {
      '200': answer(
        'The stored object.',
        schemaRef('StoredObject'),
        'An object',
        storedExample(place),
      ),
      '204': { description: 'Stored; the request has `Prefer: return=minimal`.' },
    },
    refusals: BODY_REFUSALS,
  }
}

function remove(place: TablePlace): Operation {
  const { tag, path, deletes, key } = place
  return {
    tag,
    summary: 'Delete one object',
    description: `${deletes} Deleting a row of \`realms\` deletes everything in that realm, its members and its roles.`,
    curl: `curl -X DELETE "$DB${path}/todoItems/${key}"${bearer(true)}`,
    responses: { '204': { description: 'Deleted.' } },
    refusals: ['UNKNOWN_TABLE', 'UNKNOWN_OBJECT', ...WRITE_REFUSALS],
  }
}

/** A token that is not needed must be valid all the same. */
function tokenRefusals(view: ViewName): readonly ErrorCode[] {
  return VIEWS[view].read === null ? ['INVALID_TOKEN', 'USER_DEACTIVATED'] : []
}

function bearer(isNeeded: boolean): string {
  return isNeeded ? ` \\\n  -H "Authorization: Bearer $TOKEN"` : ''
}

function newExample({ view, key, realmId }: TablePlace) {
  return {
    id: key,
    ...(view === 'all' ? { realmId } : {}),
    title: 'Buy milk',
    done: false,
    due: { $t: 'Date', v: '2030-01-31T12:00:00.000Z' },
  }
}

function storedExample(place: TablePlace) {
  const { view, realmId } = place
  return { ...newExample(place), realmId, owner: view === 'my' ? EXAMPLE_USER : null }
}

/** Rows of the built-in tables: `POST` them to `realms`, `members` and `roles`. */
function builtInExamples(view: ViewName) {
  const placed = view === 'all' ? { owner: EXAMPLE_USER } : {}
  return {
    realm: {
      summary: 'A row of realms',
      value: { realmId: 'rlm-groceries', name: 'Groceries', represents: 'a to-do list', ...placed },
    },
    member: {
      summary: 'A row of members that invites Bob by mail',
      value: { realmId: 'rlm-groceries', email: 'bob@example.com', invite: true, roles: ['doer'] },
    },
    role: {
      summary: 'A row of roles',
      value: {
        realmId: 'rlm-groceries',
        name: 'doer',
        permissions: { add: ['todoItems'], update: { todoItems: ['done'] } },
      },
    },
  }
}

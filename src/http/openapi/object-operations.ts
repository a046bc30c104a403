import type { ErrorCode } from '../../domain/error'
import { VIEWS, type ViewName } from '../../domain/view'
import { LIST_PARAMETERS, PREFER } from './parameters'
import { type Content, json, type Operation, type Operations, schemaRef } from './specification'

/** What differs between the views; everything else is the same three times. */
interface ViewText {
  readonly lists: string
  readonly upserts: string
  readonly deletes: string
  /** The schemas of what is written: objects of the application and rows of built-in tables. */
  readonly written: readonly string[]
  readonly realmId: string
  readonly key: string
}

const USER = 'alice@example.com'

const TEXTS: Readonly<Record<ViewName, ViewText>> = {
  all: {
    lists: 'Every object of the table, whatever its realm.',
    upserts:
      'Every object must name its `realmId`: a user, `rlm-public`, or a realm that exists. The access rules of realms do not count here: `GLOBAL_WRITE` stands above them.',
    deletes: 'Deletes the object whatever its realm.',
    written: ['PlacedObject', 'Realm', 'Member', 'Role'],
    realmId: 'rlm-public',
    key: 'news',
  },
  my: {
    lists:
      'The objects of the private realm of the subject, of `rlm-public` and of every realm in which the subject is an accepted member. In `realms` and `members` open invitations are listed too.',
    upserts:
      'Without a `realmId` a new object goes into the private realm of the subject, and a known one stays where it is. Elsewhere the permissions of the subject in that realm decide; a refusal names the missing one as `reason`.',
    deletes:
      'Needs to be the owner of the object, or `manage` on its table in its realm. Everybody may delete their own row of `members`, and so leave.',
    written: ['NewObject', 'Realm', 'Member', 'Role'],
    realmId: USER,
    key: 'milk',
  },
  public: {
    lists: 'The objects that everybody may read.',
    upserts:
      'Writes into `rlm-public` only: `realmId` may be absent, and naming another realm is refused.',
    deletes: 'Deletes the object if it is in `rlm-public`; others are not found.',
    written: ['NewObject', 'Member', 'Role'],
    realmId: 'rlm-public',
    key: 'welcome',
  },
}

const WRITE_REFUSALS: readonly ErrorCode[] = [
  'NOT_AUTHORIZED',
  'LICENSE_EXPIRED',
  'CONFLICT',
  'STORAGE_FULL',
  'READ_ONLY',
]

const BODY_REFUSALS: readonly ErrorCode[] = [
  ...WRITE_REFUSALS,
  'UNKNOWN_REALM',
  'UNPROCESSABLE',
  'PAYLOAD_TOO_LARGE',
  'UNSUPPORTED_MEDIA_TYPE',
]

/** A row of `members` that is to go out by mail. */
const MAIL_REFUSALS: readonly ErrorCode[] = [
  'TOO_MANY_REQUESTS',
  'MAIL_NOT_CONFIGURED',
  'NO_PUBLIC_ADDRESS',
]

/** `/all`, `/my` and `/public` (spec.md §4, §4.1). */
export const OBJECT_OPERATIONS: Operations = {
  ...viewOperations('all'),
  ...viewOperations('my'),
  ...viewOperations('public'),
}

function viewOperations(view: ViewName): Operations {
  return {
    [`${view}List`]: list(view),
    [`${view}Get`]: get(view),
    [`${view}Upsert`]: upsert(view),
    [`${view}Delete`]: remove(view),
  }
}

function list(view: ViewName): Operation {
  const { lists } = TEXTS[view]
  return {
    tag: view,
    caller: VIEWS[view].read ?? 'anybody',
    summary: 'List the objects of a table',
    description: `${lists} In order of creation, as a plain array. Without \`$limit\` the whole list streams, however long it is.`,
    curl: `curl -G "$DB/${view}/todoItems"${bearer(VIEWS[view].read !== null)} \\
  --data-urlencode 'title=Buy milk' --data-urlencode '$limit=10'`,
    parameters: LIST_PARAMETERS,
    responses: {
      '200': {
        description: 'The objects.',
        headers: {
          Link: {
            description:
              'With `$limit`, while there is more: the address of the next page, relative to this one (RFC 8288).',
            schema: { type: 'string' },
            example: '<?$limit=10&$after=s2k>; rel="next"',
          },
        },
        content: json({ type: 'array', items: schemaRef('StoredObject') }, 'One object', [
          storedExample(view),
        ]),
      },
    },
    refusals: ['UNKNOWN_TABLE', ...tokenRefusals(view)],
  }
}

function get(view: ViewName): Operation {
  const { key } = TEXTS[view]
  return {
    tag: view,
    caller: VIEWS[view].read ?? 'anybody',
    summary: 'Get one object',
    description:
      'The object as it is stored. What does not exist and what the caller cannot see get the same answer.',
    curl: `curl "$DB/${view}/todoItems/${key}"${bearer(VIEWS[view].read !== null)}`,
    responses: {
      '200': {
        description: 'The object.',
        content: json(schemaRef('StoredObject'), 'An object', storedExample(view)),
      },
    },
    refusals: ['UNKNOWN_TABLE', 'UNKNOWN_OBJECT', ...tokenRefusals(view)],
  }
}

function upsert(view: ViewName): Operation {
  const { upserts, written } = TEXTS[view]
  const object = newExample(view)
  const one = { anyOf: written.map(schemaRef) }
  return {
    tag: view,
    caller: VIEWS[view].write,
    summary: 'Create or replace objects',
    description: `An array of objects, or one. Each replaces the object with its primary key, or is new. The request is one unit: either everything is stored, or nothing. ${upserts} A row of \`members\` with \`invite: true\` and an \`email\` is sent there as an invitation.`,
    curl: `curl "$DB/${view}/todoItems"${bearer(true)} \\
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
        ...stored(view),
      },
      '204': { description: 'Stored; the request said `Prefer: return=minimal`.' },
    },
    refusals: ['UNKNOWN_TABLE', ...BODY_REFUSALS, ...MAIL_REFUSALS],
  }
}

function stored(view: ViewName): { readonly content: Content } {
  const schema = {
    anyOf: [{ type: 'array', items: schemaRef('StoredObject') }, schemaRef('StoredObject')],
  }
  return { content: json(schema, 'One object', storedExample(view)) }
}

function remove(view: ViewName): Operation {
  const { deletes, key } = TEXTS[view]
  return {
    tag: view,
    caller: VIEWS[view].write,
    summary: 'Delete one object',
    description: `${deletes} Deleting a row of \`realms\` deletes everything in that realm, its members and its roles.`,
    curl: `curl -X DELETE "$DB/${view}/todoItems/${key}"${bearer(true)}`,
    responses: { '204': { description: 'Deleted.' } },
    refusals: ['UNKNOWN_TABLE', 'UNKNOWN_OBJECT', ...WRITE_REFUSALS],
  }
}

/** Where no token is needed, one that is shown must be valid. */
function tokenRefusals(view: ViewName): readonly ErrorCode[] {
  return VIEWS[view].read === null ? ['INVALID_TOKEN', 'USER_DEACTIVATED'] : []
}

function bearer(isNeeded: boolean): string {
  return isNeeded ? ` \\\n  -H "Authorization: Bearer $TOKEN"` : ''
}

function newExample(view: ViewName) {
  const { key, realmId } = TEXTS[view]
  return {
    id: key,
    ...(view === 'all' ? { realmId } : {}),
    title: 'Buy milk',
    done: false,
    due: { $t: 'Date', v: '2030-01-31T12:00:00.000Z' },
  }
}

function storedExample(view: ViewName) {
  const { realmId } = TEXTS[view]
  return { ...newExample(view), realmId, owner: view === 'my' ? USER : null }
}

/** Rows of the built-in tables: `POST` them to `realms`, `members` and `roles`. */
function builtInExamples(view: ViewName) {
  const placed = view === 'all' ? { owner: USER } : {}
  return {
    realm: {
      summary: 'A row of realms',
      value: { realmId: 'rlm-groceries', name: 'Groceries', represents: 'a to-do list', ...placed },
    },
    member: {
      summary: 'A row of members: Bob is invited by mail',
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

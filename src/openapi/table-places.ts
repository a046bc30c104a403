import type { ViewName } from '../domain/access/view'
import { REALM } from './parameters'
import type { Parameter, Tag } from './specification'

/** What differs between the places where tables are served; everything else is the same everywhere. */
export interface TablePlace {
  /** What the names of its operations begin with. */
  readonly name: string
  readonly tag: Tag
  readonly view: ViewName
  /** Between the address of the database and the table. */
  readonly path: string
  readonly lists: string
  readonly upserts: string
  readonly deletes: string
  /** The schemas of what is written: objects of the application and rows of built-in tables. */
  readonly written: readonly string[]
  readonly realmId: string
  readonly key: string
  /** Parameters of lists besides those of all. */
  readonly parameters: readonly Parameter[]
}

export const EXAMPLE_USER = 'alice@example.com'

const ALL: TablePlace = {
  ...placeOf('all'),
  lists: 'Every object of the table, whatever its realm.',
  upserts:
    'Every object must name its `realmId`: a user, `rlm-public`, or a realm that exists. The access rules of realms do not count here: `GLOBAL_WRITE` stands above them.',
  deletes: 'Deletes the object whatever its realm.',
  written: ['PlacedObject', 'Realm', 'Member', 'Role'],
  realmId: 'rlm-public',
  key: 'news',
}

const MY: TablePlace = {
  ...placeOf('my'),
  lists:
    'The objects of the private realm of the subject, of `rlm-public` and of every realm in which the subject is an accepted member. In `realms` and `members` open invitations are listed too.',
  upserts:
    'Without a `realmId` a new object goes into the private realm of the subject, and a known one stays where it is. Elsewhere the permissions of the subject in that realm decide; a refusal names the missing one as `reason`. A BlobRef to a blob that the subject may not read is refused, naming the property, unless the object had it before.',
  deletes:
    'Needs to be the owner of the object, or `manage` on its table in its realm. Everybody may delete their own row of `members`, and so leave.',
  written: ['NewObject', 'Realm', 'Member', 'Role'],
  realmId: EXAMPLE_USER,
  key: 'milk',
}

const PUBLIC: TablePlace = {
  ...placeOf('public'),
  lists: 'The objects that everybody may read.',
  upserts:
    'Writes into `rlm-public` only: `realmId` may be absent, and naming another realm is refused.',
  deletes: 'Deletes the object if it is in `rlm-public`; others are not found.',
  written: ['NewObject', 'Member', 'Role'],
  realmId: 'rlm-public',
  key: 'welcome',
}

const ALIAS: TablePlace = {
  ...MY,
  name: 'table',
  tag: 'tables',
  path: '',
  lists: 'The list of `/my` by a shorter address.',
  upserts: 'The same as by the address with `/my`.',
  deletes: 'The same as by the address with `/my`.',
  key: 'bread',
  parameters: [REALM],
}

export const TABLE_PLACES: readonly TablePlace[] = [ALL, MY, PUBLIC, ALIAS]

function placeOf(view: ViewName) {
  return { name: view, tag: view, view, path: `/${view}`, parameters: [] }
}

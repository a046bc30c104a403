import { READ, WRITE } from '../domain/access/door'
import { type BrowsedObject, showObject, type ShownObject } from '../domain/object/browse'
import { PUBLIC_REALM } from '../domain/store/realms'
import type { ReadTx } from '../domain/store/store'
import { quoted, SatchelError } from '../domain/value/error'
import { isRecord } from '../domain/value/value'
import { described, filled, json, optional, text, whole } from './fields'
import { deleteObject, listPage, PAGE, putObject, readPage } from './objects'
import { onDatabase, type Streams } from './operation'

const { search, cursor, limit } = PAGE

/** The `ifRevision` of an operation that changes a row of sharing. */
export const IF_REVISION = described(
  optional(whole),
  'The revision that is known, 0 for none: another one is refused as a conflict.',
)
const REALM = { realm: described(text, 'The id of a realm.', { examples: ['rlmA'] }) }
const REALM_OF_ROLES = {
  realm: described(
    optional(text),
    'The id of a realm; absent: the roles that count in all realms.',
  ),
}
/** The values of a realm that may be given; absent: unchanged, or none for a new one. */
const REALM_VALUES = {
  owner: described(optional(text), 'The user id of its owner; empty: nobody.'),
  represents: described(optional(text), 'A note about what it is for.'),
}
export const PERMISSIONS = described(
  optional(json),
  'As a row has them: `{"add": ["todoItems"], "update": "*", "manage": []}`.',
  { type: 'object' },
)

/** The realms of a database and their roles (protocol.md §6), written by the rules of `/all`. */
export const realmOperations = {
  /** A page, the newest first; as in `object.list`, realms are emitted while a search goes on. */
  'realm.list': onDatabase(
    { scopes: READ, effect: 'read', summary: 'List the realms', input: { search, cursor, limit } },
    async ({ database }, input, context) => {
      const page = readPage({ ...input, table: 'realms', filter: null })
      const streams = emitting(context, describeRealm)
      const { objects, cursor: next } = await listPage(database, streams, {
        ...page,
        ...EVERYTHING,
        actor: context.actor,
        isNewestFirst: true,
      })
      return { realms: objects.map(describeRealm), cursor: next }
    },
  ),

  /** Throws `UNKNOWN_REALM`. */
  'realm.show': onDatabase(
    { scopes: READ, effect: 'read', summary: 'Show a realm', input: REALM },
    (_host, { realm }, { read }) =>
      read((tx) => {
        requireRealm(tx, realm)
        return describeRealm(showObject(tx, 'realms', realm))
      }),
  ),

  /** Without `realm` the server makes its id. Throws `CONFLICT` for a realm that exists, and what `object.put` throws. */
  'realm.add': onDatabase(
    {
      scopes: WRITE,
      effect: 'write',
      summary: 'Add a realm',
      input: {
        name: described(filled, 'The name that people see.'),
        realm: described(
          optional(text),
          'Its id, which begins with rlm; absent: the server makes it.',
        ),
        ...REALM_VALUES,
      },
    },
    async (opened, { name, realm, owner, represents }, context) => {
      const value = { name, owner: owner || null, ...given({ represents }) }
      const put = { table: 'realms', key: realm, value, ifRevision: 0 }
      return describeRealm(await putObject(opened, put, context))
    },
  ),

  /** Changes what is given. Throws `UNKNOWN_REALM`, `CONFLICT` when it is changed meanwhile, and what `object.put` throws. */
  'realm.update': onDatabase(
    {
      scopes: WRITE,
      effect: 'write',
      summary: 'Change the name or the owner of a realm',
      input: {
        ...REALM,
        name: described(optional(filled), 'The name that people see.'),
        ...REALM_VALUES,
      },
    },
    async (opened, { realm, name, owner, represents }, context) => {
      const stored = await context.read((tx) => {
        requireRealm(tx, realm)
        return showObject(tx, 'realms', realm)
      })
      const changes = {
        ...given({ name, represents }),
        ...(owner === null ? {} : { owner: owner || null }),
      }
      const value = { ...stored.value, ...changes }
      const put = { table: 'realms', key: realm, value, ifRevision: stored.revision }
      return describeRealm(await putObject(opened, put, context))
    },
  ),

  /** Its objects, members and roles are removed with it. Throws `UNKNOWN_REALM`. */
  'realm.remove': onDatabase(
    {
      scopes: WRITE,
      effect: 'destroy',
      summary: 'Remove a realm with its objects, members and roles',
      input: REALM,
    },
    async (opened, { realm }, context) => {
      await context.read((tx) => requireRealm(tx, realm))
      await deleteObject(opened, { table: 'realms', key: realm }, context)
      return { realm }
    },
  ),

  /** Throws `UNKNOWN_REALM`. */
  'role.list': onDatabase(
    {
      scopes: READ,
      effect: 'read',
      summary: 'List the roles of a realm',
      input: { ...REALM_OF_ROLES, cursor, limit },
    },
    async ({ database }, { realm, ...input }, context) => {
      const realmId = realm ?? PUBLIC_REALM
      await context.read((tx) => requireRealm(tx, realmId))
      const filter = new URLSearchParams({ realmId }).toString()
      const page = readPage({ ...input, table: 'roles', filter, search: null })
      const { actor } = context
      const listing = { ...page, ...EVERYTHING, actor, isNewestFirst: false }
      const { objects, cursor: next } = await listPage(
        database,
        emitting(context, describeRole),
        listing,
      )
      return { roles: objects.map(describeRole), cursor: next }
    },
  ),

  /** Replaces the permissions; the other values stay when they are not given. Throws `UNKNOWN_REALM`, and what `object.put` throws. */
  'role.put': onDatabase(
    {
      scopes: WRITE,
      effect: 'write',
      summary: 'Add a role, or change its permissions',
      input: {
        ...REALM_OF_ROLES,
        name: described(filled, 'The name that memberships use.', { examples: ['editor'] }),
        permissions: PERMISSIONS,
        displayName: described(optional(text), 'The name that people see.'),
        description: described(optional(text), 'What it is for.'),
        ifRevision: IF_REVISION,
      },
    },
    async (opened, { realm, name, permissions, displayName, description, ifRevision }, context) => {
      const realmId = realm ?? PUBLIC_REALM
      const key = keyOfRole(realmId, name)
      const stored = await context.read((tx) => {
        requireRealm(tx, realmId)
        return findRole(tx, key)
      })
      const changes = given({ permissions, displayName, description })
      const value = { permissions: {}, ...stored?.value, ...changes, realmId, name }
      const put = { table: 'roles', key, value, ifRevision: ifRevision ?? stored?.revision ?? 0 }
      return describeRole(await putObject(opened, put, context))
    },
  ),

  /** Members keep its name, which then gives them nothing. Throws `UNKNOWN_OBJECT`. */
  'role.remove': onDatabase(
    {
      scopes: WRITE,
      effect: 'destroy',
      summary: 'Remove a role',
      input: { ...REALM_OF_ROLES, name: text },
    },
    async (opened, { realm, name }, context) => {
      const realmId = realm ?? PUBLIC_REALM
      await deleteObject(opened, { table: 'roles', key: keyOfRole(realmId, name) }, context)
      return { realm: realmId, name }
    },
  ),
}

const EVERYTHING = { view: 'all', prefix: '' } as const

/** Streams to which objects are emitted as `describe` shows them. */
function emitting(
  { emit, ...streams }: Streams,
  describe: (object: BrowsedObject) => object,
): Streams {
  if (emit === undefined) return streams
  return { ...streams, emit: (object) => emit(describe(object as BrowsedObject)) }
}

type Row = Pick<ShownObject, 'key' | 'realmId' | 'owner' | 'revision' | 'updated'> &
  Pick<BrowsedObject, 'value'>

/** `updated` in ms. */
function describeRealm({ key, owner, revision, updated, value }: Row) {
  return {
    realm: key,
    name: textIn(value, 'name'),
    owner,
    represents: textIn(value, 'represents'),
    revision,
    updated,
  }
}

function describeRole({ realmId, revision, value }: Row) {
  const permissions = value?.['permissions']
  return {
    realm: realmId,
    name: textIn(value, 'name') ?? '',
    displayName: textIn(value, 'displayName'),
    description: textIn(value, 'description'),
    permissions: isRecord(permissions) ? permissions : {},
    revision,
  }
}

function findRole(tx: ReadTx, key: string): ShownObject | undefined {
  try {
    return showObject(tx, 'roles', key)
  } catch (error) {
    if (error instanceof SatchelError && error.code === 'UNKNOWN_OBJECT') return undefined
    throw error
  }
}

/** As in the path of an address. */
function keyOfRole(realm: string, name: string): string {
  return JSON.stringify([realm, name])
}

/** The text of this property; null when it has none. */
export function textIn(value: BrowsedObject['value'], name: string): string | null {
  const found = value?.[name]
  return typeof found === 'string' ? found : null
}

/** The values that are not null. */
export function given(
  values: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== null))
}

/** Throws `UNKNOWN_REALM`. */
export function requireRealm(tx: ReadTx, id: string) {
  const realm = tx.realms.find(id)
  if (realm !== undefined) return realm.ref
  throw new SatchelError('UNKNOWN_REALM', `There is no realm ${quoted(id)}`)
}

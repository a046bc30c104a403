import { findOffloadRule, setOffloadRule } from '../domain/blob/offload-rule'
import { type ClientCredentials, createClient } from '../domain/database/client'
import { untilJobEnds } from '../domain/job/job-end'
import { addOrigin, listOrigins, removeOrigin } from '../domain/database/origin'
import { setPublicAddress } from '../domain/database/public-address'
import { DOORS, MANAGE, READ } from '../domain/access/door'
import { clearRealm, clearTable } from '../domain/transfer/clear'
import { quoted } from '../domain/value/error'
import { parseSchemaFile } from '../domain/json/schema-file'
import type { Database, WriteTx } from '../domain/store/store'
import { untilAborted } from '../domain/value/abort'
import { SCOPES } from '../domain/value/scope'
import type { DataFolder } from '../host/data-folder'
import { filled, flag, optional, said, schemaOf, text, whole } from './fields'
import { onDatabase, onFolder, readUpload, type Streams, writeFor } from './operation'
import { indexJobs, pushSchema, reportSchema } from '../domain/object/tables'

interface Deleted {
  readonly name: string
  /** When it is removed, ms since the epoch; null: it is. */
  readonly due: number | null
}

interface Undeleted {
  readonly name: string
  readonly wasDeleted: boolean
}

const CLEARED = {
  description: 'It is empty.',
  schema: schemaOf({ message: text, deletedCount: whole }),
  example: ['Two objects', { message: 'The table "todoItems" is empty', deletedCount: 2 }],
} as const

const MESSAGE = schemaOf({ message: text })

export const databaseOperations = {
  'db.create': onFolder(
    {
      scopes: 'operator',
      effect: 'secret',
      summary: 'Create a database and its first client',
      input: { name: text },
    },
    async (folder, { name }, { record }) => {
      const client = await createDatabase(folder, name, null, record)
      return { name, url: folder.url(name), client }
    },
  ),

  'db.list': onFolder(
    { scopes: 'operator', effect: 'read', summary: 'List the databases', input: {} },
    async (folder) => (await folder.hosts.list()).map((name) => ({ name, url: folder.url(name) })),
  ),

  /** Takes back a deletion that has not come into force. */
  'db.undelete': onDatabase(
    {
      scopes: MANAGE,
      effect: 'write',
      summary: 'Take back a deletion',
      input: {},
      rest: {
        operationId: 'undeleteDatabase',
        address: 'POST /undelete-db',
        description: 'Within 30 days, with the same clients.',
        curl: '{}',
        examples: { Nothing: {} },
        answer: {
          description: 'Done.',
          schema: MESSAGE,
          example: ['It was deleted', { message: 'The database main is not deleted any more' }],
        },
        show: ({ name, wasDeleted }: Undeleted) => ({
          message: `The database ${name} ${wasDeleted ? 'is not deleted any more' : 'was not deleted'}`,
        }),
      },
    },
    async (opened, _input, { folder, write }) => ({
      name: opened.name,
      wasDeleted: await folder.deletions.unmark(opened, write),
    }),
  ),

  /** The public address of the database, which `url` or `reset` changes first. */
  'db.address': onDatabase(
    {
      scopes: MANAGE,
      effect: 'write',
      summary: 'Show or set the public address',
      input: { url: optional(text), reset: flag },
      asks: ({ url, reset }) => url === null && !reset,
    },
    async ({ name, address }, { url, reset }, { write }) => {
      if (url !== null || reset) await write((tx) => setPublicAddress(tx, url))
      return { name, address: await address() }
    },
  ),

  /** Which values of objects become blobs, which `rule` or `reset` changes first. */
  'db.offload': onDatabase(
    {
      scopes: MANAGE,
      effect: 'write',
      summary: 'Show or set which values become blobs',
      input: { rule: optional(text), reset: flag },
      asks: ({ rule, reset }) => rule === null && !reset,
    },
    async ({ name, database }, { rule, reset }, { folder, write }) => {
      if (rule !== null || reset) await write((tx) => setOffloadRule(tx, rule))
      const own = await database.read(findOffloadRule)
      const beyond = own ?? folder.offloadRule
      return { name, beyond: beyond.text, isOwn: own !== undefined }
    },
  ),

  'db.adopt': onFolder(
    {
      scopes: 'operator',
      effect: 'write',
      summary: 'Make a copied database one of its own',
      input: { name: text },
    },
    async (folder, { name }) => {
      const { database } = await folder.hosts.adopt(name)
      return { name, id: database.id }
    },
  ),

  /** Progress is in bytes. The copies are of this database, with when they were made, ms. */
  'db.compact': onFolder(
    {
      scopes: 'operator',
      effect: 'write',
      summary: 'Write a database anew, without what was removed from it',
      input: { name: text },
    },
    async (folder, { name }, { progress }) => ({
      name,
      ...(await folder.compact(name, progress)),
      oldCopies: folder.oldCopies().filter(({ database }) => database === name),
    }),
  ),

  /** Marks the database for deletion, or removes it at once when that is `hard`. */
  'db.delete': onFolder(
    {
      scopes: DOORS.deleteDatabase,
      effect: 'destroy',
      summary: 'Delete the database',
      input: { database: text, hard: said },
      rest: {
        operationId: 'deleteDatabase',
        address: 'POST /delete-db',
        description:
          'Marks it for deletion: for 30 days it is served, every token response has a warning in `alerts`, and `POST /undelete-db` takes it back; then everything is removed. `{"hard": true}` removes everything at once.',
        examples: { 'In 30 days': {} },
        answer: {
          description: 'Done.',
          schema: MESSAGE,
          example: ['In 30 days', { message: 'The database main is marked for deletion' }],
        },
        show: ({ name, due }: Deleted) => ({
          message:
            due === null
              ? `The database ${name} is deleted`
              : `The database ${name} is marked for deletion. Until ${new Date(due).toISOString().slice(0, 10)} it is served with a warning, and dexie-cloud undelete restores it; then it is removed`,
        }),
      },
    },
    async ({ hosts, deletions }, { database: name, hard }, order) => {
      if (!hard) {
        const opened = await hosts.open(name)
        return { name, due: await deletions.mark(opened, writeFor(opened, order)) }
      }
      await hosts.remove(name)
      return { name, due: null }
    },
  ),

  'origin.add': onDatabase(
    {
      scopes: MANAGE,
      effect: 'write',
      summary: 'Allow the pages of an origin',
      input: { origin: text, force: flag },
    },
    async ({ clock }, { origin, force }, { write }) => ({
      origin: await write((tx) => addOrigin(tx, clock, origin, { force })),
    }),
  ),

  'origin.remove': onDatabase(
    { scopes: MANAGE, effect: 'write', summary: 'Remove an origin', input: { origin: text } },
    async (_host, { origin }, { write }) => ({
      origin,
      removed: await write((tx) => removeOrigin(tx, origin)),
    }),
  ),

  /** All three in one, as `dexie-cloud whitelist` asks for them. */
  'origin.change': onDatabase(
    {
      scopes: DOORS.changeOrigins,
      effect: 'write',
      summary: 'List, add and remove origins',
      input: { origin: optional(filled), delete: said, force: said },
      asks: ({ origin }) => origin === null,
      rest: {
        operationId: 'changeOrigins',
        address: 'POST /whitelist',
        description:
          '`{}` lists the origins of pages that may call the database; `{"origin"}` adds one, `{"origin", "delete": true}` removes it; both answer how many. `"force": true` permits http beyond this machine.',
        curl: '{"origin": "https://app.example.com"}',
        examples: { 'Add an origin': { origin: 'https://app.example.com' } },
        answer: {
          description: 'The list, or how many origins were added or removed.',
          schema: { anyOf: [{ type: 'array', items: { type: 'string' } }, { type: 'integer' }] },
          example: ['One was added', 1],
        },
      },
    },
    async ({ clock }, { origin, force, delete: removes }, { read, write }) => {
      if (origin === null) return await read(listOrigins)
      return await write((tx) => {
        if (removes) return removeOrigin(tx, origin) ? 1 : 0
        const before = tx.origins.list().length
        addOrigin(tx, clock, origin, { force })
        return tx.origins.list().length - before
      })
    },
  ),

  'origin.list': onDatabase(
    { scopes: MANAGE, effect: 'read', summary: 'List the origins', input: {} },
    ({ database }) => database.read(listOrigins),
  ),

  /** The file is the upload; with `wait`, progress is in objects whose index entries are built. */
  'table.clear': onDatabase(
    {
      scopes: DOORS.clearTable,
      effect: 'destroy',
      summary: 'Delete all objects of a table',
      input: { table: filled },
      rest: {
        operationId: 'clearTable',
        address: 'POST /clear-table',
        description:
          'In many short units, which clients get as deletions. When it is interrupted, the rest is still there.',
        curl: '{"table": "todoItems"}',
        examples: { 'A table': { table: 'todoItems' } },
        isLong: true,
        answer: CLEARED,
        refusals: ['UNKNOWN_TABLE'],
      },
    },
    async ({ database }, { table }, { now, note, signal }) => {
      await note()
      const deletedCount = await clearTable(database, table, now, signal)
      return { message: `The table ${quoted(table)} is empty`, deletedCount }
    },
  ),

  'realm.clear': onDatabase(
    {
      scopes: DOORS.clearRealm,
      effect: 'destroy',
      summary: 'Delete all objects and members of a realm',
      input: { realmId: filled },
      rest: {
        operationId: 'clearRealm',
        address: 'POST /clear-realm',
        description:
          'The realm itself, its roles and the member row of its owner stay. In many short units, which clients get as deletions.',
        curl: '{"realmId": "rlm-public"}',
        examples: { 'A realm': { realmId: 'rlm-public' } },
        isLong: true,
        answer: CLEARED,
        refusals: ['UNKNOWN_REALM'],
      },
    },
    async ({ database }, { realmId }, { now, note, signal }) => {
      await note()
      const deletedCount = await clearRealm(database, realmId, now, signal)
      return { message: `The realm ${quoted(realmId)} is empty`, deletedCount }
    },
  ),

  'schema.push': onDatabase(
    { scopes: MANAGE, effect: 'write', summary: 'Declare tables', input: { wait: flag } },
    async ({ database }, { wait }, { now, write, ...streams }) => {
      const schemas = parseSchemaFile(await readUpload(streams))
      const names = [...schemas.keys()]
      const change = await write((tx) => pushSchema(tx, schemas, now))
      if (wait) await untilBuilt(database, names, streams)
      return { change, ...(await database.read((tx) => reportSchema(tx, names))) }
    },
  ),

  'schema.show': onDatabase(
    { scopes: READ, effect: 'read', summary: 'Show the tables', input: {} },
    ({ database }) => database.read((tx) => reportSchema(tx)),
  ),
}

/**
 * Creates a database and its first client, which has all scopes and the given owner, or nothing: without
 * the client the database would be of no use. Throws what `Hosts.create` throws.
 */
export async function createDatabase(
  { hosts }: Pick<DataFolder, 'hosts'>,
  name: string,
  email: string | null = null,
  record?: (tx: WriteTx) => void,
): Promise<ClientCredentials> {
  const { database, clock } = await hosts.create(name)
  try {
    return await database.write((tx) => {
      record?.(tx)
      return createClient(tx, clock, { scopes: SCOPES, name: 'default', email })
    })
  } catch (error) {
    await hosts.remove(name)
    throw error
  }
}

/** Resolves when the indexes of these tables are complete; the signal ends the waiting alone. */
async function untilBuilt(
  database: Database,
  names: readonly string[],
  { progress, signal }: Streams,
): Promise<void> {
  const jobs = await database.read((tx) => {
    const tables = tx.tables.list()
    return indexJobs(
      tx,
      tables.filter(({ name }) => names.includes(name)),
    )
  })
  const total = jobs.reduce((sum, job) => sum + (job.total ?? 0), 0)
  let ended = 0
  for (const job of jobs) {
    const ends = untilJobEnds(database, job.id, ({ done }) => progress?.(ended + done, total))
    await untilAborted(ends, signal)
    ended += job.total ?? 0
  }
}

import { findOffloadRule, setOffloadRule } from '../domain/blob/offload-rule'
import { type ClientCredentials, createClient } from '../domain/database/client'
import { untilJobEnds } from '../domain/job/job-end'
import { addOrigin, listOrigins, removeOrigin } from '../domain/database/origin'
import { setPublicAddress } from '../domain/database/public-address'
import { MANAGE, READ } from '../domain/access/door'
import { parseSchemaFile } from '../domain/json/schema-file'
import type { Database } from '../domain/store/store'
import { SCOPES } from '../domain/value/scope'
import type { DataFolder } from '../host/data-folder'
import { flag, optional, text } from './fields'
import { onDatabase, onFolder, readUpload, type Streams } from './operation'
import { indexJobs, pushSchema, reportSchema } from '../domain/object/tables'

export const databaseOperations = {
  'db.create': onFolder(
    {
      scopes: 'operator',
      effect: 'secret',
      summary: 'Create a database and its first client',
      input: { name: text },
    },
    async (folder, { name }) => {
      const client = await createDatabase(folder, name)
      return { name, url: folder.url(name), client }
    },
  ),

  'db.list': onFolder(
    { scopes: 'operator', effect: 'read', summary: 'List the databases', input: {} },
    async (folder) => (await folder.hosts.list()).map((name) => ({ name, url: folder.url(name) })),
  ),

  /** Takes back a deletion that has not come into force. */
  'db.undelete': onDatabase(
    { scopes: MANAGE, effect: 'write', summary: 'Take back a deletion of the database', input: {} },
    async (host, _input, { folder }) => ({
      name: host.name,
      wasDeleted: await folder.deletions.unmark(host),
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

  'db.delete': onFolder(
    {
      scopes: ['DELETE_DB'],
      effect: 'destroy',
      summary: 'Delete the database',
      input: { database: text },
    },
    async (folder, { database: name }) => {
      await folder.hosts.remove(name)
      return { name }
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

  'origin.list': onDatabase(
    { scopes: MANAGE, effect: 'read', summary: 'List the origins', input: {} },
    ({ database }) => database.read(listOrigins),
  ),

  /** The file is the upload; with `wait`, progress is in objects whose index entries are built. */
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
): Promise<ClientCredentials> {
  const { database, clock } = await hosts.create(name)
  try {
    return await database.write((tx) =>
      createClient(tx, clock, { scopes: SCOPES, name: 'default', email }),
    )
  } catch (error) {
    await hosts.remove(name)
    throw error
  }
}

/** Resolves when the indexes of these tables are complete. */
async function untilBuilt(
  database: Database,
  names: readonly string[],
  { progress }: Streams,
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
    await untilJobEnds(database, job.id, ({ done }) => progress?.(ended + done, total))
    ended += job.total ?? 0
  }
}

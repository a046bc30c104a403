import type { Clock } from '../clock'
import { type ClientCredentials, createClient } from '../domain/database/client'
import { findOffloadRule, setOffloadRule } from '../domain/blob/offload-rule'
import { setPublicAddress } from '../domain/database/public-address'
import { SCOPES } from '../domain/value/scope'
import type { Database } from '../domain/store/store'
import { flag, optional, text } from './fields'
import { operation } from './operation'

export const databaseOperations = {
  'db.create': operation({ name: text }, async (workspace, { name }) => {
    const { database } = await workspace.create(name)
    const client = await createDefaultClient(database, workspace.clock)
    return { name, url: workspace.url(name), client }
  }),

  'db.list': operation({}, async (workspace) =>
    workspace.list().map((name) => ({ name, url: workspace.url(name) })),
  ),

  /** Says where the outside world reaches the database, changed before if `url` or `reset` is given. */
  'db.address': operation(
    { name: text, url: optional(text), reset: flag },
    async (workspace, { name, url, reset }) => {
      const { database, address } = await workspace.open(name)
      if (url !== null || reset) await database.write((tx) => setPublicAddress(tx, url))
      return { name, address: await address() }
    },
  ),

  /** Says which values of objects become blobs, changed before if `rule` or `reset` is given. */
  'db.offload': operation(
    { name: text, rule: optional(text), reset: flag },
    async (workspace, { name, rule, reset }) => {
      const { database } = await workspace.open(name)
      if (rule !== null || reset) await database.write((tx) => setOffloadRule(tx, rule))
      const own = await database.read(findOffloadRule)
      const beyond = own ?? workspace.offloadRule
      return { name, beyond: beyond.text, isOwn: own !== undefined }
    },
  ),

  'db.delete': operation({ name: text }, async (workspace, { name }) => {
    await workspace.remove(name)
    return { name }
  }),
}

/** The client that a new database has: it may do everything. */
export function createDefaultClient(database: Database, clock: Clock): Promise<ClientCredentials> {
  return database.write((tx) => createClient(tx, clock, { scopes: SCOPES, name: 'default' }))
}

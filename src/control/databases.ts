import type { Clock } from '../clock'
import { type ClientCredentials, createClient } from '../domain/client'
import { SCOPES } from '../domain/scope'
import type { Database } from '../domain/store'
import { text } from './fields'
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

  'db.delete': operation({ name: text }, async (workspace, { name }) => {
    await workspace.remove(name)
    return { name }
  }),
}

/** The client that a new database has: it may do everything. */
export function createDefaultClient(database: Database, clock: Clock): Promise<ClientCredentials> {
  return database.write((tx) => createClient(tx, clock, { scopes: SCOPES, name: 'default' }))
}

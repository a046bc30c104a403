import {
  createClient,
  isClientExpired,
  listClients,
  revokeClient,
  rotateClient,
} from '../domain/database/client'
import { requireEmail } from '../domain/value/email'
import { SatchelError } from '../domain/value/error'
import { grantScopes, SCOPES } from '../domain/value/scope'
import type { ReadTx } from '../domain/store/store'
import { number, optional, text, texts } from './fields'
import { operation } from './operation'

export const clientOperations = {
  'client.create': operation(
    { database: text, scopes: texts, name: optional(text), email: optional(text) },
    async (workspace, input) => {
      const { database } = await workspace.open(input.database)
      const scopes = grantScopes(input.scopes, SCOPES)
      const { name } = input
      const email = input.email === null ? null : requireEmail(input.email)
      const client = await database.write((tx) =>
        createClient(tx, workspace.clock, { scopes, name, email }),
      )
      return { ...client, scopes, name, email }
    },
  ),

  'client.list': operation({ database: text }, async (workspace, input) => {
    const { database } = await workspace.open(input.database)
    return await database.read(listClients)
  }),

  'client.revoke': operation({ database: text, id: text }, async (workspace, { id, ...input }) => {
    const { database } = await workspace.open(input.database)
    await database.write((tx) => revokeClient(tx, id))
    return { id }
  }),

  'client.rotate': operation(
    { database: text, id: optional(text), days: optional(number) },
    async (workspace, { id, days, ...input }) => {
      const { clock } = workspace
      const { database } = await workspace.open(input.database)
      return await database.write(async (tx) => {
        const chosen = id ?? (await onlyClient(tx, clock.now()))
        return await rotateClient(tx, clock, chosen, days ?? undefined)
      })
    },
  ),
}

/** The client that is meant when none is named. Throws `CONFLICT` when that is not plain. */
async function onlyClient(tx: ReadTx, now: number): Promise<string> {
  const clients = await tx.clients.list()
  const lasting = clients.filter((client) => client.expires === null)
  const candidates = lasting.length > 0 ? lasting : clients.filter((c) => !isClientExpired(c, now))
  const [client] = candidates
  if (client !== undefined && candidates.length === 1) return client.id
  throw new SatchelError(
    'CONFLICT',
    `There are ${candidates.length} clients: name the one to rotate (satchel client list shows them)`,
  )
}

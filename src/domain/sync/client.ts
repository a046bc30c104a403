import { requireWriter } from '../access/actor'
import type { Database, ReadTx } from '../store/store'
import type { SyncClient } from '../store/sync'
import { DAY } from '../value/time'
import type { Actor } from '../access/actor'
import type { SyncRequest } from './request'
import { textsDeclared } from './text'

/** A client that did not change is noted again after this time, ms. */
const NOTED_AGAIN = DAY

/** The local database of a user, remembered until it changes. */
export function findSyncClient(
  tx: ReadTx,
  subject: string,
  identity: string,
): SyncClient | undefined {
  // A subject has no line break.
  return tx.remember(`sync client\n${subject}\n${identity}`, () =>
    tx.syncClients.find(subject, identity),
  )
}

/** True when there is nothing to store of the client: it is `known` with what it declares. */
export function isNoted(
  known: SyncClient | undefined,
  request: SyncRequest,
  now: number,
): known is SyncClient {
  if (known === undefined || known.seen <= now - NOTED_AGAIN) return false
  if (known.texts !== textsDeclared(request)) return false
  const tables = markedTables(request)
  return (
    tables.length === known.tables.length && tables.every((one, at) => one === known.tables[at])
  )
}

/** Stores the client, with what it declares. `now` in ms. Throws as `requireWriter`. */
export async function noteClient(
  database: Database,
  actor: Actor & { readonly subject: string },
  request: SyncRequest,
  now: number,
): Promise<SyncClient> {
  const { subject } = actor
  return await database.write((tx) => {
    requireWriter(tx, actor, now)
    const known = tx.syncClients.ensure(subject, request.clientIdentity, now)
    const texts = textsDeclared(request)
    const client = { ...known, tables: markedTables(request), texts, seen: now }
    tx.syncClients.put(client)
    return client
  })
}

/** The tables that a client syncs, in its order. */
export function markedTables({ tables }: SyncRequest): string[] {
  const marked: string[] = []
  for (const [name, { isMarked }] of tables) if (isMarked) marked.push(name)
  return marked
}

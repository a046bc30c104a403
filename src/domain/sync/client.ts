import { requireWriter } from '../access/actor'
import type { Database, ReadTx, WriteTx } from '../store/store'
import type { SyncClient } from '../store/sync'
import { DAY } from '../value/time'
import type { Actor } from '../access/actor'
import { markedTables, textsDeclared } from './declared'
import type { SyncRequest } from './request'

/** A client that did not change is noted again after this time, ms. */
const NOTED_AGAIN = DAY

/** The local database of a user, remembered until it changes. */
export function findSyncClient(
  tx: ReadTx,
  subject: string,
  identity: string,
): SyncClient | undefined {
  return tx.remember(nameOf(subject, identity), () => tx.syncClients.find(subject, identity))
}

/** Stores the clock of a client, which does not go back, and remembers the client with it. `floor` in ms. */
export function noteFloor(
  tx: WriteTx,
  { subject, identity }: Pick<SyncClient, 'subject' | 'identity'>,
  floor: number,
): void {
  const known = findSyncClient(tx, subject, identity)
  if (known === undefined || known.floor >= floor) return
  const renewal = tx.renewal<SyncClient>(nameOf(subject, identity))
  const noted = { ...known, floor }
  tx.syncClients.put(noted)
  renewal?.keep(() => noted)
}

/** A subject has no line break. */
function nameOf(subject: string, identity: string): string {
  return `sync client\n${subject}\n${identity}`
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
  return tables.size === known.tables.length && known.tables.every((name) => tables.has(name))
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
    const client = { ...known, tables: [...markedTables(request)], texts, seen: now }
    tx.syncClients.put(client)
    return client
  })
}

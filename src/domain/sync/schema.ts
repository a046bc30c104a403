import { type Actor, requireWriter } from '../access/actor'
import { requireFewTables } from '../object/tables'
import type { Database, ReadTx, WriteTx } from '../store/store'
import type { Table, TableDeclaration } from '../store/tables'
import { SatchelError, quoted } from '../value/error'
import { idPrefixFor, isIdPrefix } from '../value/id'
import { formatStores, parseTable, requireTableName } from '../value/schema'
import { setOwn, type WireObject } from '../value/value'
import type { DeclaredTable, SyncRequest } from './request'

/**
 * Learns tables and their keys from a logged-in client (protocol.md §10.1); a sealed schema stays as
 * it is. `now` in ms. Throws `UNPROCESSABLE` when an operation is on a table that a sealed schema does
 * not have, or with too many tables, `INVALID_SCHEMA` for an impossible name, and as `requireWriter`.
 */
export async function learnSchema(
  database: Database,
  actor: Actor,
  request: SyncRequest,
  now: number,
): Promise<void> {
  const hasNews = await database.read(async (tx) => {
    await requireWriter(tx, actor, now)
    if (await tx.tables.isSealed()) {
      await requireKnownTables(tx, request)
      return false
    }
    return (await newsIn(tx, request)).length > 0
  })
  if (!hasNews) return
  await database.write(async (tx) => {
    await requireWriter(tx, actor, now)
    if (await tx.tables.isSealed()) return requireKnownTables(tx, request)
    for (const [name, declared] of await newsIn(tx, request)) await learn(tx, name, declared)
    await requireFewTables(tx)
  })
}

async function requireKnownTables(tx: ReadTx, { transactions }: SyncRequest): Promise<void> {
  for (const { operations } of transactions) {
    for (const { table } of operations) {
      if ((await tx.tables.find(table)) !== undefined) continue
      const sentence = `The schema is sealed and has no table ${quoted(table)}: nothing of this request was stored`
      throw new SatchelError('UNPROCESSABLE', sentence, { cause: new Error(sentence) })
    }
  }
}

/** The synced tables that are new, or whose key was not known. */
async function newsIn(
  tx: ReadTx,
  { tables }: SyncRequest,
): Promise<(readonly [string, DeclaredTable])[]> {
  const known = new Map((await tx.tables.list()).map((table) => [table.name, table]))
  return [...tables].filter(([name, declared]) => {
    if (!declared.isMarked) return false
    const table = known.get(name)
    return table === undefined || (table.primaryKey === null && keyOf(name, declared) !== undefined)
  })
}

async function learn(tx: WriteTx, name: string, declared: DeclaredTable): Promise<void> {
  requireTableName(name)
  const existing = await tx.tables.find(name)
  const generated = existing?.generated === true || declared.generated
  const key = keyOf(name, { ...declared, generated })
  const declaration: TableDeclaration = {
    name,
    primaryKey: key?.primaryKey ?? null,
    compound: key?.compound ?? false,
    generated,
    idPrefix: existing?.idPrefix || (generated ? await prefixFor(tx, name, declared) : ''),
    stores: key === undefined ? '' : formatStores(key),
    hidden: existing?.hidden ?? false,
    indexes: existing?.indexes ?? [],
  }
  await tx.tables.put(declaration)
}

/** The key as the client declares it; undefined in its first session, and when it is malformed. */
function keyOf(name: string, { primaryKey, generated }: DeclaredTable) {
  if (primaryKey === undefined) return undefined
  try {
    return parseTable(name, generated ? `@${primaryKey}` : primaryKey)
  } catch {
    return undefined
  }
}

/** The prefix of the client's own ids, unless another table has it. */
async function prefixFor(tx: WriteTx, name: string, { idPrefix }: DeclaredTable): Promise<string> {
  const taken = new Set((await tx.tables.list()).map((table) => table.idPrefix))
  const isFree = idPrefix !== undefined && isIdPrefix(idPrefix) && !taken.has(idPrefix)
  return isFree ? idPrefix : idPrefixFor(name, taken)
}

/**
 * The `schema` of an answer (protocol.md §10.1). An entry replaces that of the client, so it is
 * repeated as it was sent, with the prefix of the table; `initiallySynced` says that the client now
 * has all rows. `tables` are those that it syncs.
 */
export function echoSchema(
  declared: SyncRequest['tables'],
  tables: ReadonlyMap<string, Table>,
): WireObject {
  const schema: WireObject = {}
  for (const [name, { wire }] of declared) {
    const table = tables.get(name)
    const key = table?.generated === true ? generatedKey(table) : {}
    setOwn(schema, name, { ...wire, ...key, initiallySynced: table !== undefined })
  }
  return schema
}

function generatedKey({ idPrefix }: Table): WireObject {
  return { generatedGlobalId: true, idPrefix }
}

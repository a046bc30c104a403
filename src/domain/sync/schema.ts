import { type Actor, requireWriter } from '../access/actor'
import { prefixFor, requireRoomFor } from '../object/tables'
import type { Database, ReadTx, WriteTx } from '../store/store'
import type { Table, TableDeclaration } from '../store/tables'
import { SatchelError, quoted } from '../value/error'
import { jsonOf } from '../value/escape'
import { isIdPrefix } from '../value/id'
import { formatStores, parseTable, requireTableName } from '../value/schema'
import { setOwn, type WireObject } from '../value/value'
import { schemaName } from './declared'
import type { DeclaredTable } from './declared'
import type { SyncRequest } from './request'
import { type TextProperties, textProperties } from './text'

/**
 * True when a request of a logged-in client declares tables or keys that are to be learned. Throws as
 * `learnSchema`, except for impossible names and too many tables.
 */
export function hasSchemaNews(
  tx: ReadTx,
  actor: Actor,
  request: SyncRequest,
  now: number,
): boolean {
  requireWriter(tx, actor, now)
  if (tx.tables.isSealed()) {
    requireKnownTables(tx, request)
    return false
  }
  const { isKnown, keyless } = syncedOf(tx, request)
  const mayShowKey = request.transactions.some(({ operations }) =>
    operations.some(({ table }) => keyless.has(table)),
  )
  return (!isKnown || mayShowKey) && newsIn(tx, request).length > 0
}

/** The facts that follow from the tables that a client declares and those of the database. */
interface Synced {
  /** The tables that the client syncs, by name. */
  readonly tables: ReadonlyMap<string, Table>
  /** Those of which the client has not had all rows. */
  readonly unsynced: ReadonlySet<string>
  /** The values that are left out of its rows; undefined for none. */
  readonly text: TextProperties | undefined
  /** The `schema` of an answer, as JSON (`echoSchema`). */
  readonly echo: string
  /** The database has all tables that the client marks, with the keys that it declares. */
  readonly isKnown: boolean
  /** Those whose keys nobody has declared: only objects can show them. */
  readonly keyless: ReadonlySet<string>
}

/** Remembered until a table changes: a client declares the same in every request. */
export function syncedOf(tx: ReadTx, { tables }: SyncRequest): Synced {
  const name = schemaName(tables)
  return name === undefined ? findSynced(tx, tables) : tx.remember(name, findSynced, tx, tables)
}

function findSynced(tx: ReadTx, declared: SyncRequest['tables']): Synced {
  const tables = new Map<string, Table>()
  const unsynced = new Set<string>()
  const keyless = new Set<string>()
  let isKnown = true
  for (const [name, { isMarked, isInitiallySynced, primaryKey }] of declared) {
    const table = isMarked ? tx.tables.find(name) : undefined
    if (table !== undefined && !table.hidden) {
      tables.set(name, table)
      if (!isInitiallySynced) unsynced.add(name)
    }
    if (!isMarked || (table?.primaryKey ?? null) !== null) continue
    if (table !== undefined && primaryKey === undefined) keyless.add(name)
    else isKnown = false
  }
  const echo = JSON.stringify(echoSchema(declared, tables))
  return { tables, unsynced, text: textProperties(declared, tables), echo, isKnown, keyless }
}

/** Tables that are learned before others get a turn. */
const LEARNED = 20

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
  await database.writeSteps(async (step) => {
    const news = await step((tx) => {
      if (!hasSchemaNews(tx, actor, request, now)) return []
      const found = newsIn(tx, request)
      requireRoomFor(
        tx,
        found.map(([name]) => name),
      )
      return found
    })
    for (let from = 0; from < news.length; from += LEARNED) {
      const some = news.slice(from, from + LEARNED)
      await step((tx) => {
        for (const [name, declared] of some) learn(tx, name, declared)
      })
    }
  })
}

function requireKnownTables(tx: ReadTx, { transactions }: SyncRequest): void {
  for (const { operations } of transactions) {
    for (const { table } of operations) {
      if (tx.tables.find(table) !== undefined) continue
      const sentence = `The schema is sealed and has no table ${quoted(table)}: nothing of this request was stored`
      throw new SatchelError('UNPROCESSABLE', sentence, { cause: new Error(sentence) })
    }
  }
}

/** The synced tables that are new, or whose key was not known. */
function newsIn(tx: ReadTx, request: SyncRequest): (readonly [string, DeclaredTable])[] {
  const news: (readonly [string, DeclaredTable])[] = []
  for (const [name, declared] of request.tables) {
    const table = tx.tables.find(name)
    if (!declared.isMarked || (table !== undefined && table.primaryKey !== null)) continue
    const primaryKey = declared.primaryKey ?? shownKey(name, request)
    const shown = { ...declared, primaryKey }
    if (table === undefined || keyOf(name, shown) !== undefined) news.push([name, shown])
  }
  return news
}

/** How many objects of a request are searched for their key. */
const LOOKED_AT = 200

/**
 * The key of a table as the objects of a request show it: each part of it is the value of one
 * property. In its first session a client does not name it (protocol.md §10.1).
 */
function shownKey(name: string, { transactions }: SyncRequest): string | undefined {
  let candidates: readonly (readonly string[])[] | undefined
  let count = 0
  for (const { operations } of transactions) {
    for (const { table, keys, action } of operations) {
      if (table !== name || !('values' in action)) continue
      for (const [position, value] of action.values.entries()) {
        candidates = namesOfParts(keys[position] ?? '', value, candidates)
        count += 1
        if (count === LOOKED_AT) return declaredKey(candidates)
      }
    }
  }
  return declaredKey(candidates)
}

/** For each part of a key, those of the candidates that have its value; all names at first. */
function namesOfParts(
  key: string,
  value: WireObject,
  candidates: readonly (readonly string[])[] | undefined,
): readonly (readonly string[])[] {
  const parts = partsOf(key)
  const all = Object.keys(value).filter((name) => !name.startsWith('$'))
  return parts.map((part, position) =>
    (candidates === undefined ? all : (candidates[position] ?? [])).filter(
      (name) => value[name] === part,
    ),
  )
}

/** A compound key is JSON on the wire (protocol.md §10.3). */
function partsOf(key: string): readonly unknown[] {
  if (!key.startsWith('[') || !key.endsWith(']')) return [key]
  return (jsonOf(key) ?? []) as unknown[]
}

/** The key of parts that one name remains for. */
function declaredKey(candidates: readonly (readonly string[])[] | undefined): string | undefined {
  const names = candidates?.map((all) => {
    const own = all.length > 1 ? all.filter((name) => !PLACES.has(name)) : all
    return own.length === 1 ? own[0] : undefined
  })
  if (names === undefined || names.includes(undefined)) return undefined
  if (names.length === 0 || new Set(names).size < names.length) return undefined
  return names.length === 1 ? names[0] : `[${names.join('+')}]`
}

/** Every object has these, and its key may be equal to one of them. */
const PLACES: ReadonlySet<string> = new Set(['realmId', 'owner'])

function learn(tx: WriteTx, name: string, declared: DeclaredTable): void {
  requireTableName(name)
  const existing = tx.tables.find(name)
  const generated = existing?.generated === true || declared.generated
  const key = keyOf(name, { ...declared, generated })
  const { idPrefix = '' } = declared
  const given = new Map(isIdPrefix(idPrefix) ? [[name, idPrefix]] : [])
  const declaration: TableDeclaration = {
    name,
    primaryKey: key?.primaryKey ?? null,
    compound: key?.compound ?? false,
    generated,
    idPrefix: existing?.idPrefix || (generated ? prefixFor(tx, name, given) : ''),
    stores: key === undefined ? '' : formatStores(key),
    hidden: existing?.hidden ?? false,
    indexes: existing?.indexes ?? [],
  }
  tx.tables.put(declaration)
}

/** The key as the client declares it; undefined in its first session, and when it is malformed. */
function keyOf(name: string, { primaryKey, generated }: DeclaredTable) {
  if (primaryKey === undefined) return undefined
  try {
    // One client's `Y.Doc` must not keep the values of others out.
    return { ...parseTable(name, generated ? `@${primaryKey}` : primaryKey), yProps: [] }
  } catch {
    return undefined
  }
}

/**
 * The `schema` of an answer (protocol.md §10.1). An entry replaces that of the client, so it is
 * repeated as it was sent, with the prefix of the table; `initiallySynced` says that the client now
 * has all rows. `tables` are those that it syncs.
 */
function echoSchema(
  declared: SyncRequest['tables'],
  tables: ReadonlyMap<string, Table>,
): WireObject {
  const schema: WireObject = {}
  for (const [name, { wire }] of declared) {
    const table = tables.get(name)
    const key =
      table?.generated === true ? { generatedGlobalId: true, idPrefix: table.idPrefix } : {}
    setOwn(schema, name, { ...wire, ...key, initiallySynced: table !== undefined })
  }
  return schema
}

// The rows that an operation with criteria reaches: docs/merging.md, "Operations with criteria".

import { accessOf } from '../access/access'
import type { Actor } from '../access/actor'
import {
  type ChangeChunk,
  type ChangePosition,
  type ChunkSize,
  everyChange,
  type IndexLookup,
  type Page,
  type PageEnd,
} from '../store/objects'
import type { RealmRef } from '../store/realms'
import type { Database, ReadTx } from '../store/store'
import type { Table } from '../store/tables'
import { aborted } from '../value/error'
import { encodeKey } from '../value/index-key'
import { keyOf } from '../value/key'
import { sharedTurn } from '../value/turn'
import { parseStored } from '../value/value'
import { type Criteria, compareKeys, satisfies, wireOfKey } from './criteria'
import type { ClientTransaction } from './request'

/** One short read of a look-up. */
const CHUNK: ChunkSize = { rows: 1_000, bytes: 256 * 1024 }
/** The keys of rows that may satisfy the criteria of a transaction, looked up before its unit. */
export interface Candidates {
  /** The revision of the database before the look-up: later changes are looked at again. */
  readonly revision: number
  readonly keysByCriteria: ReadonlyMap<Criteria, readonly string[]>
  /** They are those of one step of an operation, which is kept already. */
  readonly isStep?: boolean
}

/** Does this transaction have criteria that are to be executed? */
export function hasCriteria({ operations }: ClientTransaction): boolean {
  return operations.some(({ action }) => criteriaOf(action) !== undefined)
}

/** The criteria that an operation executes: later chunks, and keys in place of them, have none. */
export function criteriaOf(action: ClientTransaction['operations'][number]['action']) {
  if (action.type !== 'modify' && action.type !== 'delete') return undefined
  const { query } = action
  // The range of a primary key is information about the keys (protocol.md §4.10).
  if (query === undefined || !query.isFirstChunk || query.criteria.index === null) return undefined
  return query.criteria
}

/**
 * Looks up, in short reads, the rows in the realms of the actor that satisfy the criteria of a
 * transaction: inside its unit only they and later changes are left to be tested.
 * Throws `BUSY` when `signal` says that the caller is gone.
 */
export async function findCandidates(
  database: Database,
  actor: Actor,
  { operations }: ClientTransaction,
  signal?: AbortSignal,
): Promise<Candidates> {
  const revision = await database.read((tx) => tx.revision())
  const keysByCriteria = new Map<Criteria, readonly string[]>()
  for (const { table: name, action } of operations) {
    const criteria = criteriaOf(action)
    if (criteria === undefined) continue
    await turnFor(signal)
    const table = await database.read((tx) => tx.tables.find(name))
    if (table === undefined) continue
    const keys =
      (await findByIndex(database, actor, table, criteria, signal)) ??
      (await findByRealm(database, actor, table, criteria, revision, signal))
    keysByCriteria.set(criteria, keys)
  }
  return { revision, keysByCriteria }
}

/** Undefined when no index narrows the table down to these criteria. */
async function findByIndex(
  database: Database,
  actor: Actor,
  table: Table,
  criteria: Criteria,
  signal: AbortSignal | undefined,
): Promise<readonly string[] | undefined> {
  const lookup = lookupFor(table, criteria)
  if (lookup === undefined) return undefined
  const keys: string[] = []
  const multiOf = multiOfIn(table)
  let after: PageEnd | undefined
  do {
    const from: PageEnd | undefined = after
    const page: Page = await database.read((tx) => visiblePage(tx, actor, table, lookup, from))
    for (const { value } of page.rows) {
      const object = parseStored(value)
      const key = keyOf(table, object)
      if (key !== undefined && satisfies(criteria, object, key, multiOf)) keys.push(key)
    }
    after = page.next
    await turnFor(signal)
  } while (after !== undefined)
  return keys
}

/** Lets others have their turns. Throws `BUSY` when the caller is gone. */
async function turnFor(signal: AbortSignal | undefined): Promise<void> {
  await sharedTurn()
  if (signal?.aborted === true) throw aborted()
}

function visiblePage(
  tx: ReadTx,
  actor: Actor,
  table: Table,
  lookup: IndexLookup,
  after: PageEnd | undefined,
): Page {
  const realms = visibleRealms(tx, actor)
  return tx.objects.page(table, { after, size: CHUNK, realms, lookup })
}

function visibleRealms(tx: ReadTx, actor: Actor): ReadonlySet<RealmRef> {
  const { realmRefs, pending } = accessOf(tx, actor)
  return new Set([...realmRefs, ...pending.keys()])
}

/** The look-up that finds all rows of a range, and maybe more; undefined when none does. */
export function lookupFor(table: Table, { index, range }: Criteria): IndexLookup | undefined {
  if (table.primaryKey === null || range.type !== 'range') return undefined
  const declared = table.indexes.find(({ name, state }) => name === index && state === 'ready')
  const { lower, upper } = range
  if (declared === undefined || lower === undefined || upper === undefined) return undefined
  const [from, to] = [encodeKey(wireOfKey(lower)), encodeKey(wireOfKey(upper))]
  // Values of another type, or that no index has, may be between bounds of different types.
  if (from === undefined || to === undefined || from[0] !== to[0]) return undefined
  if (compareKeys(lower, upper) === 0) return { index: declared.number, keys: [from] }
  if (declared.compound) return undefined
  // A key behind all that begin with the bound.
  const end = Uint8Array.from([...to, 0xff])
  return { index: declared.number, keys: [], range: { lower: from, upper: end } }
}

async function findByRealm(
  database: Database,
  actor: Actor,
  table: Table,
  criteria: Criteria,
  upTo: number,
  signal: AbortSignal | undefined,
): Promise<readonly string[]> {
  const keys: string[] = []
  const multiOf = multiOfIn(table)
  for (let after: number | ChangePosition | undefined = 0; after !== undefined;) {
    const from: number | ChangePosition = after
    const chunk: ChangeChunk = await database.read((tx) =>
      tx.objects.changes(visibleRealms(tx, actor), from, upTo, CHUNK, new Set([table.name])),
    )
    for (const { key, object } of chunk.changes) {
      if (object === null) continue
      if (satisfies(criteria, parseStored(object.value), key, multiOf)) keys.push(key)
    }
    after = chunk.next
    if (after !== undefined) await turnFor(signal)
  }
  return keys
}

/** The keys of rows that changed in the actor's realms since the candidates were looked up. */
export function changedKeys(
  tx: ReadTx,
  actor: Actor,
  table: Table,
  since: number,
): readonly string[] {
  const upTo = tx.revision()
  if (upTo === since) return []
  const realms = visibleRealms(tx, actor)
  const changes = everyChange(tx.objects, realms, since, upTo, new Set([table.name]))
  return changes
    .filter(({ object }) => object !== null)
    .map(({ key }) => key)
    .toArray()
}

/** How the indexes of a table treat lists. */
export function multiOfIn(table: Table): (index: string) => boolean | undefined {
  return (name) => table.indexes.find((index) => index.name === name)?.multi
}

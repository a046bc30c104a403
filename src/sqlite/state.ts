import type { InferSelectModel } from 'drizzle-orm'
import type { Realm, RealmRef } from '../domain/store/realms'
import type { Run } from '../domain/store/sync'
import { randomToken } from '../domain/value/id'
import { parseTable } from '../domain/value/schema'
import type { Connection } from './connection'
import { Heads } from './heads'
import { Memo } from './memo'
import type { indexes, tables } from './schema'
import { isSound } from './summed'
import type { IndexState, Table } from '../domain/store/tables'

/** The counters of a database: kept in memory, written once per commit. */
export interface Counters {
  revision: number
  nextSeq: number
  idHighWater: number
  /** Objects, those of built-in tables apart. */
  objects: number
  users: number
}

const MAX_REALMS = 100_000
const MAX_TEXTS = 10_000

/**
 * The known facts of the committed state. They change only in the turn of the event loop in which a
 * commit happens, so a reader sees exactly the data that a statement at the same time sees.
 */
export interface Committed {
  counters: Readonly<Counters>
  /** Bumped by every commit; a read that spans one has awaited something it must not. */
  commits: number
  tables: ReadonlyMap<string, Table>
  sealed: boolean
  /** The id of the run that this opening of the database begins with its first change. */
  readonly run: string
  /** In the order in which they began. */
  runs: readonly Run[]
  /** Removals up to this revision may have been forgotten. */
  oldest: number
  /** No operation with criteria is newer than this revision. */
  newestOperation: number
  erasing: ReadonlySet<RealmRef>
  readonly heads: Heads
  /** False while no object ever left a realm: then inserts need not look for tombstones. */
  hasTombstones: boolean
  /** By table number: no value is longer, in bytes. */
  readonly largest: Map<number, number>
  /** By index number: no key begins with a greater byte. */
  readonly highest: Map<number, number>
  readonly realmsById: Map<string, Realm>
  readonly realmsByRef: Map<RealmRef, Realm>
  /**
   * By the name of a chunk of a list: the hash of its text when the sum of each row was last checked. The
   * same text again need not be checked row by row.
   */
  readonly verified: Map<string, number | bigint>
  /** Values that `remember` has loaded. */
  readonly memo: Memo
}

export function loadCommitted(connection: Connection): Committed {
  const { sealed, oldest, ...counters } = loadNumbers(connection)
  return {
    counters,
    commits: 0,
    tables: loadTables(connection),
    sealed: sealed !== 0,
    run: randomToken(9),
    runs: loadRuns(connection),
    oldest,
    newestOperation: counters.revision,
    erasing: loadErasing(connection),
    heads: new Heads(connection, counters.revision),
    hasTombstones: loadHasTombstones(connection),
    largest: loadLargest(connection),
    highest: loadHighest(connection),
    realmsById: new Map(),
    realmsByRef: new Map(),
    verified: new Map(),
    memo: new Memo(),
  }
}

function loadNumbers(connection: Connection) {
  const row = connection
    .prepare<Counters & { sealed: number; oldest: number }>(
      'SELECT revision, next_seq AS nextSeq, id_high_water AS idHighWater, objects, users, sealed, oldest_revision AS oldest FROM database',
    )
    .get()
  if (row === null) throw new Error('the database row is missing')
  return row
}

export function loadId(connection: Connection): string {
  const row = connection.prepare<{ id: string }>('SELECT id FROM database').get()
  if (row === null) throw new Error('the database row is missing')
  return row.id
}

export function loadSealed(connection: Connection): boolean {
  const row = connection.prepare<{ sealed: number }>('SELECT sealed FROM database').get()
  return row?.sealed !== 0
}

function loadRuns(connection: Connection): Run[] {
  return connection.prepare<Run>('SELECT run AS id, first FROM runs ORDER BY first').all()
}

export function loadErasing(connection: Connection): ReadonlySet<RealmRef> {
  const rows = connection
    .prepare<{ number: number }>("SELECT number FROM realm_ids WHERE state = 'erasing'")
    .all()
  return new Set(rows.map((row) => row.number))
}

export function loadHasTombstones(connection: Connection): boolean {
  return connection.prepare('SELECT 1 FROM tombstones LIMIT 1').get() !== null
}

function loadLargest(connection: Connection): Map<number, number> {
  const rows = connection
    .prepare<{ number: number; largest: number }>('SELECT number, largest FROM tables')
    .all()
  return new Map(rows.map(({ number, largest }) => [number, largest]))
}

function loadHighest(connection: Connection): Map<number, number> {
  const rows = connection
    .prepare<{ number: number; key: Uint8Array | null }>(
      'SELECT number, (SELECT max(key) FROM index_entries WHERE index_number = number) AS key FROM indexes',
    )
    .all()
  return new Map(rows.map(({ number, key }) => [number, key?.[0] ?? 0]))
}

type TableRow = Omit<typeof tables.$inferSelect, 'largest'>
type IndexRow = InferSelectModel<typeof indexes, { dbColumnNames: true }> & { state: IndexState }

export function loadTables(connection: Connection): Map<string, Table> {
  const indexRows = connection
    .prepare<IndexRow>(`${SELECT_INDEXES} WHERE state <> 'dropped' ORDER BY number`)
    .all()
  const indexRowsByTable = Map.groupBy(indexRows, (row) => row.table_number)
  const tableRows = connection.prepare<TableRow>(`${SELECT_TABLES} ORDER BY number`).all()
  return new Map(
    tableRows.map((row) => [row.name, toTable(row, indexRowsByTable.get(row.number) ?? [])]),
  )
}

/** Throws when there is no table with this number. */
export function loadTable(connection: Connection, number: number): Table {
  const row = connection.prepare<TableRow>(`${SELECT_TABLES} WHERE number = ?`).get(number)
  if (row === null) throw new Error(`there is no table with number ${number}`)
  const indexRows = connection
    .prepare<IndexRow>(
      `${SELECT_INDEXES} WHERE table_number = ? AND state <> 'dropped' ORDER BY number`,
    )
    .all(number)
  return toTable(row, indexRows)
}

const SELECT_TABLES =
  'SELECT number, name, primary_key AS primaryKey, compound, generated, id_prefix AS idPrefix, stores, hidden, built_in AS builtIn FROM tables'
const SELECT_INDEXES = 'SELECT number, table_number, name, multi, state, sum FROM indexes'

/** A damaged index is not used. */
function toTable(row: TableRow, rows: readonly IndexRow[]): Table {
  const declared = rows.filter((index) => isSound('indexes', index))
  const schema = declared.length === 0 ? undefined : parseTable(row.name, row.stores)
  return {
    number: row.number,
    name: row.name,
    primaryKey: row.primaryKey === null ? null : (JSON.parse(row.primaryKey) as string[]),
    compound: row.compound === 1,
    generated: row.generated === 1,
    idPrefix: row.idPrefix,
    stores: row.stores,
    hidden: row.hidden === 1,
    builtIn: row.builtIn === 1,
    indexes: declared.flatMap(({ number, name, state }) => {
      const index = schema?.indexes.find((candidate) => candidate.name === name)
      return index === undefined ? [] : [{ ...index, number, state }]
    }),
  }
}

export function memorizeText({ verified }: Committed, name: string, hash: number | bigint): void {
  if (verified.size >= MAX_TEXTS) verified.clear()
  verified.set(name, hash)
}

export function memorizeRealm(committed: Committed, realm: Realm): void {
  if (committed.realmsById.size >= MAX_REALMS) {
    committed.realmsById.clear()
    committed.realmsByRef.clear()
  }
  committed.realmsById.set(realm.id, realm)
  committed.realmsByRef.set(realm.ref, realm)
}

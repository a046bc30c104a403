import type {
  ChangePosition,
  Chunk,
  ChunkSize,
  IndexLookup,
  ObjectReader,
  ObjectText,
  Places,
  StoredObject,
  StoredRow,
} from '../domain/store/objects'
import { note, noteRealm } from './memo'
import { erasing } from './realms'
import {
  firstPositions,
  type FoundRow,
  gather,
  gatherText,
  locate,
  mayWalk,
  READ_BYTES,
  shownRow,
  sizeOf,
  SMALL_VALUE,
} from './places'
import { byKey, find, findText, findTimed, findTombstone } from './object-finder'
import { objectTable } from './tables'
import { changes } from './changes'
import { contents, contentsTogether } from './contents'
import { memorizeText } from './state'
import { isContentSound } from './sum'
import type { TxContext } from './context'
import type { RealmRef } from '../domain/store/realms'
import type { Table } from '../domain/store/tables'

/** A class: every request makes one of these, and methods of a prototype cost nothing then. */
export class ObjectReads<Context extends TxContext = TxContext> implements ObjectReader {
  constructor(protected readonly context: Context) {}

  findText(table: Table, key: string, realms?: ReadonlySet<RealmRef>): ObjectText | undefined {
    return findText(this.context, table, key, realms)
  }

  find(table: Table, key: string): StoredObject | undefined {
    return find(this.context, table, key)
  }

  findMany(table: Table, keys: readonly string[]): Map<string, StoredObject> {
    return byKey(keys, (key) => find(this.context, table, key))
  }

  findTimed(table: Table, keys: readonly string[]) {
    return byKey(keys, (key) => findTimed(this.context, table, key))
  }

  findTombstone(table: Table, key: string, isIncluded?: (realm: RealmRef) => boolean) {
    noteRows(this.context, table)
    return findTombstone(this.context, table, key, isIncluded)
  }

  scan(table: Table, after: number, size: ChunkSize, realms?: ReadonlySet<RealmRef>) {
    noteRows(this.context, table)
    return scan(this.context, table, after, size, realms)
  }

  scanText(table: Table, after: number, size: ChunkSize, realms?: ReadonlySet<RealmRef>) {
    noteRows(this.context, table)
    return scanText(this.context, table, after, size, realms)
  }

  gather(table: Table, after: number, size: ChunkSize, by: Places) {
    noteRows(this.context, table)
    return gather(this.context, table, after, size, by)
  }

  gatherText(table: Table, size: ChunkSize, realms: ReadonlySet<RealmRef>) {
    noteRows(this.context, table)
    return gatherText(this.context, table, size, realms)
  }

  locate(table: Table, after: number, by: Places, most: number) {
    noteRows(this.context, table)
    return locate(this.context, table, after, by, most)
  }

  mayWalk(lookup: IndexLookup) {
    return mayWalk(this.context, lookup)
  }

  walk(
    table: Table,
    after: number,
    size: ChunkSize,
    lookup: IndexLookup,
    realms?: ReadonlySet<RealmRef>,
  ) {
    noteRows(this.context, table)
    return walk(this.context, table, after, size, lookup, realms)
  }

  load(table: Table, positions: Float64Array, size: ChunkSize, realms?: ReadonlySet<RealmRef>) {
    noteRows(this.context, table)
    return load(this.context, table, positions, size, realms)
  }

  realmsMoved(
    realms: ReadonlySet<RealmRef>,
    after: number,
    upTo: number,
    except: ReadonlySet<number>,
  ) {
    const { committed } = this.context
    return committed.heads.movedBesides(realms, after, upTo, except)
  }

  changes(
    realms: ReadonlySet<RealmRef>,
    after: number | ChangePosition,
    upTo: number,
    size: ChunkSize,
    tables?: ReadonlySet<string>,
  ) {
    return changes(this.context, realms, after, upTo, size, tables)
  }

  contents(
    table: Table,
    realm: RealmRef,
    after: number | ChangePosition,
    upTo: number,
    size: ChunkSize,
  ) {
    noteRows(this.context, table)
    return contents(this.context, table, realm, after, upTo, size)
  }

  contentsTogether(table: Table, realms: readonly RealmRef[], upTo: number, size: ChunkSize) {
    noteRows(this.context, table)
    return contentsTogether(this.context, table, realms, upTo, size)
  }

  realmsWith(table: Table, realms: ReadonlySet<RealmRef>) {
    return realmsWith(this.context, table, realms)
  }

  count(table: Table) {
    noteRows(this.context, table)
    return count(this.context, table)
  }

  isRealmUsed(realmId: string) {
    return isRealmUsed(this.context, realmId)
  }
}

function noteRows(context: TxContext, { name, builtIn }: Table): void {
  if (builtIn) note(context, 'rows', name)
}

function realmsWith(
  context: TxContext,
  table: Table,
  realms: ReadonlySet<RealmRef>,
): ReadonlySet<RealmRef> {
  if (table.name === 'roles') for (const realm of realms) noteRealm(context, realm)
  else noteRows(context, table)
  const name = objectTable(table.number)
  const rows = context.connection
    .prepare(
      `SELECT wanted.value FROM json_each(?) AS wanted WHERE EXISTS (SELECT 1 FROM ${name} INDEXED BY ${name}_realm WHERE realm = wanted.value)`,
    )
    .values(JSON.stringify([...realms])) as [number][]
  const hidden = erasing(context)
  return new Set(rows.flatMap(([realm]) => (hidden.has(realm) ? [] : [realm])))
}

function scan(
  context: TxContext,
  table: Table,
  after: number,
  size: ChunkSize,
  realms: ReadonlySet<RealmRef> | undefined,
): Chunk {
  const statement = context.connection.prepare<FoundRow>(
    `SELECT seq, realm, ${realms === undefined ? 'value' : SMALL_VALUE}, sum FROM ${objectTable(table.number)} WHERE seq > ? ORDER BY seq`,
  )
  const hidden = erasing(context)
  const rows: StoredRow[] = []
  // Skipped rows cost time too, so a chunk ends after this many visits.
  let visits = size.rows * 4
  let bytes = size.bytes
  for (const row of statement.iterate(after)) {
    if (!hidden.has(row.realm) && realms?.has(row.realm) !== false) {
      const shown = shownRow(context, table, row)
      rows.push(shown)
      bytes -= sizeOf(shown)
    }
    visits -= 1
    if (rows.length >= size.rows || bytes <= 0 || visits <= 0) return { rows, next: row.seq }
  }
  return { rows, next: undefined }
}

function scanText(
  context: TxContext,
  table: Table,
  after: number,
  size: ChunkSize,
  realms: ReadonlySet<RealmRef> | undefined,
): { text: string; next: number | undefined } | undefined {
  if (realms !== undefined && realms.size !== 1) return undefined
  if (erasing(context).size > 0 || !fitsOneRead(context, table, after, size.rows)) return undefined
  const [realm] = realms ?? []
  const place = `${table.number} ${after} ${size.rows} ${realm ?? ''}`
  const known = context.committed.verified.get(place)
  const chunk = known === undefined ? undefined : joined(context, table, after, size.rows, realm)
  if (chunk !== undefined && Bun.hash.xxHash3(chunk.text) === known) return chunk
  const verified = joinVerified(context, table, after, size.rows, realm)
  if (verified !== undefined) {
    memorizeText(context.committed, place, Bun.hash.xxHash3(verified.text))
  }
  return verified
}

interface JoinedText {
  readonly text: string
  readonly next: number | undefined
}

/** The values of a chunk, joined by the database: at half the cost of reading rows, but no sum is checked. */
function joined(
  context: TxContext,
  table: Table,
  after: number,
  most: number,
  realm: RealmRef | undefined,
): JoinedText | undefined {
  const chosen = realm === undefined ? '' : 'FILTER (WHERE realm = ?3)'
  // The maximum of visited rows, in all realms: a read stays short.
  const row = context.connection
    .prepare<{ text: string | null; rows: number; last: number }>(
      `SELECT group_concat(value, ',') ${chosen} AS text, count(*) AS rows, max(seq) AS last FROM (SELECT seq, value${realm === undefined ? '' : ', realm'} FROM ${objectTable(table.number)} WHERE seq > ?1 ORDER BY seq LIMIT ?2)`,
    )
    .get(after, most, ...(realm === undefined ? [] : [realm]))
  if (row === null) return undefined
  const isEnd = row.rows < most || isLast(context, table, row.last)
  return { text: row.text ?? '', next: isEnd ? undefined : row.last }
}

/** The same with the sum of each row checked; undefined when one is wrong. */
function joinVerified(
  context: TxContext,
  table: Table,
  after: number,
  most: number,
  realm: RealmRef | undefined,
): JoinedText | undefined {
  const value = realm === undefined ? 'value' : 'CASE WHEN realm = ?3 THEN value END AS value'
  const rows = context.connection
    .prepare<{ seq: number; realm: RealmRef; value: string | null; sum: number }>(
      `SELECT seq, realm, ${value}, sum FROM ${objectTable(table.number)} WHERE seq > ?1 ORDER BY seq LIMIT ?2`,
    )
    .all(after, most, ...(realm === undefined ? [] : [realm]))
  const values: string[] = []
  for (const row of rows) {
    if (realm !== undefined && row.realm !== realm) continue
    if (row.value === null || !isContentSound(row.value, row.realm, row.sum)) return undefined
    values.push(row.value)
  }
  const last = rows.at(-1)?.seq ?? 0
  const isEnd = rows.length < most || isLast(context, table, last)
  return { text: values.join(','), next: isEnd ? undefined : last }
}

/** A list that ends with its chunk is sent in one piece. */
function isLast(context: TxContext, table: Table, seq: number): boolean {
  const name = objectTable(table.number)
  return context.connection.prepare(`SELECT 1 FROM ${name} WHERE seq > ? LIMIT 1`).get(seq) === null
}

/** True when the next rows can be read in one go. Most tables only have small values. */
function fitsOneRead(context: TxContext, table: Table, after: number, rows: number): boolean {
  const largest = context.committed.largest.get(table.number) ?? Infinity
  if (rows * largest <= READ_BYTES) return true
  // The size of a value is known without reading it.
  const row = context.connection
    .prepare<{ bytes: number }>(
      `SELECT ifnull(sum(octet_length(value)), 0) AS bytes FROM (SELECT value FROM ${objectTable(table.number)} WHERE seq > ? ORDER BY seq LIMIT ?)`,
    )
    .get(after, rows)
  return row !== null && row.bytes <= READ_BYTES
}

function walk(
  context: TxContext,
  table: Table,
  after: number,
  size: ChunkSize,
  lookup: IndexLookup,
  realms: ReadonlySet<RealmRef> | undefined,
): Chunk | undefined {
  if (!mayWalk(context, lookup)) return undefined
  const positions = firstPositions(context, lookup, after, size.rows + 1)
  const isEnd = positions.length <= size.rows
  const loaded = isEnd ? positions : positions.subarray(0, size.rows)
  const chunk = load(context, table, loaded, size, realms)
  return isEnd || chunk.next !== undefined ? chunk : { ...chunk, next: loaded.at(-1) }
}

function load(
  context: TxContext,
  table: Table,
  positions: Float64Array,
  size: ChunkSize,
  realms: ReadonlySet<RealmRef> | undefined,
): Chunk {
  const statement = context.connection.prepare<FoundRow>(
    `SELECT seq, realm, ${realms === undefined ? 'value' : SMALL_VALUE}, sum FROM ${objectTable(table.number)} WHERE seq = ?`,
  )
  const hidden = erasing(context)
  const rows: StoredRow[] = []
  let bytes = size.bytes
  // Positions without a row cost time too.
  const visited = positions.subarray(0, size.rows * 4)
  const last = positions.at(-1)
  for (const position of realms === undefined ? visited : within(context, table, visited, realms)) {
    const row = statement.get(position)
    if (row !== null && !hidden.has(row.realm) && realms?.has(row.realm) !== false) {
      const shown = shownRow(context, table, row)
      rows.push(shown)
      bytes -= sizeOf(shown)
    }
    if (position !== last && (rows.length >= size.rows || bytes <= 0)) {
      return { rows, next: position }
    }
  }
  return { rows, next: visited.length < positions.length ? visited.at(-1) : undefined }
}

/** Those of the positions that are in the realms: a row of another one is not read for that. */
function within(
  { connection }: TxContext,
  table: Table,
  positions: Float64Array,
  realms: ReadonlySet<RealmRef>,
): Float64Array {
  if (positions.length < 2) return positions
  const places = connection
    .prepare(
      `SELECT seq, realm FROM json_each(?) AS wanted CROSS JOIN ${objectTable(table.number)} ON seq = wanted.value`,
    )
    .values(`[${positions.join(',')}]`) as [number, RealmRef][]
  const found: number[] = []
  for (const [seq, realm] of places) if (realms.has(realm)) found.push(seq)
  return Float64Array.from(found)
}

function count(context: TxContext, table: Table): number {
  const name = objectTable(table.number)
  const total = (sql: string, ...parameters: number[]) =>
    context.connection.prepare<{ total: number }>(sql).get(...parameters)?.total ?? 0
  let visible = total(`SELECT count(*) AS total FROM ${name}`)
  for (const realm of erasing(context)) {
    visible -= total(`SELECT count(*) AS total FROM ${name} WHERE realm = ?`, realm)
  }
  return visible
}

function isRealmUsed(context: TxContext, realmId: string): boolean {
  const { connection } = context
  const incarnations = connection
    .prepare<{ number: number }>("SELECT number FROM realm_ids WHERE id = ? AND state <> 'erased'")
    .all(realmId)
  const tables = connection.prepare<{ number: number }>('SELECT number FROM tables').all()
  return incarnations.some(({ number: realm }) => {
    const has = (sql: string) => connection.prepare(sql).get(realm) !== null
    return (
      has('SELECT 1 FROM tombstones WHERE realm = ? LIMIT 1') ||
      tables.some(({ number }) =>
        has(`SELECT 1 FROM ${objectTable(number)} WHERE realm = ? LIMIT 1`),
      )
    )
  })
}

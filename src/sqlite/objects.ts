import type { RealmRef } from '../domain/realm'
import type { Chunk, ChunkSize, ObjectReader, StoredObject, StoredRow } from '../domain/store'
import type { Table } from '../domain/table'
import { locate } from './locate'
import { objectTable } from './object-table'
import { loadErasing } from './state'
import type { Scope } from './tx'

const COLUMNS = 'seq, key, realm, owner, revision, value'

export function objectReader(scope: Scope): ObjectReader {
  return {
    find: (table, key) => find(scope, table, key),
    findMany(table, keys) {
      const found = new Map<string, StoredObject>()
      for (const key of keys) {
        const object = find(scope, table, key)
        if (object !== undefined) found.set(key, object)
      }
      return found
    },
    scan: (table, after, size, realms) => scan(scope, table, after, size, realms),
    scanText: (table, after, size, realms) => scanText(scope, table, after, size, realms),
    gather: (table, after, size, realms) => gather(scope, table, after, size, realms),
    locate: (table, after, by) => locate(scope, table, after, by),
    load: (table, positions, size) => load(scope, table, positions, size),
    count: (table) => count(scope, table),
    isRealmUsed: (realmId) => isRealmUsed(scope, realmId),
  }
}

/** Realms whose rows are on their way out: not there for anyone (design.md §4). */
export function erasing(scope: Scope): ReadonlySet<RealmRef> {
  return scope.unit?.group.realmsTouched === true
    ? loadErasing(scope.connection)
    : scope.committed.erasing
}

function find(scope: Scope, table: Table, key: string): StoredObject | undefined {
  const row = scope.connection
    .prepare<StoredObject>(`SELECT ${COLUMNS} FROM ${objectTable(table.number)} WHERE key = ?`)
    .get(key)
  return row === null || erasing(scope).has(row.realm) ? undefined : row
}

function scan(
  scope: Scope,
  table: Table,
  after: number,
  size: ChunkSize,
  realms: ReadonlySet<RealmRef> | undefined,
): Chunk {
  const statement = scope.connection.prepare<StoredRow>(
    `SELECT seq, realm, value FROM ${objectTable(table.number)} WHERE seq > ? ORDER BY seq`,
  )
  const hidden = erasing(scope)
  const rows: StoredRow[] = []
  // Rows that are passed over cost time too: a chunk ends after so many of them.
  let visits = size.rows * 4
  let bytes = size.bytes
  for (const row of statement.iterate(after)) {
    if (!hidden.has(row.realm) && realms?.has(row.realm) !== false) {
      rows.push(row)
      bytes -= row.value.length
    }
    visits -= 1
    if (rows.length >= size.rows || bytes <= 0 || visits <= 0) return { rows, next: row.seq }
  }
  return { rows, next: undefined }
}

/** What one text may weigh at the most, in bytes, before rows are taken one by one. */
const MOST_TEXT = 8 * 1024 * 1024

function scanText(
  scope: Scope,
  { number }: Table,
  after: number,
  size: ChunkSize,
  realms: ReadonlySet<RealmRef> | undefined,
): { text: string; next: number | undefined } | undefined {
  const heaviest = size.rows * (scope.committed.largest.get(number) ?? Infinity)
  const [realm, another] = realms ?? []
  if (heaviest > MOST_TEXT || another !== undefined || erasing(scope).size > 0) return undefined
  const name = objectTable(number)
  const within = realm === undefined ? '' : 'AND realm = ?3'
  const row = scope.connection
    .prepare<{ text: string | null; rows: number; last: number }>(
      `SELECT group_concat(value, ',') AS text, count(*) AS rows, max(seq) AS last FROM (SELECT seq, value FROM ${name} WHERE seq > ?1 ${within} ORDER BY seq LIMIT ?2)`,
    )
    .get(...(realm === undefined ? [after, size.rows] : [after, size.rows, realm]))
  if (row === null) return undefined
  return { text: row.text ?? '', next: row.rows < size.rows ? undefined : row.last }
}

function gather(
  scope: Scope,
  { number }: Table,
  after: number,
  size: ChunkSize,
  realms: ReadonlySet<RealmRef>,
): StoredRow[] | undefined {
  if (size.rows * (scope.committed.largest.get(number) ?? Infinity) > MOST_TEXT) return undefined
  const name = objectTable(number)
  const statement = scope.connection.prepare<StoredRow>(
    `SELECT seq, realm, value FROM ${name} INDEXED BY ${name}_realm WHERE realm = ? AND seq > ? LIMIT ?`,
  )
  const hidden = erasing(scope)
  const rows: StoredRow[] = []
  for (const realm of realms) {
    if (hidden.has(realm)) continue
    rows.push(...statement.all(realm, after, size.rows + 1 - rows.length))
    if (rows.length > size.rows) return undefined
  }
  return rows.sort((one, other) => one.seq - other.seq)
}

function load(scope: Scope, table: Table, positions: Float64Array, size: ChunkSize): Chunk {
  const statement = scope.connection.prepare<StoredRow>(
    `SELECT seq, realm, value FROM ${objectTable(table.number)} WHERE seq = ?`,
  )
  const hidden = erasing(scope)
  const rows: StoredRow[] = []
  let bytes = size.bytes
  const last = positions.at(-1)
  for (const position of positions) {
    const row = statement.get(position)
    if (row !== null && !hidden.has(row.realm)) {
      rows.push(row)
      bytes -= row.value.length
    }
    if (position !== last && (rows.length >= size.rows || bytes <= 0)) {
      return { rows, next: position }
    }
  }
  return { rows, next: undefined }
}

function count(scope: Scope, table: Table): number {
  const row = scope.connection
    .prepare<{ total: number }>(`SELECT count(*) AS total FROM ${objectTable(table.number)}`)
    .get()
  return row?.total ?? 0
}

function isRealmUsed(scope: Scope, realmId: string): boolean {
  const { connection } = scope
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

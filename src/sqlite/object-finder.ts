import type { ObjectText, StoredObject, TimedObject, Tombstone } from '../domain/store/objects'
import type { RealmRef } from '../domain/store/realms'
import type { Table } from '../domain/store/tables'
import type { TxContext } from './context'
import { note, noteRealm } from './memo'
import { type FoundRow, SMALL_VALUE, whole } from './located-rows'
import { erasing } from './realms'
import { checkedObject, checkedText, checkedTimed, type Summed } from './soundness'
import { damagedObject } from './sum'
import { COLUMNS, perTable, TIMED_COLUMNS } from './tables'

/**
 * Finds a row by its key. The index on keys may be damaged, so `key` must be read from the row: SQLite reads
 * it from the index when that is the way to the row, hence the inner query.
 */
function byOwnKey(columns: string): (table: Table) => string {
  return perTable(
    (name) => `SELECT ${columns} FROM ${name} WHERE seq = (SELECT seq FROM ${name} WHERE key = ?1)`,
  )
}

const selectText = byOwnKey('realm, value, sum, key = ?1 AS isFound')
const selectSmallText = byOwnKey(`realm, ${SMALL_VALUE}, sum, key = ?1 AS isFound`)
const selectWhole = byOwnKey(COLUMNS)
const selectValue = perTable((name) => `SELECT value FROM ${name} WHERE key = ?`)
const selectTimed = perTable((name) => `SELECT ${TIMED_COLUMNS} FROM ${name} WHERE key = ?`)
const selectSmallTimed = perTable(
  (name) =>
    `SELECT ${TIMED_COLUMNS.replace(' value,', ` ${SMALL_VALUE},`)} FROM ${name} WHERE key = ?`,
)

/** A row whose value is null when it is large. */
type Cut<Row> = Omit<Row, 'value'> & FoundRow

/** `ObjectReader.findText`. */
export function findText(
  context: TxContext,
  table: Table,
  key: string,
  realms: ReadonlySet<RealmRef> | undefined,
): ObjectText | undefined {
  const select = realms === undefined ? selectText : selectSmallText
  const found = context.connection.prepare<TextRow>(select(table)).get(key)
  const row = shown(context, table, key, found)
  if (row === undefined) return undefined
  if (row.isFound !== 1) throw damagedObject(table.name, key)
  if (hasValue(row)) return checkedText(table.name, key, row)
  if (isWithheld(row, realms)) return { realm: row.realm, value: '' }
  const large = context.connection.prepare<{ value: string }>(selectValue(table)).get(key)
  return checkedText(table.name, key, { ...row, value: large?.value ?? '' })
}

/** `value` is null when it is large and `isFound` 1 when the row has the key that it was found by. */
interface TextRow {
  readonly realm: RealmRef
  readonly value: string | null
  readonly sum: number
  readonly isFound: number
}

/** `ObjectReader.find`. */
export function find(context: TxContext, table: Table, key: string): StoredObject | undefined {
  const found = context.connection.prepare<Summed<StoredObject>>(selectWhole(table)).get(key)
  const row = shown(context, table, key, found)
  return row && checkedObject(table, key, row)
}

/** `ObjectReader.findMany` of one key; a large value of a realm that is not among these is left out. */
export function findTimed(
  context: TxContext,
  table: Table,
  key: string,
  realms?: ReadonlySet<RealmRef>,
): TimedObject | undefined {
  const select = realms === undefined ? selectTimed : selectSmallTimed
  const found = context.connection.prepare<Cut<TimedObject>>(select(table)).get(key)
  const row = shown(context, table, key, found)
  if (row === undefined) return undefined
  if (row.key !== key) throw damagedObject(table.name, key)
  if (isWithheld(row, realms)) return { ...row, value: '' }
  return checkedTimed(table.name, whole(context, table, row))
}

/** The row that was found by this key, unless its realm is being erased. */
function shown<Row extends { readonly realm: RealmRef }>(
  context: TxContext,
  table: Table,
  key: string,
  row: Row | null,
): Row | undefined {
  const isThere = row !== null && !erasing(context).has(row.realm)
  noteRow(context, table, key, isThere ? row.realm : undefined)
  return isThere ? row : undefined
}

/**
 * Notes that the row of a built-in table was looked up; `realm` is where it is, if it is there. Roles
 * are noted by their realm, because thousands may count in one value.
 */
function noteRow(
  context: TxContext,
  { name, builtIn }: Table,
  key: string,
  realm: RealmRef | undefined,
): void {
  if (!builtIn || context.loads.length === 0) return
  if (name === 'roles' && realm !== undefined) noteRealm(context, realm)
  else note(context, 'row', `${name} ${key}`)
}

function hasValue(row: TextRow): row is TextRow & { readonly value: string } {
  return row.value !== null
}

/** True for a large value of another realm, which stays in the database. */
function isWithheld(
  row: Pick<FoundRow, 'realm' | 'value'>,
  realms: ReadonlySet<RealmRef> | undefined,
): boolean {
  return row.value === null && realms?.has(row.realm) === false
}

/** The objects that exist among these keys, by key. */
export function byKey<T>(
  keys: readonly string[],
  find: (key: string) => T | undefined,
): Map<string, T> {
  const found = new Map<string, T>()
  for (const key of keys) {
    const object = find(key)
    if (object !== undefined) found.set(key, object)
  }
  return found
}

/** `ObjectReader.findTombstone`. */
export function findTombstone(
  context: TxContext,
  table: Table,
  key: string,
  isIncluded: (realm: RealmRef) => boolean = () => true,
): Tombstone | undefined {
  const { committed, unit } = context
  if (!committed.hasTombstones && unit?.group.flags.tombstones !== true) return undefined
  const rows = context.connection
    .prepare<Tombstone>(
      'SELECT realm, revision, at, client, entered FROM tombstones WHERE table_number = ? AND key = ?',
    )
    .all(table.number, key)
  const hidden = erasing(context)
  return (
    rows
      .filter(({ realm }) => !hidden.has(realm) && isIncluded(realm))
      // One of the moves of a unit that removes the object in the end is as new, and knows less.
      .toSorted((one, other) => other.revision - one.revision || one.entered - other.entered)[0]
  )
}

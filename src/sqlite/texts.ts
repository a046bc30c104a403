import type { RealmRef } from '../domain/store/realms'
import type { Table } from '../domain/store/tables'
import type { TxContext } from './context'
import { type FoundRow, inRealms, listOf, READ_BYTES, whole } from './located-rows'
import { erasing } from './realms'
import { memorizeText } from './state'
import { isContentSound } from './sum'
import { objectTable } from './tables'

/** Values with commas between them, and the position to go on after. */
export interface JoinedText {
  readonly text: string
  readonly next: number | undefined
}

/**
 * The values among the next `most` rows after `after`, those of one realm if it is named; undefined when they are not
 * to be had in one go. The same text again needs no look at its rows: their sums were right.
 */
export function textFrom(
  context: TxContext,
  table: Table,
  after: number,
  most: number,
  realm?: RealmRef,
): JoinedText | undefined {
  if (erasing(context).size > 0 || !fitsOneRead(context, table, after, most)) return undefined
  const name = `${table.number} ${after} ${most} ${realm ?? ''}`
  const known = context.committed.verified.get(name)
  const chunk = known === undefined ? undefined : joined(context, table, after, most, realm)
  if (chunk !== undefined && Bun.hash.xxHash3(chunk.text) === known) return chunk
  const verified = joinVerified(context, table, after, most, realm)
  if (verified !== undefined) {
    memorizeText(context.committed, name, Bun.hash.xxHash3(verified.text))
  }
  return verified
}

/** Joined by the database: at half the cost of reading rows, but no sum is checked. */
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

/** `joined` with the sum of each row checked; undefined when one is wrong. */
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

/** The text that `textOfRows` has made of the rows of realms, if they are the same. */
export function knownText(
  context: TxContext,
  table: Table,
  most: number,
  realms: ReadonlySet<RealmRef>,
): string | undefined {
  if (!isLight(context, table, most)) return undefined
  const list = listOf(context, realms)
  const known = context.committed.verified.get(nameOfText(table, list))
  if (known === undefined) return undefined
  const text = joinedOf(context, table, most, list)
  return text !== undefined && Bun.hash.xxHash3(text) === known ? text : undefined
}

/** The values of all rows of realms, in their order; undefined when they are too large or one is damaged. */
export function textOfRows(
  context: TxContext,
  table: Table,
  most: number,
  realms: ReadonlySet<RealmRef>,
  rows: readonly FoundRow[],
): string | undefined {
  const values: string[] = []
  let left = READ_BYTES
  for (const row of rows) {
    const { value, realm, sum } = whole(context, table, row)
    left -= value.length
    if (left < 0 || !isContentSound(value, realm, sum)) return undefined
    values.push(value)
  }
  const text = values.join(',')
  if (isLight(context, table, most)) {
    const name = nameOfText(table, listOf(context, realms))
    memorizeText(context.committed, name, Bun.hash.xxHash3(text))
  }
  return text
}

function isLight({ committed }: TxContext, { number }: Table, most: number): boolean {
  return (most + 1) * (committed.largest.get(number) ?? Infinity) <= READ_BYTES
}

function nameOfText({ number }: Table, list: string): string {
  return `${number} of ${list.length < MAX_LIST_CHARACTERS ? list : Bun.hash.xxHash3(list)}`
}

/** A longer list of realms, in characters, is known by its hash. */
const MAX_LIST_CHARACTERS = 100

/**
 * Joined by the database, no sum checked; undefined when there are more than `most` rows. SQLite visits the
 * members of an IN in their order, and sorting the values themselves would take three times as long.
 */
function joinedOf(
  context: TxContext,
  table: Table,
  most: number,
  list: string,
): string | undefined {
  const row = context.connection
    .prepare<{ text: string | null; total: number }>(
      `SELECT group_concat(value, ',') AS text, count(*) AS total FROM ${objectTable(table.number)} WHERE seq IN (SELECT seq ${inRealms(table)} LIMIT ?2)`,
    )
    .get(list, most + 1)
  return row === null || row.total > most ? undefined : (row.text ?? '')
}

import type { ObjectText, StoredObject, StoredRow, TimedObject } from '../domain/store/objects'
import type { RealmRef } from '../domain/store/realms'
import type { Table } from '../domain/store/tables'
import type { TxContext } from './context'
import { damagedObject, isContentSound, isHeadSound } from './sum'
import { objectTable } from './tables'

/** A row as it was selected, with its sum. */
export type Summed<Row> = Row & { readonly sum: number }

/** The realm of an object when it is not certain; no realm has this number. */
export const UNKNOWN_REALM: RealmRef = 0

/** A row of a list: one whose value cannot be read if its sum is wrong. */
export function checkedRow(context: TxContext, table: Table, row: Summed<StoredRow>): StoredRow {
  if (isContentSound(row.value, row.realm, row.sum)) return row
  const found = context.connection
    .prepare<{ key: string }>(`SELECT key FROM ${objectTable(table.number)} WHERE seq = ?`)
    .get(row.seq)
  return unreadable(row, table.name, found?.key ?? '')
}

/** An object that was found by its key, for its readers. */
export function checkedText(table: string, key: string, row: Summed<ObjectText>): ObjectText {
  return isContentSound(row.value, row.realm, row.sum) ? row : unreadable(row, table, key)
}

/** An object that was found by its key, to be read. Throws `DAMAGED` when the index led to another. */
export function checkedObject(table: Table, key: string, row: Summed<StoredObject>): StoredObject {
  if (row.key !== key) throw damagedObject(table.name, key)
  return isContentSound(row.value, row.realm, row.sum) ? row : unreadable(row, table.name, key)
}

/** An object with its history. The sum tells of realm and owner, who may write it, whether they are certain. */
export function checkedTimed(table: string, row: Summed<TimedObject>): TimedObject {
  const isContent = isContentSound(row.value, row.realm, row.sum)
  const isHead = isHeadSound(row, row.sum)
  if (isContent && isHead) return row
  const realm = isContent || isHead ? row.realm : UNKNOWN_REALM
  return unreadable(isHead ? row : { ...row, realm, owner: null, stamps: null }, table, row.key)
}

/** The row without its value: reading that throws `DAMAGED`. */
function unreadable<Row extends ObjectText>(row: Row, table: string, key: string): Row {
  return Object.defineProperty({ ...row, isDamaged: true }, 'value', {
    enumerable: true,
    get(): string {
      throw damagedObject(table, key)
    },
  })
}

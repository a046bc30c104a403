import { indexEntries } from './index-key'
import type { IndexEntry } from './store'
import type { Table } from './table'
import { type WireObject, parseStored } from './value'

const NONE: readonly IndexEntry[] = []

/** The entries an object has in the declared indexes of its table. */
export function entriesOf(table: Table, object: WireObject): readonly IndexEntry[] {
  if (table.indexes.length === 0) return NONE
  return table.indexes.flatMap((index) =>
    indexEntries(index, object).map((key) => ({ index: index.number, key })),
  )
}

/** The same for a stored value, parsed only when there is an index. */
export function storedEntries(table: Table, value: string): readonly IndexEntry[] {
  return table.indexes.length === 0 ? NONE : entriesOf(table, parseStored(value))
}

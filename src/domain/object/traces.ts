import type { IndexEntry, StoredObject, Traces } from '../store/objects'
import { indexEntries } from '../value/index-key'
import { type WireObject, parseStored } from '../value/value'
import { blobsIn, mentionsBlobs } from '../value/blob'
import type { Table } from '../store/tables'

const NONE: readonly never[] = []

/**
 * The entries of an object in the indexes of a store. Its properties are read only if they are
 * needed.
 */
export function tracesOf(
  table: Table,
  { text, object }: { readonly text: string; readonly object: () => WireObject },
): Traces {
  return {
    entries: table.indexes.length === 0 ? NONE : entriesOf(table, object()),
    blobs: mentionsBlobs(text) ? blobsIn(object()) : NONE,
  }
}

/** The same for a stored value, which is parsed only if it has index entries or references. */
export function storedTraces(table: Table, value: string): Traces {
  let parsed: WireObject | undefined
  return tracesOf(table, { text: value, object: () => (parsed ??= parseStored(value)) })
}

/** The traces of an object that is replaced or removed; none of a damaged one, whose value is lost. */
export function tracesBefore(table: Table, previous: StoredObject): Traces {
  if (previous.isDamaged === true) return { entries: NONE, blobs: NONE }
  return storedTraces(table, previous.value)
}

/** The entries an object has in the declared indexes of its table. */
export function entriesOf(table: Table, object: WireObject): readonly IndexEntry[] {
  return table.indexes.flatMap((index) =>
    indexEntries(index, object).map((key) => ({ index: index.number, key })),
  )
}

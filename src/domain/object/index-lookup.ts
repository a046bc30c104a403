import type { ChunkSize, IndexLookup, StoredRow } from '../store/objects'
import type { ReadTx } from '../store/store'
import { type Filter, matches } from './filter'
import { ARRAY_RANGE, candidateKeys, isCutKey } from '../value/index-key'
import { parseStored } from '../value/value'
import type { Table, TableIndex } from '../store/tables'

/** What an index knows of the rows that pass the filters. */
export interface Found {
  /** Filters that each row is still to be held against. */
  readonly filters: readonly Filter[]
  /** Where the candidates are, ascending; undefined when they are in `rows`. */
  readonly positions: Float64Array | undefined
  readonly rows: readonly StoredRow[] | undefined
}

/** Lets the first index that narrows the table down answer its filter; undefined when none does. */
export async function findByIndex(
  tx: ReadTx,
  table: Table,
  after: number,
  size: ChunkSize,
  filters: readonly Filter[],
): Promise<Found | undefined> {
  for (const filter of filters) {
    const index = indexFor(table, filter)
    if (index === undefined) continue
    const rows = await findRows(tx, table, after, size, filter, index)
    if (rows !== undefined) {
      return { rows, positions: undefined, filters: filters.filter((other) => other !== filter) }
    }
    const positions = await tx.objects.locate(table, after, { lookup: lookupOf(index, filter) })
    if (positions !== undefined) return { positions, rows: undefined, filters }
  }
  return undefined
}

/** The rows that pass this one filter, when they are few. */
async function findRows(
  tx: ReadTx,
  table: Table,
  after: number,
  size: ChunkSize,
  filter: Filter,
  index: TableIndex,
): Promise<readonly StoredRow[] | undefined> {
  const { keys, range } = lookupOf(index, filter)
  const isMatch = (row: StoredRow) => matches([filter], parseStored(row.value))
  const equal = await tx.objects.gather(table, after, size, {
    lookup: { index: index.number, keys },
  })
  if (equal === undefined) return undefined
  const exact = keys.some(isCutKey) ? equal.filter(isMatch) : equal
  if (range === undefined) return exact
  const arrays = await tx.objects.gather(table, after, size, {
    lookup: { index: index.number, keys: [], range },
  })
  if (arrays === undefined || exact.length + arrays.length > size.rows) return undefined
  if (arrays.length === 0) return exact
  return [...exact, ...arrays.filter(isMatch)].toSorted((one, other) => one.seq - other.seq)
}

/** Without `*` an array is indexed whole, and one of its elements may match. */
function lookupOf(index: TableIndex, filter: Filter): IndexLookup {
  const keys = filter.texts.flatMap(candidateKeys)
  return { index: index.number, keys, ...(index.multi ? {} : { range: ARRAY_RANGE }) }
}

function indexFor(table: Table, { path }: Filter): TableIndex | undefined {
  return table.indexes.find(
    (index) => index.state === 'ready' && !index.compound && index.paths[0] === path,
  )
}

import type { Filter } from './filter'
import { ARRAY_RANGE, candidateKeys, isCutKey } from './index-key'
import type { ReadTx } from './store'
import type { Table, TableIndex } from './table'

/** Rows that an index knows to be candidates. */
export interface Found {
  /** Ascending. */
  readonly positions: Float64Array
  /** The filters that each row is still to be held against. */
  readonly filters: readonly Filter[]
}

/** Lets the first index that narrows the table down answer its filter; undefined when none does. */
export async function findByIndex(
  tx: ReadTx,
  table: Table,
  after: number,
  filters: readonly Filter[],
): Promise<Found | undefined> {
  for (const filter of filters) {
    const index = indexFor(table, filter)
    const found = index && (await findOne(tx, table, after, filter, index))
    if (found === undefined) continue
    const { positions, isSettled } = found
    return { positions, filters: isSettled ? filters.filter((other) => other !== filter) : filters }
  }
  return undefined
}

async function findOne(
  tx: ReadTx,
  table: Table,
  after: number,
  filter: Filter,
  index: TableIndex,
): Promise<{ positions: Float64Array; isSettled: boolean } | undefined> {
  const keys = filter.texts.flatMap(candidateKeys)
  const { number } = index
  const equal = await tx.objects.locate(table, after, { lookup: { index: number, keys } })
  // Without `*` an array is indexed whole, and one of its elements may match.
  const arrays = index.multi
    ? new Float64Array()
    : await tx.objects.locate(table, after, {
        lookup: { index: number, keys: [], range: ARRAY_RANGE },
      })
  if (equal === undefined || arrays === undefined) return undefined
  if (arrays.length === 0) return { positions: equal, isSettled: !keys.some(isCutKey) }
  return {
    positions: Float64Array.from(new Set([...equal, ...arrays])).toSorted(),
    isSettled: false,
  }
}

function indexFor(table: Table, { path }: Filter): TableIndex | undefined {
  return table.indexes.find(
    (index) => index.state === 'ready' && !index.compound && index.paths[0] === path,
  )
}

import { SatchelError, quoted } from '../value/error'
import type { ReadTx } from '../store/store'
import type { Table } from '../store/tables'

/** Throws `UNKNOWN_TABLE` for a table that was never declared or is hidden. */
export async function requireTable(tx: ReadTx, name: string): Promise<Table> {
  const table = await tx.tables.find(name)
  if (table !== undefined && !table.hidden) return table
  throw new SatchelError(
    'UNKNOWN_TABLE',
    `There is no table ${quoted(name)}: declare it with satchel schema push, for example {${quoted(name)}: "@id"}`,
  )
}

import type { TxContext, WriteContext } from './context'
import type { Unit } from './unit'

/** How many rows are removed between two turns of others. */
const SLICE = 256

/**
 * Removes rows of a table, however many: some now, and the others before their table is used again or the unit ends,
 * with turns for others between. `remove` removes up to `limit` and returns how many it removed.
 */
export function removeRows(
  { connection, committed, unit }: WriteContext,
  table: string,
  remove: (context: WriteContext, limit: number) => number,
): void {
  payRows({ unit }, table)
  // The transaction of the caller may be over when the rest goes.
  const context = { connection, committed, unit, loads: [] }
  const removeSome = () => remove(context, SLICE) === SLICE
  if (removeSome()) unit.owed.removals = [...unit.owed.removals, { table, removeSome }]
}

/** Removes the rows of a table, or of all, that the unit owes. Called before they are read or written. */
export function payRows({ unit }: Pick<TxContext, 'unit'>, table?: string): void {
  if (unit === undefined || unit.owed.removals.length === 0) return
  for (const _ of payingRows(unit, table));
}

/** The same in slices. */
export function* payingRows({ owed }: Unit, table?: string): Generator<void> {
  for (const removal of owed.removals) {
    if (table !== undefined && removal.table !== table) continue
    while (removal.removeSome()) yield
    owed.removals = owed.removals.filter((other) => other !== removal)
  }
}

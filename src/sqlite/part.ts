import type { Connection } from './connection'
import type { WriteContext } from './context'
import { payEntries } from './entries'
import { lostTransaction, type Unit } from './unit'

/** A part of the transaction that is kept or undone. One of the two is called, once. */
export interface Part {
  /** Throws what ended the unit or lost the transaction: then the part is to be undone. */
  keep(): void
  /** Returns the error to throw: once the transaction is lost, the reason of that. */
  undo(error: unknown): unknown
}

/** Begins a part that can be undone alone. Savepoints nest: two parts side by side would end each other's. */
export function beginPart(context: WriteContext): Part {
  const { connection, unit } = context
  // Undoing the part forgets what is owed.
  unit.owed.payRows()
  payEntries(context)
  const before = unit.mark()
  connection.prepare('SAVEPOINT part').run()
  unit.depth += 1
  const { depth } = unit
  return {
    keep() {
      if (unit.ended !== undefined) throw unit.ended
      keepPart(connection)
      unit.depth -= 1
    },
    undo(error) {
      // The whole unit is undone, maybe already: its savepoints are no longer those of this part.
      if (unit.ended !== undefined && depth > 1) return error
      unit.restore(before)
      while (unit.depth > depth) {
        undoPart(connection, unit, error)
        unit.depth -= 1
      }
      unit.depth -= 1
      return undoPart(connection, unit, error)
    },
  }
}

/**
 * Begins a unit that has no savepoint of its own, which would cost a tenth of a small one: when it fails
 * after its first change, the whole transaction is undone.
 */
export function beginUndivided({ connection, unit }: WriteContext): Part {
  const before = connection.changing()
  unit.depth += 1
  return {
    keep() {
      if (unit.ended !== undefined) throw unit.ended
      if (!connection.db.inTransaction) throw lostTransaction()
    },
    undo(error) {
      const { db, prepare, changing } = connection
      const isUnchanged = changing() === before && !unit.hasChanges
      if (!isUnchanged && db.inTransaction) prepare('ROLLBACK').run()
      return error
    },
  }
}

function keepPart({ db, prepare }: Connection): void {
  if (!db.inTransaction) throw lostTransaction()
  prepare('RELEASE part').run()
}

/**
 * Undoes the part, alone if that is possible and with the whole transaction if not. The result
 * is to be thrown: once the transaction is lost, the reason of that.
 */
function undoPart({ db, prepare }: Connection, unit: Unit, error: unknown): unknown {
  try {
    if (db.inTransaction) {
      prepare('ROLLBACK TO part').run()
      prepare('RELEASE part').run()
    }
  } catch {
    if (db.inTransaction) prepare('ROLLBACK').run()
  }
  if (db.inTransaction) return error
  unit.loss ??= error
  return unit.loss
}

import type { Connection } from './connection'
import { type Unit, lostTransaction } from './group'

/** Begins a part of the transaction that can be undone alone. */
export function beginPart({ prepare }: Connection): void {
  prepare('SAVEPOINT part').run()
}

export function keepPart({ db, prepare }: Connection): void {
  if (!db.inTransaction) throw lostTransaction()
  prepare('RELEASE part').run()
}

/**
 * Undoes what the part did, alone if that is possible and with the whole transaction if not. What
 * comes back is to be thrown: once the transaction is lost, the reason of that.
 */
export function undoPart({ db, prepare }: Connection, unit: Unit, error: unknown): unknown {
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

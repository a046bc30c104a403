import type { Awaitable } from '../domain/store/store'
import type { Connection } from './connection'
import { type Unit, lostTransaction } from './group'

/**
 * Runs a part of the transaction that can be undone alone: when `work` throws, its changes are gone.
 * Savepoints nest: two parts side by side would end each other's.
 */
export async function runPart<T>(
  connection: Connection,
  unit: Unit,
  work: () => Awaitable<T>,
): Promise<T> {
  const before = unit.mark()
  connection.prepare('SAVEPOINT part').run()
  try {
    const result = await work()
    keepPart(connection)
    return result
  } catch (error) {
    unit.restore(before)
    throw undoPart(connection, unit, error)
  }
}

function keepPart({ db, prepare }: Connection): void {
  if (!db.inTransaction) throw lostTransaction()
  prepare('RELEASE part').run()
}

/**
 * Undoes what the part did, alone if that is possible and with the whole transaction if not. What
 * comes back is to be thrown: once the transaction is lost, the reason of that.
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

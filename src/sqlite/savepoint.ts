import type { Awaitable } from '../domain/store'
import type { Connection } from './connection'
import { type Unit, lostTransaction } from './group'

/** Runs `work` in a savepoint: when it throws, what it did is gone and the transaction goes on. */
export async function inSavepoint<T>(
  connection: Connection,
  unit: Unit,
  work: () => Awaitable<T>,
): Promise<T> {
  const { db, prepare } = connection
  const rewind = unit.mark()
  prepare('SAVEPOINT part').run()
  try {
    const result = await work()
    if (!db.inTransaction) throw lostTransaction()
    prepare('RELEASE part').run()
    return result
  } catch (error) {
    rewind()
    undo(connection)
    if (db.inTransaction) throw error
    unit.loss ??= error
    throw unit.loss
  }
}

/** What cannot be undone alone is undone with everything else. */
function undo({ db, prepare }: Connection): void {
  if (!db.inTransaction) return
  try {
    prepare('ROLLBACK TO part').run()
    prepare('RELEASE part').run()
  } catch {
    if (db.inTransaction) prepare('ROLLBACK').run()
  }
}

import { type Unit, lostTransaction } from './group'
import type { Connection } from './connection'
import type { Committed } from './state'

/**
 * What every noun of a transaction is given. Both throw once the transaction is over, when a commit
 * came in between two steps of a read, and when SQLite ended the transaction under a unit, whose
 * next statement would otherwise be stored on its own.
 */
export interface Scope<U extends Unit | undefined = Unit | undefined> {
  readonly connection: Connection
  /** What is known of the committed state. */
  readonly committed: Committed
  /** Undefined on reads. */
  readonly unit: U
}

export type WriteScope = Scope<Unit>

export interface OpenScope<U extends Unit | undefined> {
  readonly scope: Scope<U>
  /** Makes every further use of the scope an error. */
  readonly end: () => void
  readonly requireAlive: () => void
}

export function openScope<U extends Unit | undefined>(
  connection: Connection,
  committed: Committed,
  unit: U,
): OpenScope<U> {
  const begun = committed.commits
  let isOver = false

  function requireAlive(): void {
    if (isOver) throw new Error('this transaction is over: its work must not outlive it')
    if (committed.commits !== begun) {
      throw new Error('a commit came in between: the work awaited something besides its tx')
    }
    if (unit !== undefined && !connection.db.inTransaction) throw unit.loss ?? lostTransaction()
  }

  return {
    scope: {
      get connection() {
        requireAlive()
        return connection
      },
      get committed() {
        requireAlive()
        return committed
      },
      unit,
    },
    end() {
      isOver = true
    },
    requireAlive,
  }
}

import { type Unit, lostTransaction } from './unit'
import type { Connection } from './connection'
import type { Facts } from './memo'
import type { Committed } from './state'

/** The transaction as its readers and writers see it. */
export interface TxContext<U extends Unit | undefined = Unit | undefined> {
  readonly connection: Connection
  /** The cached part of the committed state. */
  readonly committed: Committed
  /** Undefined on reads. */
  readonly unit: U
  /** One for each value that is being loaded: reads are noted in all of them. */
  readonly loads: readonly Facts[]
}

export type WriteContext = TxContext<Unit>

const NO_LOADS: readonly Facts[] = []

/**
 * The connection and the committed state throw once the transaction is over, when a commit came between
 * two steps of a read, and when SQLite ended the transaction under a unit, whose next statement
 * would otherwise commit on its own.
 */
export class GuardedContext<U extends Unit | undefined> implements TxContext<U> {
  readonly #connection: Connection
  readonly #committed: Committed
  readonly #begun: number
  #isOver = false
  readonly unit: U
  loads: readonly Facts[] = NO_LOADS

  constructor(connection: Connection, committed: Committed, unit: U) {
    this.#connection = connection
    this.#committed = committed
    this.#begun = committed.commits
    this.unit = unit
  }

  get connection(): Connection {
    this.requireAlive()
    return this.#connection
  }

  get committed(): Committed {
    this.requireAlive()
    return this.#committed
  }

  /** Makes every further use of the transaction an error. */
  end(): void {
    this.#isOver = true
  }

  requireAlive(): void {
    if (this.#isOver) throw new Error('this transaction is over: its work must not outlive it')
    if (this.#committed.commits !== this.#begun) {
      throw new Error('a commit came in between: the work awaited something besides its tx')
    }
    const { unit } = this
    if (unit === undefined) return
    if (unit.ended !== undefined) throw unit.ended
    if (!this.#connection.db.inTransaction) throw unit.loss ?? lostTransaction()
    unit.uses += 1
  }
}

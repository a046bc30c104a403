import type { Connection } from './connection'
import type { Unit } from './group'
import { openScope, type Scope } from './scope'
import type { Committed } from './state'

/** What reading and writing transactions share. */
export abstract class BaseTx<U extends Unit | undefined> {
  protected readonly scope: Scope<U>
  /** Makes every further use of the transaction an error. */
  readonly end: () => void
  protected readonly requireAlive: () => void

  constructor(connection: Connection, committed: Committed, unit: U) {
    const { scope, end, requireAlive } = openScope(connection, committed, unit)
    this.scope = scope
    this.end = end
    this.requireAlive = requireAlive
  }
}

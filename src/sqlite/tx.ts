import type { Ids } from '../domain/id'
import type {
  Awaitable,
  MembershipReader,
  MembershipWriter,
  ObjectReader,
  ObjectWriter,
  ReadTx,
  RealmReader,
  RealmWriter,
  TableReader,
  TableWriter,
  WriteTx,
} from '../domain/store'
import type { RealmRef } from '../domain/realm'
import { nextTurn } from '../domain/turn'
import type { Connection } from './connection'
import { membershipReader, membershipWriter } from './memberships'
import { objectReader } from './objects'
import { objectWriter } from './object-writer'
import { realmReader, realmWriter } from './realms'
import { reader, writer } from './records'
import { refreshTokenReader, refreshTokenWriter } from './refresh-tokens'
import { clients, jobs, keys, origins, users } from './schema'
import { type Committed, type Counters, memorize } from './state'
import { tableReader, tableWriter } from './tables'

/** What every noun of a transaction is given: a connection while it lives, and what is known. */
export interface Scope {
  /** Throws once the transaction is over, or when a commit came in between two statements. */
  readonly connection: Connection
  readonly committed: Committed
  /** Undefined on reads. */
  readonly unit: Unit | undefined
}

/** What the units of one group share: they commit together. */
export interface Group {
  readonly counters: Counters
  readonly realms: Set<RealmRef>
  /** The sets below say which committed knowledge this group must not rely on any more. */
  policyTouched: boolean
  tablesTouched: boolean
  realmsTouched: boolean
  jobsTouched: boolean
  /** By table number, for tables that got a longer value than they had. */
  readonly largest: Map<number, number>
  /** True once this group left a tombstone. */
  buried: boolean
}

/** One unit of work inside a group. */
export interface Unit {
  readonly group: Group
  /** This unit's revision, taken when it first changes something (design.md §3). */
  revision(): number
}

abstract class BaseTx {
  protected readonly scope: Scope

  constructor(connection: Connection, committed: Committed, unit: Unit | undefined) {
    const begun = committed.commits
    let isOver = false
    this.end = () => {
      isOver = true
    }
    this.scope = {
      get connection() {
        if (isOver) throw new Error('this transaction is over: its work must not outlive it')
        if (committed.commits !== begun) {
          throw new Error('a commit came in between: the work awaited something besides its tx')
        }
        return connection
      },
      committed,
      unit,
    }
  }

  /** Makes every further use of the transaction an error. */
  readonly end: () => void
}

export class SqliteReadTx extends BaseTx implements ReadTx {
  #tables: TableReader | undefined
  #objects: ObjectReader | undefined
  #realms: RealmReader | undefined
  #memberships: MembershipReader | undefined

  constructor(connection: Connection, committed: Committed) {
    super(connection, committed, undefined)
  }

  get revision() {
    return this.scope.committed.counters.revision
  }

  remember<T>(name: string, load: () => Awaitable<T>): Awaitable<T> {
    const { committed } = this.scope
    if (committed.memo.has(name)) return committed.memo.get(name) as T
    const loaded = load()
    if (loaded instanceof Promise) {
      return loaded.then((value) => {
        memorize(committed, name, value)
        return value
      })
    }
    memorize(committed, name, loaded)
    return loaded
  }

  get tables() {
    return (this.#tables ??= tableReader(this.scope))
  }
  get objects() {
    return (this.#objects ??= objectReader(this.scope))
  }
  get realms() {
    return (this.#realms ??= realmReader(this.scope))
  }
  get memberships() {
    return (this.#memberships ??= membershipReader(this.scope))
  }
  get users() {
    return reader(this.scope, users)
  }
  get clients() {
    return reader(this.scope, clients)
  }
  get keys() {
    return reader(this.scope, keys)
  }
  get refreshTokens() {
    return refreshTokenReader(this.scope)
  }
  get origins() {
    return reader(this.scope, origins)
  }
  get jobs() {
    return reader(this.scope, jobs)
  }
}

/** How long a unit may run before `breathe` lets others in, ms. */
const BREATH = 4

export class SqliteWriteTx extends BaseTx implements WriteTx {
  readonly #group: Group
  readonly #ids: Ids
  #tables: TableWriter | undefined
  #objects: ObjectWriter | undefined
  #realms: RealmWriter | undefined
  #memberships: MembershipWriter | undefined
  #breathed = performance.now()

  constructor(connection: Connection, committed: Committed, unit: Unit, ids: Ids) {
    super(connection, committed, unit)
    this.#group = unit.group
    this.#ids = ids
  }

  get revision() {
    return this.#group.counters.revision
  }

  /** Only what is committed may be remembered, and only while this group has not changed it. */
  remember<T>(name: string, load: () => Awaitable<T>): Awaitable<T> {
    const { memo } = this.scope.committed
    if (!this.#group.policyTouched && memo.has(name)) return memo.get(name) as T
    return load()
  }

  newId(prefix: string, realmId: string): string {
    const id = this.#ids.newId(prefix, realmId)
    this.#group.counters.idHighWater = this.#ids.highWater
    return id
  }

  async attempt<T>(work: () => Awaitable<T>): Promise<T> {
    const { connection } = this.scope
    connection.prepare('SAVEPOINT part').run()
    try {
      const result = await work()
      this.scope.connection.prepare('RELEASE part').run()
      return result
    } catch (error) {
      if (connection.db.inTransaction) {
        connection.prepare('ROLLBACK TO part').run()
        connection.prepare('RELEASE part').run()
      }
      throw error
    }
  }

  async breathe(): Promise<void> {
    if (performance.now() - this.#breathed < BREATH) return
    await nextTurn()
    this.#breathed = performance.now()
  }

  get tables() {
    return (this.#tables ??= tableWriter(this.scope))
  }
  get objects() {
    return (this.#objects ??= objectWriter(this.scope))
  }
  get realms() {
    return (this.#realms ??= realmWriter(this.scope))
  }
  get memberships() {
    return (this.#memberships ??= membershipWriter(this.scope))
  }
  get users() {
    return writer(this.scope, users)
  }
  get clients() {
    return writer(this.scope, clients)
  }
  get keys() {
    return writer(this.scope, keys)
  }
  get refreshTokens() {
    return refreshTokenWriter(this.scope)
  }
  get origins() {
    return writer(this.scope, origins)
  }
  get jobs() {
    return writer(this.scope, jobs)
  }
}

import type { MembershipReader, MembershipWriter } from '../domain/store/people'
import type { BlobReader, BlobWriter } from '../domain/store/blobs'
import type { ObjectReader, ObjectWriter } from '../domain/store/objects'
import type {
  Awaitable,
  ReadTx,
  RealmReader,
  RealmWriter,
  TableReader,
  TableWriter,
  WriteTx,
} from '../domain/store/store'
import { nextTurn } from '../domain/value/turn'
import { BaseTx } from './base-tx'
import { blobReader, blobWriter } from './blobs'
import { codeReader, codeWriter } from './codes'
import type { Connection } from './connection'
import type { Unit } from './group'
import { invitationReader, invitationWriter } from './invitations'
import { loginReader, loginWriter } from './logins'
import { mailReader, mailWriter } from './mails'
import { membershipReader, membershipWriter } from './memberships'
import { objectReader } from './objects'
import { objectWriter } from './object-writer'
import { realmReader, realmWriter } from './realms'
import { reader, writer } from './records'
import { refreshTokenReader, refreshTokenWriter } from './refresh-tokens'
import { clients, jobs, keys, origins, providers, settings } from './schema'
import { runPart } from './savepoint'
import { type Committed, memorize } from './state'
import { tableReader, tableWriter } from './tables'
import { timeReader, timeWriter } from './time'
import { userReader, userWriter } from './users'

export class SqliteReadTx extends BaseTx<undefined> implements ReadTx {
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
    const { commits } = committed
    const keep = (value: T): T => {
      // Loading may have awaited something else: then the value may be one of an earlier policy.
      if (committed.commits === commits) memorize(committed, name, value)
      return value
    }
    const loaded = load()
    return loaded instanceof Promise ? loaded.then(keep) : keep(loaded)
  }

  get tables() {
    return (this.#tables ??= tableReader(this.scope))
  }
  get objects() {
    return (this.#objects ??= objectReader(this.scope))
  }
  get blobs(): BlobReader {
    return blobReader(this.scope)
  }
  get realms() {
    return (this.#realms ??= realmReader(this.scope))
  }
  get memberships() {
    return (this.#memberships ??= membershipReader(this.scope))
  }
  get users() {
    return userReader(this.scope)
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
  get codes() {
    return codeReader(this.scope)
  }
  get invitations() {
    return invitationReader(this.scope)
  }
  get mails() {
    return mailReader(this.scope)
  }
  get origins() {
    return reader(this.scope, origins)
  }
  get settings() {
    return reader(this.scope, settings)
  }
  get providers() {
    return reader(this.scope, providers)
  }
  get logins() {
    return loginReader(this.scope)
  }
  get time() {
    return timeReader(this.scope)
  }
  get jobs() {
    return reader(this.scope, jobs)
  }
}

/** How long a unit may run before `breathe` lets others in, ms. */
const BREATH = 4

export class SqliteWriteTx extends BaseTx<Unit> implements WriteTx {
  readonly #onBreath: () => void
  #tables: TableWriter | undefined
  #objects: ObjectWriter | undefined
  #realms: RealmWriter | undefined
  #memberships: MembershipWriter | undefined
  #breathed = performance.now()
  #parts = 0

  /** `onBreath` is called in each turn that the unit leaves to others. */
  constructor(connection: Connection, committed: Committed, unit: Unit, onBreath: () => void) {
    super(connection, committed, unit)
    this.#onBreath = onBreath
  }

  get revision() {
    this.requireAlive()
    return this.scope.unit.group.counters.revision
  }

  /** Only what is committed may be remembered, and only while this group has not changed it. */
  remember<T>(name: string, load: () => Awaitable<T>): Awaitable<T> {
    const { memo } = this.scope.committed
    if (!this.scope.unit.group.policyTouched && memo.has(name)) return memo.get(name) as T
    return load()
  }

  newId(prefix: string, realmId: string): string {
    this.requireAlive()
    const { group, ids } = this.scope.unit
    const id = ids.newId(prefix, realmId)
    group.counters.idHighWater = ids.highWater
    return id
  }

  async attempt<T>(work: () => Awaitable<T>): Promise<T> {
    const { connection, unit } = this.scope
    this.#parts += 1
    const part = this.#parts
    try {
      return await runPart(connection, unit, async () => {
        const result = await work()
        if (this.#parts !== part) throw new Error('the parts of a unit run one after another')
        return result
      })
    } finally {
      this.#parts = part - 1
    }
  }

  async breathe(): Promise<void> {
    this.requireAlive()
    if (performance.now() - this.#breathed < BREATH) return
    await nextTurn()
    this.#onBreath()
    this.#breathed = performance.now()
  }

  get tables() {
    return (this.#tables ??= tableWriter(this.scope))
  }
  get objects() {
    return (this.#objects ??= objectWriter(this.scope))
  }
  get blobs(): BlobWriter {
    return blobWriter(this.scope)
  }
  get realms() {
    return (this.#realms ??= realmWriter(this.scope))
  }
  get memberships() {
    return (this.#memberships ??= membershipWriter(this.scope))
  }
  get users() {
    return userWriter(this.scope)
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
  get codes() {
    return codeWriter(this.scope)
  }
  get invitations() {
    return invitationWriter(this.scope)
  }
  get mails() {
    return mailWriter(this.scope)
  }
  get origins() {
    return writer(this.scope, origins)
  }
  get settings() {
    return writer(this.scope, settings)
  }
  get providers() {
    return writer(this.scope, providers)
  }
  get logins() {
    return loginWriter(this.scope)
  }
  get time() {
    return timeWriter(this.scope)
  }
  get jobs() {
    return writer(this.scope, jobs)
  }
}

import type { ReadTx, Renewal, WriteTx } from '../domain/store/store'
import { auditReader, auditWriter } from './audit'
import { blobReader, blobWriter } from './blobs'
import type { Connection } from './connection'
import { GuardedContext, type TxContext, type WriteContext } from './context'
import { loginReader, loginWriter } from './logins'
import { mailReader, mailWriter } from './mails'
import { membershipReader, membershipWriter } from './memberships'
import { ObjectWrites } from './object-writer'
import { ObjectReads } from './objects'
import { RealmReads, RealmWrites } from './realms'
import { CLIENTS, JOBS, KEYS, ORIGINS, PROVIDERS, records, SETTINGS } from './records'
import { forgetAddress, PRUNERS } from './prune'
import { fact, Facts, type Memory } from './memo'
import type { Committed } from './state'
import { CriteriaOperationReads, CriteriaOperationWrites } from './criteria-operations'
import { AppliedReads, AppliedWrites } from './applied'
import { RunReads, syncClientReader, syncClientWriter } from './sync'
import { TableReads, TableWrites } from './tables'
import type { Group } from './group'
import { beginPart } from './part'
import type { Unit } from './unit'
import type { Prunable } from '../domain/store/records'
import { userReader, userWriter } from './users'

/** Loaded on demand: its query builder takes longer to load than the rest of the engine. */
const credentials = () => require('./credentials') as typeof import('./credentials')

type Noun = Exclude<keyof ReadTx, 'revision' | 'latestTime' | 'remember'>
type Readers = Pick<ReadTx, Noun>
type Writers = Pick<WriteTx, Noun>

/** The reader of a noun, and its writer. */
type Makers<N extends Noun> = readonly [
  reader: (context: TxContext) => Readers[N],
  writer: (context: WriteContext) => Writers[N],
]

const NOUNS: { readonly [N in Noun]: Makers<N> } = {
  tables: [(context) => new TableReads(context), (context) => new TableWrites(context)],
  objects: [(context) => new ObjectReads(context), (context) => new ObjectWrites(context)],
  blobs: [blobReader, blobWriter],
  realms: [(context) => new RealmReads(context), (context) => new RealmWrites(context)],
  memberships: [membershipReader, membershipWriter],
  users: [userReader, userWriter],
  clients: records(CLIENTS),
  keys: records(KEYS),
  refreshTokens: [
    (context) => credentials().refreshTokenReader(context),
    (context) => credentials().refreshTokenWriter(context),
  ],
  codes: [
    (context) => credentials().codeReader(context),
    (context) => credentials().codeWriter(context),
  ],
  invitations: [
    (context) => credentials().invitationReader(context),
    (context) => credentials().invitationWriter(context),
  ],
  mails: [mailReader, mailWriter],
  origins: records(ORIGINS),
  settings: records(SETTINGS),
  providers: records(PROVIDERS),
  logins: [loginReader, loginWriter],
  jobs: records(JOBS),
  runs: [(context) => new RunReads(context), (context) => new RunReads(context)],
  syncClients: [syncClientReader, syncClientWriter],
  applied: [(context) => new AppliedReads(context), (context) => new AppliedWrites(context)],
  criteriaOps: [
    (context) => new CriteriaOperationReads(context),
    (context) => new CriteriaOperationWrites(context),
  ],
  audit: [auditReader, auditWriter],
}

/** The shared parts of transactions, besides their nouns. */
interface Tx<U extends Unit | undefined> {
  revision(): number
  latestTime(): number
  /** Makes every further use of the transaction an error. */
  end(): void
  readonly context: GuardedContext<U>
}

/** A transaction with a getter for each noun, whose reader (0) or writer (1) is made when it is first asked for. */
function txWith<U extends Unit | undefined>(which: 0 | 1) {
  // One class: constructors that only pass their parameters on take long, and each request makes two.
  class WithNouns implements Tx<U> {
    readonly context: GuardedContext<U>
    /** The nouns that were asked for, by name. */
    readonly made: Record<string, unknown> = {}

    constructor(connection: Connection, committed: Committed, unit: U) {
      this.context = new GuardedContext(connection, committed, unit)
    }

    revision(): number {
      const { committed, unit } = this.context
      return (unit?.group ?? committed).counters.revision
    }

    latestTime(): number {
      const select = 'SELECT latest_time AS time FROM database'
      return this.context.connection.prepare<{ time: number }>(select).get()!.time
    }

    end(): void {
      this.context.end()
    }
  }
  for (const [noun, makers] of Object.entries(NOUNS)) {
    const make = makers[which] as (context: TxContext<U>) => unknown
    Object.defineProperty(WithNouns.prototype, noun, {
      get(this: WithNouns) {
        return (this.made[noun] ??= make(this.context))
      },
    })
  }
  // The compiler does not see the getters.
  return WithNouns as unknown as new (
    connection: Connection,
    committed: Committed,
    unit: U,
  ) => Tx<U> & (U extends Unit ? Writers : Readers)
}

export class SqliteReadTx extends txWith<undefined>(0) implements ReadTx {
  constructor(connection: Connection, committed: Committed) {
    super(connection, committed, undefined)
  }

  remember<T, A, B>(name: string, load: (one: A, other: B) => T, one?: A, other?: B): T {
    const { context } = this
    const known = context.committed.memo.find(name)
    if (known !== undefined) return recall(context, known) as T
    return rememberForAll(context, name, load.bind(undefined, one as A, other as B))
  }
}

export class SqliteWriteTx extends txWith<Unit>(1) implements WriteTx {
  /**
   * Committed values count as long as this group has changed nothing that they were loaded from. A
   * value that is loaded here counts for the group, and for everybody once it is committed.
   */
  remember<T, A, B>(name: string, load: (one: A, other: B) => T, one?: A, other?: B): T {
    const { context } = this
    const { group } = context.unit
    const known = group.memo.find(name) ?? unchanged(group, context.committed.memo.find(name))
    if (known !== undefined) return recall(context, known) as T
    return rememberForGroup(context, name, load.bind(undefined, one as A, other as B))
  }

  renewal<T>(name: string): Renewal<T> | undefined {
    const { context } = this
    const { group } = context.unit
    const known = group.memo.find(name) ?? unchanged(group, context.committed.memo.find(name))
    if (known === undefined) return undefined
    return {
      value: known.value as T,
      keep: (follow) => rememberForGroup(context, name, follow, known.facts),
    }
  }

  unitRevision(): number {
    this.context.requireAlive()
    return this.context.unit.nextRevision()
  }

  newId(prefix: string, realmId: string): string {
    this.context.requireAlive()
    const { group, ids } = this.context.unit
    const id = ids.newId(prefix, realmId)
    group.counters.idHighWater = ids.highWater
    return id
  }

  setLatestTime(time: number): void {
    this.context.connection.prepare('UPDATE database SET latest_time = ?').run(time)
  }

  prune(kind: Prunable, before: number, limit: number): number {
    return PRUNERS[kind](this.context, before, limit)
  }

  forgetAddress(address: string): void {
    forgetAddress(this.context, address)
  }

  attempt<T>(work: () => T): T {
    const { context } = this
    const part = beginPart(context)
    try {
      const result = work()
      part.keep()
      return result
    } catch (error) {
      throw part.undo(error)
    }
  }
}

function unchanged({ changed }: Group, known: Memory | undefined): Memory | undefined {
  if (known === undefined || changed.size === 0) return known
  return known.facts.meets(changed) ? undefined : known
}

/** A value that is loaded from a remembered one depends on its facts. */
function recall({ loads }: TxContext, known: Memory): unknown {
  for (const facts of loads) facts.add(known.facts)
  return known.value
}

function rememberForAll<T>(context: GuardedContext<undefined>, name: string, load: () => T): T {
  const { committed } = context
  return loaded(context, load, (memory) => {
    committed.memo.set(name, memory)
  })
}

function rememberForGroup<T>(
  context: GuardedContext<Unit>,
  name: string,
  load: () => T,
  earlier?: Facts,
): T {
  const { group } = context.unit
  const { policyChanges } = group
  return loaded(context, load, (memory) => {
    if (earlier !== undefined) memory.facts.add(earlier)
    // The unit may have changed policy, or undone a change, while the value was loaded.
    if (group.policyChanges === policyChanges) group.memo.set(name, memory)
  })
}

/** Loads a value and keeps it with the facts that the transaction read meanwhile. */
function loaded<T>(
  context: GuardedContext<Unit | undefined>,
  load: () => T,
  keep: (memory: Memory) => void,
): T {
  const facts = new Facts()
  facts.named.add(fact('everything'))
  const { loads } = context
  context.loads = [...loads, facts]
  let value: T
  try {
    value = load()
  } finally {
    context.loads = loads
  }
  keep({ value, facts })
  return value
}

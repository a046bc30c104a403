// A transaction of a client under way: its rights, its rows, its place in time. docs/merging.md,
// "Transactions".

import type { Access, UnitAccess } from '../access/access'
import type { Actor } from '../access/actor'
import type { WriteLimits } from '../object/limits'
import { type RulesByTable, type Writing, writingInView } from '../object/writing'
import { IMPORTED_REALM_RULES } from '../rows/realm-rows'
import type { Realm } from '../store/realms'
import type { WriteTx } from '../store/store'
import type { SyncClient } from '../store/sync'
import type { Table } from '../store/tables'
import type { Candidates } from './candidates'
import type { Authorship, Unseen } from './merge'
import type { NamedKeys } from './named-keys'
import type { Overlay, Row } from './overlay'
import type { Replays } from './kept'
import type { ClientTransaction, Operation } from './request'

/** The changes of one request (protocol.md §4.2). */
export interface Push {
  readonly actor: Actor & { readonly subject: string }
  readonly client: SyncClient
  /** The client has had no answer yet. */
  readonly isFirst: boolean
  readonly transactions: readonly ClientTransaction[]
  /** The revision that the client had seen at an operation; undefined when it cannot be placed. */
  readonly baseOf: (operation: Operation) => number | undefined
  /** ms. */
  readonly now: number
  readonly rulesByTable: RulesByTable
  /**
   * False when the client cannot foresee what becomes of its rows, though it applied what it sent: with a realm that
   * it deletes go objects that it never listed. Then the answer has every row that the request names.
   */
  readonly isSure: boolean
  /** Of one object; those of a whole request do not count. */
  readonly limits: WriteLimits
  /** Ends what is not committed: the caller is gone. */
  readonly signal?: AbortSignal | undefined
  /** Called after each unit of a large request, which frees its objects: a good time to collect garbage. */
  readonly relieve?: (() => void) | undefined
}

/** The clock of a client, as far as the server believes it. */
export interface ClientClock {
  /** No operation gets an earlier time, ms. It rises with each of them. */
  floor: number
  /** The latest time that the client itself gave to one of them, ms. */
  latestGiven: number
}

export interface OwnedRealm {
  readonly realm: Realm
  readonly owner: string
}

/** One transaction of a client under way. */
export interface Execution {
  /** That of the unit under way: a large transaction is prepared in several. */
  tx: WriteTx
  /** The revision of its changes. */
  readonly revision: number
  readonly push: Push
  readonly clock: ClientClock
  /** The rights that the actor held before, and full rights in realms that were created since. */
  access: Access
  /** `access` as a copy that this unit may change, once there is one: a user may be in thousands of realms. */
  unitAccess: UnitAccess | undefined
  readonly overlay: Overlay
  readonly names: NamedKeys
  /** The rows that changed since the candidates were looked up count too. */
  readonly candidates: Candidates | undefined
  /** The realms that the transaction makes, by id. */
  readonly newRealms: Map<string, Realm>
  /** The realms whose owners need a row of `members` in the end. */
  readonly owned: OwnedRealm[]
  /** The revision in which this request last wrote a row. */
  readonly written: WrittenRows
  readonly replays: Replays
  /**
   * The answer may delete keys of which neither a row nor a tombstone is newer than its operations: objects
   * that the client adds there before it has the answer are deleted too, and must be sent back.
   */
  mayDelete: boolean
  /** Operations with criteria that others had sent have changed rows of it. */
  isReplayed: boolean
}

/** The revisions in which a request wrote rows. */
export class WrittenRows {
  /** The revisions of rows that this part alone wrote, by table number and key. */
  #own = new Map<number, Map<string, number>>()
  #revisions = new Set<number>()
  /** By table number and key. */
  #unseen = new Map<string, Unseen>()

  /** Begins a part, which reads through to those that were written `before` it. */
  constructor(readonly before?: WrittenRows) {}

  get(table: Table, key: string): number | undefined {
    return this.#own.get(table.number)?.get(key) ?? this.before?.get(table, key)
  }

  set(table: Table, key: string, revision: number): void {
    this.#revisions.add(revision)
    const rows = this.#own.get(table.number)
    if (rows === undefined) this.#own.set(table.number, new Map([[key, revision]]))
    else rows.set(key, revision)
  }

  /** True for a revision in which it wrote one. */
  includes(revision: number): boolean {
    return this.#revisions.has(revision) || this.before?.includes(revision) === true
  }

  /** The revisions of this part alone. */
  get revisions(): ReadonlySet<number> {
    return this.#revisions
  }

  /** What its client has not seen of a row, as a copy. */
  unseenOf(table: Table, key: string): Unseen | undefined {
    const own = this.#unseen.size === 0 ? undefined : this.#unseen.get(`${table.number} ${key}`)
    return own === undefined ? this.before?.unseenOf(table, key) : { ...own }
  }

  noteUnseen(table: Table, key: string, said: Unseen): void {
    this.#unseen.set(`${table.number} ${key}`, said)
  }

  /** Takes over what a part has noted that has succeeded, and that is not used afterwards. */
  append(part: WrittenRows): void {
    if (this.#revisions.size === 0 && this.#unseen.size === 0) {
      this.#own = part.#own
      this.#revisions = part.#revisions
      this.#unseen = part.#unseen
      return
    }
    for (const [name, said] of part.#unseen) this.#unseen.set(name, said)
    for (const [table, added] of part.#own) {
      const rows = this.#own.get(table)
      if (rows === undefined) this.#own.set(table, added)
      else for (const [key, revision] of added) rows.set(key, revision)
    }
    for (const revision of part.#revisions) this.#revisions.add(revision)
  }
}

/** The authorship of an operation, as far as it concerns one row. */
export function authorshipOf(execution: Execution, operation: Operation, row: Row): Authorship {
  const { revision, push, written } = execution
  row.unseen ??= written.unseenOf(row.table, row.key)
  return {
    ts: timeOf(execution, operation),
    base: push.baseOf(operation),
    written,
    client: push.client.number,
    revision,
    row,
  }
}

/** Notes that a deletion by criteria of its client removed the row, which the client still has. */
export function noteGone({ written }: Execution, row: Row): void {
  row.unseen = { ...(row.unseen ?? written.unseenOf(row.table, row.key)), isGone: true }
  written.noteUnseen(row.table, row.key, row.unseen)
}

/** The client itself has removed the row now: what it puts there later is a new one. */
export function forgetGone({ written }: Execution, row: Row): void {
  const unseen = row.unseen ?? written.unseenOf(row.table, row.key)
  if (unseen?.isGone !== true) return
  delete unseen.isGone
  row.unseen = unseen
  written.noteUnseen(row.table, row.key, unseen)
}

/** The corrected time of an operation, ms. */
function timeOf({ push, clock }: Execution, { ts }: Operation): number {
  return ts === undefined ? push.now : Math.max(ts, clock.floor)
}

/**
 * The time of an operation with criteria, ms. Others of its transaction have the same time, and must
 * count as earlier or later when it is replayed without them: it comes between them.
 */
export function timeByCriteria(execution: Execution, operation: Operation): number {
  const time = Math.round(timeOf(execution, operation) * 1_000 + 1) / 1_000
  execution.clock.floor = Math.max(execution.clock.floor, Math.round(time * 1_000 + 1) / 1_000)
  return time
}

/** True when nobody else has changed or removed the row after this base; without one, ever. */
export function isSeen({ written }: Execution, row: Row, base: number | undefined): boolean {
  return row.latest <= (base ?? 0) || row.latest === written.get(row.table, row.key)
}

export function writingOf({ tx, push, access, newRealms }: Execution, table: Table): Writing {
  const { actor, now } = push
  const rulesByTable = table.builtIn ? rulesOfTransactions(push) : push.rulesByTable
  const writing = writingInView(tx, { actor, view: 'my', now, rulesByTable }, table, access)
  return newRealms.size === 0 ? writing : { ...writing, newRealms }
}

/** The owner of a new realm gets a row of `members` at the end, unless the transaction has one. */
function rulesOfTransactions({ rulesByTable }: Push): RulesByTable {
  return new Map([...rulesByTable, ['realms', IMPORTED_REALM_RULES]])
}

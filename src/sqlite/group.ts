import type { Connection } from './connection'
import { stepText } from './log-file'
import {
  type Committed,
  type Counters,
  loadErasing,
  loadHasTombstones,
  loadSealed,
  loadTables,
} from './state'
import { ChangedFacts, Memo } from './memo'
import type { Realm, RealmRef } from '../domain/store/realms'
import type { CommitUnit } from '../domain/store/store'
import type { Run } from '../domain/store/sync'
import type { Table } from '../domain/store/tables'

/** The shared state of the units of one transaction: they commit together. */
export interface Group {
  readonly counters: Counters
  readonly flags: GroupFlags
  /** The changes of its units, in the order of their revisions. */
  readonly units: UnitChanges[]
  /** By table number, for tables that got a longer value than they had. */
  readonly largest: Map<number, number>
  /** By index number, for indexes that got a key with a greater first byte than they had. */
  readonly highest: Map<number, number>
  /** The policy that its units have changed. */
  readonly changed: ChangedFacts
  /** Values loaded by its units: of the policy as it is now, uncommitted changes included. */
  readonly memo: Memo
  /** Realms that it has marked as erasing. */
  readonly ended: Realm[]
  /** Files that blobs had their bytes in. */
  readonly leftFiles: string[]
  /** How often its policy changed, or went back to what it was. */
  policyChanges: number
  /** The group's own view, loaded when it is first needed after a change. */
  tables: Map<string, Table> | undefined
  sealed: boolean | undefined
  erasing: ReadonlySet<RealmRef> | undefined
  /** The kept history as the group sees it, loaded in the same way. */
  runs: readonly Run[] | undefined
  oldest: number | undefined
  /** The newest revision of an operation with criteria that the group keeps. */
  newestOperation: number | undefined
  /** How many realms the log of their heads names at the end of the group. */
  logged: number
}

/** The writer of a unit, as its commit names it. */
export type Writer = Pick<CommitUnit, 'programPart' | 'subject' | 'client'>

/** The changes of a unit, which its commit announces. Entries may repeat. */
export interface UnitChanges extends Writer {
  readonly revision: number
  realms: RealmRef[]
  tables: string[]
  subjects: string[]
  records: string[]
}

/**
 * What the group changed. The first two make committed knowledge stale: for this group at once, for
 * everybody after its commit.
 */
export interface GroupFlags {
  tables: boolean
  /** A realm is being erased, or was. */
  realms: boolean
  /** A user or the rest of a realm was erased: the log is not to keep their bytes. */
  erased: boolean
  jobs: boolean
  mails: boolean
  /** True when a tombstone was written. */
  tombstones: boolean
}

export function beginGroup(committed: Committed): Group {
  return {
    counters: { ...committed.counters },
    flags: {
      tables: false,
      realms: false,
      erased: false,
      jobs: false,
      mails: false,
      tombstones: false,
    },
    units: [],
    largest: new Map(),
    highest: new Map(),
    changed: new ChangedFacts(),
    memo: new Memo(),
    ended: [],
    leftFiles: [],
    policyChanges: 0,
    tables: undefined,
    sealed: undefined,
    erasing: undefined,
    runs: undefined,
    oldest: undefined,
    newestOperation: undefined,
    logged: 0,
  }
}

/** Writes the group's counters and loads what its commit publishes, inside its transaction. */
export function sealGroup(connection: Connection, committed: Committed, group: Group): void {
  const { counters, flags } = group
  if (!isSame(counters, committed.counters)) {
    connection
      .prepare(
        'UPDATE database SET revision = ?, next_seq = ?, id_high_water = ?, objects = ?, users = ?, step = ?',
      )
      .run(
        counters.revision,
        counters.nextSeq,
        counters.idHighWater,
        counters.objects,
        counters.users,
        stepText(committed.counters.revision, counters.revision),
      )
  }
  if (counters.revision !== committed.counters.revision) beginRun(connection, committed, group)
  group.logged = committed.heads.log(connection, group.units)
  const grow = connection.prepare('UPDATE tables SET largest = ? WHERE number = ?')
  for (const [number, largest] of group.largest) grow.run(largest, number)
  if (flags.tables) {
    group.tables ??= loadTables(connection)
    group.sealed ??= loadSealed(connection)
  }
  if (flags.realms) {
    group.erasing ??= loadErasing(connection)
    flags.tombstones = loadHasTombstones(connection)
  }
}

/** The first change after the database was opened begins a run of revisions. */
function beginRun(connection: Connection, { run, runs, counters }: Committed, group: Group): void {
  const known = group.runs ?? runs
  if (known.at(-1)?.id === run) return
  const begun = { id: run, first: counters.revision }
  connection.prepare('INSERT INTO runs (run, first) VALUES (?, ?)').run(begun.id, begun.first)
  group.runs = [...known, begun]
}

/** Makes the sealed group's changes the committed state. It cannot fail: the commit is done. */
export function publishGroup(committed: Committed, group: Group): void {
  committed.commits += 1
  committed.heads.publish(group.units, group.logged, group.flags.tombstones)
  committed.counters = group.counters
  for (const [number, largest] of group.largest) committed.largest.set(number, largest)
  for (const [index, byte] of group.highest) committed.highest.set(index, byte)
  committed.tables = group.tables ?? committed.tables
  committed.sealed = group.sealed ?? committed.sealed
  committed.runs = group.runs ?? committed.runs
  committed.oldest = group.oldest ?? committed.oldest
  committed.newestOperation = group.newestOperation ?? committed.newestOperation
  const { flags } = group
  committed.memo.forget(group.changed)
  // The memo of the last unit holds the values of the commit: readers need not load them again.
  committed.memo.take(group.memo)
  for (const realm of group.ended) {
    committed.realmsById.delete(realm.id)
    committed.realmsByRef.delete(realm.ref)
  }
  if (flags.realms) {
    committed.erasing = group.erasing ?? committed.erasing
    committed.hasTombstones = flags.tombstones
  } else {
    committed.hasTombstones ||= flags.tombstones
  }
}

function isSame(one: Counters, other: Counters): boolean {
  return (
    one.revision === other.revision &&
    one.nextSeq === other.nextSeq &&
    one.idHighWater === other.idHighWater &&
    one.objects === other.objects &&
    one.users === other.users
  )
}

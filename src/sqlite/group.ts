import type { Connection } from './connection'
import {
  type Committed,
  type Counters,
  loadErasing,
  loadHasTombstones,
  loadSealed,
  loadTables,
} from './state'
import type { RealmRef } from '../domain/store/realms'
import type { Table } from '../domain/store/tables'

/** What the units of one transaction share: they commit together. */
export interface Group {
  readonly counters: Counters
  /** Where something changed that is announced. */
  readonly realms: Set<RealmRef>
  /** Which committed knowledge does not hold for this group, nor for anyone after its commit. */
  policyTouched: boolean
  tablesTouched: boolean
  realmsTouched: boolean
  jobsTouched: boolean
  mailsTouched: boolean
  /** True once this group removed the last blob of a content. */
  contentSpent: boolean
  /** True once this group left a tombstone. */
  buried: boolean
  /** By table number, for tables that got a longer value than they had. */
  readonly largest: Map<number, number>
  /** By index number, for indexes that got a key with a greater first byte than they had. */
  readonly highest: Map<number, number>
  /** What the group sees instead, once it has looked. */
  tables: Map<string, Table> | undefined
  sealed: boolean | undefined
  erasing: ReadonlySet<RealmRef> | undefined
}

export function beginGroup(committed: Committed): Group {
  return {
    counters: { ...committed.counters },
    realms: new Set(),
    policyTouched: false,
    tablesTouched: false,
    realmsTouched: false,
    jobsTouched: false,
    mailsTouched: false,
    contentSpent: false,
    buried: false,
    largest: new Map(),
    highest: new Map(),
    tables: undefined,
    sealed: undefined,
    erasing: undefined,
  }
}

/** Writes what the group's units share and looks at what its commit makes known, all in its transaction. */
export function sealGroup(connection: Connection, committed: Committed, group: Group): void {
  const { counters } = group
  if (!isSame(counters, committed.counters)) {
    connection
      .prepare('UPDATE database SET revision = ?, next_seq = ?, id_high_water = ?')
      .run(counters.revision, counters.nextSeq, counters.idHighWater)
  }
  const head = connection.prepare('UPDATE realm_ids SET head = ? WHERE number = ?')
  for (const realm of group.realms) head.run(counters.revision, realm)
  const grow = connection.prepare('UPDATE tables SET largest = ? WHERE number = ?')
  for (const [number, largest] of group.largest) grow.run(largest, number)
  if (group.tablesTouched) {
    group.tables ??= loadTables(connection)
    group.sealed ??= loadSealed(connection)
  }
  if (group.realmsTouched) {
    group.erasing ??= loadErasing(connection)
    group.buried = loadHasTombstones(connection)
  }
}

/** Makes the sealed group's changes the committed state. It cannot fail: the commit is done. */
export function publishGroup(committed: Committed, group: Group): void {
  committed.commits += 1
  committed.counters = group.counters
  for (const [number, largest] of group.largest) committed.largest.set(number, largest)
  for (const [index, byte] of group.highest) committed.highest.set(index, byte)
  committed.tables = group.tables ?? committed.tables
  committed.sealed = group.sealed ?? committed.sealed
  if (group.policyTouched) committed.memo.clear()
  if (group.realmsTouched) {
    committed.realmsById.clear()
    committed.realmsByRef.clear()
    committed.erasing = group.erasing ?? committed.erasing
    committed.hasTombstones = group.buried
  } else {
    committed.hasTombstones ||= group.buried
  }
}

function isSame(one: Counters, other: Counters): boolean {
  return (
    one.revision === other.revision &&
    one.nextSeq === other.nextSeq &&
    one.idHighWater === other.idHighWater
  )
}

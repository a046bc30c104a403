import type { Clock } from '../clock'
import type { RealmRef } from '../domain/store/realms'
import type { Run } from '../domain/store/sync'
import { SatchelError } from '../domain/value/error'
import { nextTurn } from '../domain/value/turn'
import type { Ids } from '../domain/value/id'
import type { Group, GroupFlags, UnitChanges, Writer } from './group'
import { fact, Facts } from './memo'
import { Owed } from './owed'
import type { Counters } from './state'

/** How long a unit may run before `breathe` lets others in, ms. */
const SLICE_MS = 4

/** One unit of work inside a group. */
export class Unit {
  /** The error with which SQLite ended the transaction during the unit. */
  loss: unknown = undefined
  /** The error with which the writer ended the unit before its work did. */
  ended: unknown = undefined
  /** How often the work has used its transaction, for the watchdog. */
  uses = 0
  /** How many savepoints are open. */
  depth = 0
  /** How many operations with criteria it has kept. */
  operations = 0
  /** The changes of index entries that it has not written yet. */
  readonly owed = new Owed()
  #changes: UnitChanges | undefined
  #breathed = performance.now()

  constructor(
    readonly group: Group,
    readonly ids: Ids,
    readonly clock: Clock,
    /** The sync client among them is named by tombstones too. */
    readonly writer: Writer,
  ) {}

  get client(): number | null {
    return this.writer.client
  }

  /** This unit's revision, taken when it first changes something (design.md §3). */
  revision(): number {
    return this.#announced().revision
  }

  /** The revision that `revision` would take, for a change that may come to nothing. */
  nextRevision(): number {
    return this.#changes?.revision ?? this.group.counters.revision + 1
  }

  /** The revision that the unit has taken; 0 while it has changed nothing, as others take it then. */
  takenRevision(): number {
    return this.#changes?.revision ?? 0
  }

  /** True once it has announced a change. */
  get hasChanges(): boolean {
    return this.#changes !== undefined
  }

  /** Announces a change to the objects of a table in a realm, or to the realm itself. */
  touchRealm(realm: RealmRef, table?: string): void {
    const changes = this.#announced()
    changes.realms = extended(changes.realms, realm)
    if (table !== undefined) changes.tables = extended(changes.tables, table)
  }

  /**
   * Announces a change of policy: of named facts, and of these realms or their roles. Ends
   * what was remembered from them.
   */
  touchPolicy(named: readonly string[], realms: readonly RealmRef[] = []): void {
    this.touchRemembered(named, realms)
    this.#announced()
  }

  /** Ends what was remembered from these facts, which nobody else needs to be told of. */
  touchRemembered(named: readonly string[], realms: readonly RealmRef[] = []): void {
    const { group } = this
    const changed = new Facts()
    for (const name of named) changed.named.add(name)
    for (const realm of realms) changed.realms.add(realm)
    group.changed.add(changed)
    group.memo.forget(changed)
    group.policyChanges += 1
  }

  /** `touchPolicy` for users, whose ids these are, or addresses: their rights have changed. */
  touchSubjects(subjects: readonly string[]): void {
    this.touchPolicy(subjects.map((subject) => fact('subject', subject)))
    const changes = this.#announced()
    for (const subject of subjects) changes.subjects = extended(changes.subjects, subject)
  }

  /** `touchPolicy` for records of policy, announced under these names (`CommitUnit.records`). */
  touchRecords(names: readonly string[], named: readonly string[]): void {
    this.touchPolicy(named)
    const changes = this.#announced()
    for (const name of names) changes.records = extended(changes.records, name)
  }

  /** A turn of the event loop for others, when the unit has run for a while. */
  breathe(): Promise<void> | undefined {
    return performance.now() - this.#breathed < SLICE_MS ? undefined : this.#pause()
  }

  async #pause(): Promise<void> {
    await nextTurn()
    this.#breathed = performance.now()
  }

  #announced(): UnitChanges {
    if (this.#changes !== undefined) return this.#changes
    const { counters, units } = this.group
    counters.revision += 1
    this.#changes = {
      revision: counters.revision,
      realms: NONE,
      tables: NONE,
      subjects: NONE,
      records: NONE,
      ...this.writer,
    }
    units.push(this.#changes)
    return this.#changes
  }

  /** The state that `restore` goes back to when the part that follows fails. */
  mark(): Mark {
    const { counters, flags, runs, oldest } = this.group
    const changes = this.#changes
    return {
      counters: { ...counters },
      flags: { ...flags },
      runs,
      oldest,
      policyChanges: this.group.policyChanges,
      changed: this.group.changed.size,
      ended: this.group.ended.length,
      leftFiles: this.group.leftFiles.length,
      announced: changes && {
        realms: changes.realms.length,
        tables: changes.tables.length,
        subjects: changes.subjects.length,
        records: changes.records.length,
      },
    }
  }

  restore(mark: Mark): void {
    this.owed.forget()
    const { counters, flags, runs, oldest, policyChanges, changed, ended, announced } = mark
    const { group } = this
    group.runs = runs
    group.oldest = oldest
    Object.assign(group.counters, counters)
    Object.assign(group.flags, flags)
    group.leftFiles.length = mark.leftFiles
    if (group.policyChanges !== policyChanges) {
      group.memo.clear()
      group.changed.cut(changed)
      group.ended.length = ended
      group.policyChanges += 1
    }
    // These may hold undone changes, and are loaded again when needed.
    Object.assign(group, { tables: undefined, sealed: undefined, erasing: undefined })
    if (this.#changes === undefined) return
    if (announced === undefined) {
      group.units.pop()
      this.#changes = undefined
      return
    }
    this.#changes.realms = this.#changes.realms.slice(0, announced.realms)
    this.#changes.tables = this.#changes.tables.slice(0, announced.tables)
    this.#changes.subjects = this.#changes.subjects.slice(0, announced.subjects)
    this.#changes.records = this.#changes.records.slice(0, announced.records)
  }
}

const NONE: never[] = []

/**
 * The list with another last entry. The empty list is shared by all units, of which thousands are kept: each
 * list of theirs would prolong every garbage collection.
 */
function extended<T>(list: T[], entry: T): T[] {
  if (list.length === 0) return [entry]
  if (list.at(-1) !== entry) list.push(entry)
  return list
}

/** A point that a unit's group can go back to. */
interface Mark {
  readonly counters: Counters
  readonly flags: GroupFlags
  readonly runs: readonly Run[] | undefined
  readonly oldest: number | undefined
  /** How often the group had changed policy, how much of it, and how many realms it had ended. */
  readonly policyChanges: number
  readonly changed: number
  readonly ended: number
  readonly leftFiles: number
  /** How much the unit had announced; undefined while it had no revision. */
  readonly announced:
    | Readonly<Record<'realms' | 'tables' | 'subjects' | 'records', number>>
    | undefined
}

export function lostTransaction(): SatchelError {
  return new SatchelError(
    'STORAGE_FAILED',
    'The storage rolled the transaction back and nothing of this request was stored: repeat the request',
  )
}

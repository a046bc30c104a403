import type { Clock } from '../clock'
import { SatchelError } from '../domain/value/error'
import type { Ids } from '../domain/value/id'
import type { Connection } from './connection'
import type { Group } from './group'
import type { Counters } from './state'
import type { Awaitable } from '../domain/store/records'

/** One unit of work inside a group. */
export class Unit {
  /** Why SQLite ended the transaction under the unit, if it did. */
  loss: unknown = undefined
  #taken: number | undefined

  constructor(
    readonly group: Group,
    readonly ids: Ids,
    readonly clock: Clock,
  ) {}

  /** This unit's revision, taken when it first changes something (design.md §3). */
  revision(): number {
    const { counters } = this.group
    if (this.#taken === undefined) {
      counters.revision += 1
      this.#taken = counters.revision
    }
    return this.#taken
  }

  /** What `restore` makes the group again when the part that follows fails. */
  mark(): Mark {
    const { counters, realms, buried, contentSpent } = this.group
    const { policyTouched, tablesTouched, realmsTouched, jobsTouched, mailsTouched } = this.group
    return {
      revision: counters.revision,
      nextSeq: counters.nextSeq,
      idHighWater: counters.idHighWater,
      policyTouched,
      tablesTouched,
      realmsTouched,
      jobsTouched,
      mailsTouched,
      contentSpent,
      buried,
      realmCount: realms.size,
      taken: this.#taken,
    }
  }

  restore(before: Mark): void {
    const { group } = this
    const { realmCount, taken, revision, nextSeq, idHighWater, ...flags } = before
    Object.assign(group.counters, { revision, nextSeq, idHighWater })
    Object.assign(group, flags)
    for (const realm of [...group.realms].slice(realmCount)) group.realms.delete(realm)
    // These may show what is undone: the next look loads them again.
    Object.assign(group, { tables: undefined, sealed: undefined, erasing: undefined })
    this.#taken = taken
  }
}

/** What a group was before a part of it, to go back to. */
export type Mark = Readonly<
  Counters & Pick<Group, Flag | 'buried'> & { realmCount: number; taken: number | undefined }
>

type Flag =
  | 'policyTouched'
  | 'tablesTouched'
  | 'realmsTouched'
  | 'jobsTouched'
  | 'mailsTouched'
  | 'contentSpent'

/**
 * Runs a part of the transaction that can be undone alone: when `work` throws, its changes are gone.
 * Savepoints nest: two parts side by side would end each other's.
 */
export async function runPart<T>(
  connection: Connection,
  unit: Unit,
  work: () => Awaitable<T>,
): Promise<T> {
  const before = unit.mark()
  connection.prepare('SAVEPOINT part').run()
  try {
    const result = await work()
    keepPart(connection)
    return result
  } catch (error) {
    unit.restore(before)
    throw undoPart(connection, unit, error)
  }
}

function keepPart({ db, prepare }: Connection): void {
  if (!db.inTransaction) throw lostTransaction()
  prepare('RELEASE part').run()
}

/**
 * Undoes the part, alone if that is possible and with the whole transaction if not. The result
 * is to be thrown: once the transaction is lost, the reason of that.
 */
function undoPart({ db, prepare }: Connection, unit: Unit, error: unknown): unknown {
  try {
    if (db.inTransaction) {
      prepare('ROLLBACK TO part').run()
      prepare('RELEASE part').run()
    }
  } catch {
    if (db.inTransaction) prepare('ROLLBACK').run()
  }
  if (db.inTransaction) return error
  unit.loss ??= error
  return unit.loss
}

export function lostTransaction(): SatchelError {
  return new SatchelError(
    'STORAGE_FAILED',
    'The storage rolled the transaction back and nothing of this request was stored: repeat the request',
  )
}

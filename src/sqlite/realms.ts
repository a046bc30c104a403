import { SatchelError } from '../domain/value/error'
import type { TxContext, WriteContext } from './context'
import { loadErasing, memorizeRealm } from './state'
import type { Realm, RealmRef, RealmReader, RealmWriter } from '../domain/store/realms'

export class RealmReads<Context extends TxContext = TxContext> implements RealmReader {
  constructor(protected readonly context: Context) {}

  find(id: string) {
    return (
      this.#known()?.realmsById.get(id) ??
      this.#select("SELECT number AS ref, id FROM realm_ids WHERE id = ? AND state = 'live'", id)
    )
  }

  findByRef(ref: RealmRef) {
    return (
      this.#known()?.realmsByRef.get(ref) ??
      this.#select(
        "SELECT number AS ref, id FROM realm_ids WHERE number = ? AND state = 'live'",
        ref,
      )
    )
  }

  isRetired(id: string) {
    return (
      this.context.connection
        .prepare("SELECT 1 FROM realm_ids WHERE id = ? AND state <> 'live' LIMIT 1")
        .get(id) !== null
    )
  }

  bornAt(ref: RealmRef) {
    const row = this.context.connection
      .prepare<{ born: number }>('SELECT born FROM realm_ids WHERE number = ?')
      .get(ref)
    return row?.born ?? 0
  }

  /** The committed state, until a unit of this group changes realms. */
  #known() {
    const { committed, unit } = this.context
    return unit?.group.flags.realms === true ? undefined : committed
  }

  #select(sql: string, parameter: string | number): Realm | undefined {
    const { connection, committed, unit } = this.context
    const row = connection.prepare<Realm>(sql).get(parameter)
    if (row === null) return undefined
    if (unit === undefined) memorizeRealm(committed, row)
    return row
  }
}

export class RealmWrites extends RealmReads<WriteContext> implements RealmWriter {
  ensure(id: string) {
    const found = this.find(id)
    if (found !== undefined) return found
    const row = this.context.connection
      .prepare<Realm>(
        "INSERT INTO realm_ids (id, state, born, head) VALUES (?, 'live', ?, 0) RETURNING number AS ref, id",
      )
      .get(id, this.context.unit.nextRevision())
    if (row === null) throw new SatchelError('INTERNAL', 'The realm could not be stored')
    // A private realm is created with its first object; that changes no permission,
    // but a remembered absence of the realm is no longer valid.
    this.#touch(row)
    return row
  }

  markErasing(ref: RealmRef) {
    const row = this.context.connection
      .prepare<Realm>(
        "UPDATE realm_ids SET state = 'erasing' WHERE number = ? AND state = 'live' RETURNING number AS ref, id",
      )
      .get(ref)
    if (row !== null) this.#touch(row)
  }

  #touch({ ref, id }: Realm): void {
    const { unit } = this.context
    unit.group.flags.realms = true
    unit.group.erasing = undefined
    unit.touchRealm(ref)
    // A private realm has the id of its user.
    unit.touchPolicy(id.startsWith('rlm') ? [] : [id])
  }
}

/** Realms that are being erased: their rows are hidden from everybody (design.md §4). */
export function erasing({ connection, committed, unit }: TxContext): ReadonlySet<RealmRef> {
  if (unit?.group.flags.realms !== true) return committed.erasing
  unit.group.erasing ??= loadErasing(connection)
  return unit.group.erasing
}

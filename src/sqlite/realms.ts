import { SatchelError } from '../domain/value/error'
import { hashSecret } from '../domain/value/secret'
import type { TxContext, WriteContext } from './context'
import { fact, note, noteRealm } from './memo'
import type { realmIds } from './schema'
import { loadErasing, memorizeRealm } from './state'
import { damagedRow, isSound, noteSum } from './summed'
import { objectTable } from './tables'
import type { Realm, RealmRef, RealmReader, RealmWriter } from '../domain/store/realms'

const SELECT = 'SELECT number, id, state, born, sum FROM realm_ids'

export class RealmReads<Context extends TxContext = TxContext> implements RealmReader {
  constructor(protected readonly context: Context) {}

  find(id: string) {
    this.#noteId(id)
    return (
      this.#living(this.context.committed.realmsById.get(id)) ??
      this.#select(`${SELECT} WHERE id = ? AND state = 'live'`, id)
    )
  }

  findByRef(ref: RealmRef) {
    noteRealm(this.context, ref)
    return (
      this.#living(this.context.committed.realmsByRef.get(ref)) ??
      this.#select(`${SELECT} WHERE number = ?`, ref)
    )
  }

  isRetired(id: string) {
    this.#noteId(id)
    const { connection } = this.context
    const has = (named: string, state: 'erasing' | 'erased') =>
      connection
        .prepare('SELECT 1 FROM realm_ids WHERE id = ? AND state = ? LIMIT 1')
        .get(named, state) !== null
    return has(id, 'erasing') || has(hashSecret(id), 'erased')
  }

  isUsed(id: string) {
    const { connection } = this.context
    const incarnations = connection
      .prepare<{ number: number }>(
        "SELECT number FROM realm_ids WHERE id = ? AND state <> 'erased'",
      )
      .all(id)
    const tables = connection.prepare<{ number: number }>('SELECT number FROM tables').all()
    return incarnations.some(({ number: realm }) => {
      const has = (sql: string) => connection.prepare(sql).get(realm) !== null
      return (
        has('SELECT 1 FROM tombstones WHERE realm = ? LIMIT 1') ||
        tables.some(({ number }) =>
          has(`SELECT 1 FROM ${objectTable(number)} WHERE realm = ? LIMIT 1`),
        )
      )
    })
  }

  bornAt(ref: RealmRef) {
    noteRealm(this.context, ref)
    const row = this.context.connection
      .prepare<{ born: number }>('SELECT born FROM realm_ids WHERE number = ?')
      .get(ref)
    return row?.born ?? 0
  }

  #noteId(id: string): void {
    if (this.context.loads.length > 0) note(this.context, ...namedAs(id))
  }

  /** A realm that is known from the committed state, unless a unit of this group has ended it. */
  #living(known: Realm | undefined): Realm | undefined {
    const ended = this.context.unit?.group.ended ?? []
    return ended.length === 0 || !ended.some(({ ref }) => ref === known?.ref) ? known : undefined
  }

  #select(sql: string, parameter: string | number): Realm | undefined {
    const { connection, committed, unit } = this.context
    const row = connection.prepare<Omit<typeof realmIds.$inferSelect, 'head'>>(sql).get(parameter)
    if (row === null) return undefined
    if (!isSound('realm_ids', row)) throw damagedRow('realm_ids')
    if (row.state !== 'live') return undefined
    const realm = { ref: row.number, id: row.id }
    // As long as the group has changed no policy, this is the committed row.
    if (unit === undefined || unit.group.policyChanges === 0) memorizeRealm(committed, realm)
    return realm
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
    noteSum(this.context.connection, 'realm_ids', row.ref)
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
    if (row === null) return
    noteSum(this.context.connection, 'realm_ids', ref)
    const { group } = this.context.unit
    group.flags.realms = true
    group.erasing = undefined
    group.ended.push(row)
    this.#touch(row)
  }

  #touch({ ref, id }: Realm): void {
    const { unit } = this.context
    unit.touchRealm(ref)
    if (!id.startsWith('rlm')) unit.touchSubjects([id])
    unit.touchPolicy([fact(...namedAs(id))], [ref])
  }
}

/** A private realm has the id of its user. */
function namedAs(id: string): ['realm' | 'subject', string] {
  return [id.startsWith('rlm') ? 'realm' : 'subject', id]
}

/** Realms that are being erased: their rows are hidden from everybody (design.md §4). */
export function erasing({ connection, committed, unit }: TxContext): ReadonlySet<RealmRef> {
  if (unit?.group.flags.realms !== true) return committed.erasing
  unit.group.erasing ??= loadErasing(connection)
  return unit.group.erasing
}

import { SatchelError } from '../domain/value/error'
import type { TxContext, WriteContext } from './context'
import { loadErasing, memorizeRealm } from './state'
import type { Realm, RealmRef, RealmReader, RealmWriter } from '../domain/store/realms'

export function realmReader(context: TxContext) {
  /** Committed knowledge holds until a unit of this group changes realms. */
  const mayRely = () => context.unit?.group.flags.realms !== true
  const select = (sql: string, parameter: string | number): Realm | undefined => {
    const { connection, committed } = context
    const row = connection.prepare<Realm>(sql).get(parameter)
    if (row === null) return undefined
    if (context.unit === undefined) memorizeRealm(committed, row)
    return row
  }
  return {
    find: (id: string) =>
      (mayRely() ? context.committed.realmsById.get(id) : undefined) ??
      select("SELECT number AS ref, id FROM realm_ids WHERE id = ? AND state = 'live'", id),
    findByRef: (ref: RealmRef) =>
      (mayRely() ? context.committed.realmsByRef.get(ref) : undefined) ??
      select("SELECT number AS ref, id FROM realm_ids WHERE number = ? AND state = 'live'", ref),
    isRetired: (id: string) =>
      context.connection
        .prepare("SELECT 1 FROM realm_ids WHERE id = ? AND state <> 'live' LIMIT 1")
        .get(id) !== null,
  } satisfies RealmReader
}

export function realmWriter(context: WriteContext): RealmWriter {
  const reader = realmReader(context)
  const touch = ({ ref, id }: Realm) => {
    const { unit } = context
    unit.group.flags.realms = true
    unit.group.erasing = undefined
    unit.touchRealm(ref)
    // A private realm has the id of its user.
    unit.touchPolicy(id.startsWith('rlm') ? [] : [id])
  }
  return {
    ...reader,
    ensure(id) {
      const found = reader.find(id)
      if (found !== undefined) return found
      const row = context.connection
        .prepare<Realm>(
          "INSERT INTO realm_ids (id, state, head) VALUES (?, 'live', 0) RETURNING number AS ref, id",
        )
        .get(id)
      if (row === null) throw new SatchelError('INTERNAL', 'The realm could not be stored')
      // A private realm is created with its first object; that changes no permission,
      // but a remembered absence of the realm is no longer valid.
      touch(row)
      return row
    },
    markErasing(ref) {
      const row = context.connection
        .prepare<Realm>(
          "UPDATE realm_ids SET state = 'erasing' WHERE number = ? AND state = 'live' RETURNING number AS ref, id",
        )
        .get(ref)
      if (row !== null) touch(row)
    },
  }
}

/** Realms that are being erased: their rows are hidden from everybody (design.md §4). */
export function erasing({ connection, committed, unit }: TxContext): ReadonlySet<RealmRef> {
  if (unit?.group.flags.realms !== true) return committed.erasing
  unit.group.erasing ??= loadErasing(connection)
  return unit.group.erasing
}

import { SatchelError } from '../domain/value/error'
import type { TxContext, WriteContext } from './context'
import { loadErasing, memorizeRealm } from './state'
import type { Realm, RealmRef, RealmReader, RealmWriter } from '../domain/store/realms'

export function realmReader(context: TxContext) {
  /** Committed knowledge holds until a unit of this group changes realms. */
  const mayRely = () => context.unit?.group.realmsTouched !== true
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
  const readerOf = realmReader(context)
  /** A realm that came or went is something that sync delivers. */
  const touch = (ref: RealmRef) => {
    const { group } = context.unit
    group.realms.add(ref)
    group.realmsTouched = true
    group.policyTouched = true
    group.erasing = undefined
    context.unit.revision()
  }
  return {
    ...readerOf,
    ensure(id) {
      const found = readerOf.find(id)
      if (found !== undefined) return found
      const row = context.connection
        .prepare<Realm>(
          "INSERT INTO realm_ids (id, state, head) VALUES (?, 'live', 0) RETURNING number AS ref, id",
        )
        .get(id)
      if (row === null) throw new SatchelError('INTERNAL', 'The realm could not be stored')
      // A private realm is created with its first object; that changes no permission,
      // but a remembered absence of the realm is no longer valid.
      touch(row.ref)
      return row
    },
    markErasing(ref) {
      const { changes } = context.connection
        .prepare("UPDATE realm_ids SET state = 'erasing' WHERE number = ? AND state = 'live'")
        .run(ref)
      if (changes > 0) touch(ref)
    },
  }
}

/** Realms whose rows are on their way out: not there for anyone (design.md §4). */
export function erasing({ connection, committed, unit }: TxContext): ReadonlySet<RealmRef> {
  if (unit?.group.realmsTouched !== true) return committed.erasing
  unit.group.erasing ??= loadErasing(connection)
  return unit.group.erasing
}

import { SatchelError } from '../domain/error'
import type { Realm, RealmRef } from '../domain/realm'
import type { RealmReader, RealmWriter } from '../domain/store'
import { memorizeRealm } from './state'
import type { Scope } from './tx'

export function realmReader(scope: Scope) {
  /** Committed knowledge holds until a unit of this group changes realms. */
  const mayRely = () => scope.unit?.group.realmsTouched !== true
  const select = (sql: string, parameter: string | number): Realm | undefined => {
    const { connection, committed } = scope
    const row = connection.prepare<Realm>(sql).get(parameter)
    if (row === null) return undefined
    if (scope.unit === undefined) memorizeRealm(committed, row)
    return row
  }
  return {
    find: (id: string) =>
      (mayRely() ? scope.committed.realmsById.get(id) : undefined) ??
      select("SELECT number AS ref, id FROM realm_ids WHERE id = ? AND state = 'live'", id),
    findByRef: (ref: RealmRef) =>
      (mayRely() ? scope.committed.realmsByRef.get(ref) : undefined) ??
      select("SELECT number AS ref, id FROM realm_ids WHERE number = ? AND state = 'live'", ref),
    isRetired: (id: string) =>
      scope.connection
        .prepare("SELECT 1 FROM realm_ids WHERE id = ? AND state <> 'live' LIMIT 1")
        .get(id) !== null,
  } satisfies RealmReader
}

export function realmWriter(scope: Scope): RealmWriter {
  const readerOf = realmReader(scope)
  const touch = () => {
    if (scope.unit !== undefined) {
      scope.unit.group.realmsTouched = true
      scope.unit.group.policyTouched = true
    }
  }
  return {
    ...readerOf,
    ensure(id) {
      const found = readerOf.find(id)
      if (found !== undefined) return found
      // A private realm comes to life with its first object; that changes nothing about who may do
      // what, but whoever remembered that it was not there must look again.
      touch()
      const row = scope.connection
        .prepare<Realm>(
          "INSERT INTO realm_ids (id, state, head) VALUES (?, 'live', 0) RETURNING number AS ref, id",
        )
        .get(id)
      if (row === null) throw new SatchelError('INTERNAL', 'The realm could not be stored')
      return row
    },
    markErasing(ref) {
      touch()
      scope.connection.prepare("UPDATE realm_ids SET state = 'erasing' WHERE number = ?").run(ref)
    },
  }
}

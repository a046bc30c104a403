import { accessOf } from '../access/access'
import { requireWriter } from '../access/actor'
import type { StoredObject } from '../store/objects'
import type { Database, WriteTx } from '../store/store'
import { isShown, keyInView, realmsInView, unknownObject } from './object'
import { type WriteRequest, writingInView } from './writing'
import { requireTable } from './tables'
import { writeRows } from './write'

/** A removal. The caller has checked the scopes of the view. */
interface Removal extends WriteRequest {
  readonly table: string
  /** The key in the address, decoded. */
  readonly key: string
  /** Called in the unit with the object that is about to be removed. */
  readonly before?: (tx: WriteTx, object: StoredObject) => void
}

/**
 * Removes one object (spec.md §4.1 rules 5, 6). Throws `UNKNOWN_OBJECT` when there is none, or none
 * that this view shows, `NOT_AUTHORIZED` with the missing permission, and as `requireWriter`.
 */
export function removeObject(database: Database, removal: Removal): Promise<void> {
  const { actor, view, now } = removal
  return database.write(
    (tx) => {
      requireWriter(tx, actor, now)
      const table = requireTable(tx, removal.table)
      const access = accessOf(tx, actor)
      const key = keyInView(table, view, removal.key, actor)
      const previous = tx.objects.find(table, key, realmsInView(access, view, table))
      if (previous === undefined || !isShown(actor, access, view, table, key, previous.realm)) {
        throw unknownObject()
      }
      removal.before?.(tx, previous)
      writeRows(writingInView(tx, removal, table, access), [{ before: previous, after: undefined }])
    },
    { subject: actor.subject },
  )
}

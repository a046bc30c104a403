import { accessOf } from '../access/access'
import { authorizeRemoval } from './authorize'
import { requireWriter } from '../access/actor'
import type { TimedObject } from '../store/objects'
import type { Database } from '../store/store'
import { isShown, keyInView, realmsInView, unknownObject } from './object'
import { removeObjects } from './discard'
import { tracesBefore } from './traces'
import { type RowRules, type Writing, type WriteRequest, rulesOf, writingInView } from './writing'
import { requireTable } from './tables'

/** A removal. The caller has checked the scopes of the view. */
export interface Removal extends WriteRequest {
  readonly table: string
  /** The key in the address, decoded. */
  readonly key: string
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
      removeStored(writingInView(tx, removal, table, access), previous)
    },
    { keys: [{ table: removal.table, keys: [removal.key] }] },
  )
}

/** Removes a stored object by the rules of its table. Throws `NOT_AUTHORIZED`. */
export function removeStored(writing: Writing, previous: TimedObject): void {
  const rules = rulesOf(writing.rulesByTable, writing.table)
  if (rules === undefined) removePlain(writing, previous)
  else removeByRules(writing, rules, previous)
}

function removePlain(writing: Writing, previous: TimedObject): void {
  if (!writing.isGlobal) authorizeRemoval(writing, previous)
  removeRow(writing, previous)
}

function removeByRules(writing: Writing, rules: RowRules, previous: TimedObject): void {
  if (!writing.isGlobal) rules.authorizeRemoval(writing, previous)
  const check = rules.guard(writing, previous.realm, previous)
  const isDone = rules.remove(writing, previous)
  if (!isDone) removeRow(writing, previous)
  check?.(writing.tx)
}

function removeRow({ tx, table, now }: Writing, previous: TimedObject): void {
  const traces = tracesBefore(table, previous)
  removeObjects(tx, table, [{ previous, ...traces }], now)
}

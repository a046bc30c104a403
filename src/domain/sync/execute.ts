// The operations of a transaction, one after the other, with the rights from before it, and with full ones in
// realms that it makes: docs/merging.md, "Transactions".

import { type Access, enter, followRealm, unitAccess } from '../access/access'
import { rightsNamesOf } from '../access/actor'
import { startJob } from '../job/job'
import { mayMakeRealm } from '../object/placement'
import { isRealmKey } from '../rows/realm-rows'
import type { Renewal } from '../store/store'
import { FULL } from '../value/permission'
import { getOwn } from '../value/value'
import type { Work } from '../value/work'
import { criteriaOf } from './candidates'
import { addOwnerRows, commitRows } from './commit'
import { applyOperation, type PlacedOperation } from './operations'
import type { Row } from './overlay'
import { type Execution, writingOf } from './transaction'
import { type Visibility, withRealms } from './visible'

/** Executes the operations of a transaction. Throws the refusal of the first that may not be. */
export function* executeAll(execution: Execution, operations: readonly PlacedOperation[]): Work {
  const rights = rightsBefore(execution, operations)
  yield* loadNamed(execution, operations)
  yield* enterNewRealms(execution, operations)
  for (const operation of operations) yield* applyOperation(execution, operation)
  leaveUnmadeRealms(execution)
  yield* commitRows(execution, () => addOwnerRows(execution, execution.owned))
  if (rights !== undefined) renewRights(execution, rights)
}

/** Loads the rows of all operations together: each of them may be one row. */
export function* loadNamed(execution: Execution, operations: readonly PlacedOperation[]): Work {
  if (operations.length < 2) return
  if (operations.some(({ operation }) => criteriaOf(operation.action) !== undefined)) return
  for (const [table, some] of Map.groupBy(operations, ({ table: its }) => its)) {
    yield* execution.overlay.load(
      execution,
      table,
      some.flatMap(({ keys }) => keys),
    )
  }
}

/**
 * Gives the realms that a transaction makes their place, and its actor full rights in them, before the
 * first operation: operations by criteria move rows there as those by key do (design.md §5.10). The rows
 * of the realms are judged when the transaction ends.
 */
function* enterNewRealms(execution: Execution, operations: readonly PlacedOperation[]): Work {
  const { overlay, newRealms } = execution
  for (const { table, keys } of operations.filter(makesRealms)) {
    yield* overlay.load(execution, table, keys)
    for (const key of keys) {
      const row = overlay.get(table, key)
      const isNew = row?.before === undefined && row?.isTaken === false && !newRealms.has(key)
      if (!isNew || !isRealmKey(key) || !mayMakeRealm(writingOf(execution, table), key)) continue
      const realm = execution.tx.realms.ensure(key)
      newRealms.set(key, realm)
      execution.unitAccess ??= unitAccess(execution.access)
      enter(execution.unitAccess, realm.ref, [FULL])
      execution.access = execution.unitAccess
      yield
    }
  }
}

/** Ends the realms whose rows the transaction did not make after all: then nothing may be in them. */
function leaveUnmadeRealms({ tx, push, overlay, newRealms }: Execution): void {
  const table = newRealms.size === 0 ? undefined : tx.tables.find('realms')
  if (table === undefined) return
  for (const [key, { ref }] of newRealms) {
    if (overlay.get(table, key)?.state.kind === 'row') continue
    newRealms.delete(key)
    tx.realms.markErasing(ref)
    startJob(tx, 'erase', { realm: ref }, push.now)
  }
}

/** The remembered rights of the actor of a transaction that may make realms. */
interface Rights {
  readonly access: Renewal<Access> | undefined
  readonly visibility: Renewal<Visibility> | undefined
}

/** Called before the first operation; undefined for a transaction that makes no realm. */
function rightsBefore(
  { tx, push: { actor } }: Execution,
  operations: readonly PlacedOperation[],
): Rights | undefined {
  if (!operations.some(makesRealms)) return undefined
  const { access, visibility } = rightsNamesOf(actor)
  return {
    access: tx.renewal<Access>(access),
    visibility: tx.renewal<Visibility>(visibility),
  }
}

function makesRealms({ table, operation: { action } }: PlacedOperation): boolean {
  return table.name === 'realms' && (action.type === 'insert' || action.type === 'upsert')
}

/**
 * Adds the realms that a transaction has made to the remembered rights of its actor. Without that all of them
 * would be loaded again, and a user may be in thousands of realms.
 */
function renewRights(execution: Execution, { access, visibility }: Rights): void {
  const { tx, newRealms, push } = execution
  if (access === undefined || newRealms.size === 0) return
  const own = tx.realms.find(push.actor.subject)
  if ((own?.ref ?? null) !== access.value.ownRealm) return
  const rows = execution.overlay.touched().filter(({ table }) => table.builtIn)
  // Other rows may change the rights of the actor in any way.
  if (!rows.every((row) => isIn(newRealms, row))) return
  const realms = [...newRealms.values()]
  const renewed = unitAccess(access.value)
  access.keep(() => {
    for (const { ref } of realms) followRealm(tx, renewed, ref)
    return renewed
  })
  if (visibility === undefined || !realms.every(({ ref }) => renewed.realmRefs.has(ref))) return
  visibility.keep(() => withRealms(tx, visibility.value, renewed, realms))
}

function isIn(newRealms: Execution['newRealms'], { before, state }: Row): boolean {
  if (before !== undefined) return false
  if (state.kind !== 'row') return true
  const realmId = getOwn(state.object, 'realmId')
  return typeof realmId === 'string' && newRealms.has(realmId)
}

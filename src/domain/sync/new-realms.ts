// Full permissions in realms that the transaction itself creates: docs/merging.md, "Transactions".

import { enter, unitAccess } from '../access/access'
import { startJob } from '../job/job'
import { mayMakeRealm } from '../object/placement'
import { isRealmKey } from '../rows/realm-rows'
import { FULL } from '../value/permission'
import type { Work } from '../value/work'
import { type Execution, writingOf } from './transaction'
import type { PlacedOperation } from './operations'

/**
 * Gives the realms that a transaction makes their place, and its actor full rights in them, before the
 * first operation: operations by criteria move rows there as those by key do (design.md §5.10). The rows
 * of the realms are judged when the transaction ends.
 */
export function* enterNewRealms(run: Execution, operations: readonly PlacedOperation[]): Work {
  const { overlay, newRealms } = run
  for (const { table, keys, operation } of operations) {
    const { type } = operation.action
    if (table.name !== 'realms' || (type !== 'insert' && type !== 'upsert')) continue
    yield* overlay.load(run, table, keys)
    for (const key of keys) {
      const row = overlay.get(table, key)
      const isNew = row?.before === undefined && row?.isTaken === false && !newRealms.has(key)
      if (!isNew || !isRealmKey(key) || !mayMakeRealm(writingOf(run, table), key)) continue
      const realm = run.tx.realms.ensure(key)
      newRealms.set(key, realm)
      run.unitAccess ??= unitAccess(run.access)
      enter(run.unitAccess, realm.ref, [FULL])
      run.access = run.unitAccess
      yield
    }
  }
}

/** Ends the realms whose rows the transaction did not make after all: then nothing may be in them. */
export function leaveUnmadeRealms({ tx, push, overlay, newRealms }: Execution): void {
  const table = newRealms.size === 0 ? undefined : tx.tables.find('realms')
  if (table === undefined) return
  for (const [key, { ref }] of newRealms) {
    if (overlay.get(table, key)?.state.kind === 'row') continue
    newRealms.delete(key)
    tx.realms.markErasing(ref)
    startJob(tx, 'erase', { realm: ref }, push.now)
  }
}

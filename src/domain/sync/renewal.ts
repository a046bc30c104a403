import { type Access, followRealm, unitAccess } from '../access/access'
import { rightsNamesOf } from '../access/actor'
import type { Renewal } from '../store/store'
import { getOwn } from '../value/value'
import type { Execution } from './transaction'
import type { PlacedOperation } from './operations'
import type { Row } from './overlay'
import { type Visibility, withRealms } from './visible'

/** The remembered rights of the actor of a transaction that may make realms. */
interface Rights {
  readonly access: Renewal<Access> | undefined
  readonly visibility: Renewal<Visibility> | undefined
}

/** Called before the first operation; undefined for a transaction that makes no realm. */
export function rightsBefore(
  { tx, push: { actor } }: Execution,
  operations: readonly PlacedOperation[],
): Rights | undefined {
  if (
    !operations.some(
      ({ table, operation }) => table.name === 'realms' && isPut(operation.action.type),
    )
  ) {
    return undefined
  }
  const { access, visibility } = rightsNamesOf(actor)
  return {
    access: tx.renewal<Access>(access),
    visibility: tx.renewal<Visibility>(visibility),
  }
}

function isPut(type: string): boolean {
  return type === 'insert' || type === 'upsert'
}

/**
 * Adds the realms that a transaction has made to the remembered rights of its actor. Without that all of them
 * would be loaded again, and a user may be in thousands of realms.
 */
export function renewRights(run: Execution, { access, visibility }: Rights): void {
  const { tx, newRealms, push } = run
  if (access === undefined || newRealms.size === 0) return
  const own = tx.realms.find(push.actor.subject)
  if ((own?.ref ?? null) !== access.value.ownRealm) return
  const rows = run.overlay.touched().filter(({ table }) => table.builtIn)
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

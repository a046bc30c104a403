import type { ReadTx, WriteTx } from '../store/store'
import { DAY } from '../value/time'

/** How long a database that is marked for deletion is kept, ms (protocol.md §9.3 `delete`). */
export const GRACE = 30 * DAY

/**
 * Marks the database for deletion at `now`, ms; it is served until then, with a warning in every token
 * response. Marking it again changes nothing. Returns when it will be removed, ms.
 */
export function markForDeletion(tx: WriteTx, now: number): number {
  const known = findDeletion(tx)
  if (known !== undefined) return known
  tx.settings.put({ id: SETTING, value: { due: now + GRACE } })
  return now + GRACE
}

/** False when the database was not marked. */
export function unmarkForDeletion(tx: WriteTx): boolean {
  return tx.settings.remove(SETTING)
}

/** When the database will be removed, ms; undefined when it is not marked for deletion. */
export function findDeletion(tx: ReadTx): number | undefined {
  return tx.remember(SETTING, () => {
    const due = tx.settings.find(SETTING)?.value['due']
    return typeof due === 'number' ? due : undefined
  })
}

const SETTING = 'deletion'

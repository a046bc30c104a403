import { startJob } from '../job/job'
import { birthOf, readStamps } from './stamps'
import type { ObjectPut, ObjectRemoval } from '../store/objects'
import type { WriteTx } from '../store/store'
import type { Table } from '../store/tables'
import { areTooMany } from './traces'

/** `ObjectWriter.put` that discards objects with very many index entries, and those that staged ones replace. */
export function putObjects(
  tx: WriteTx,
  table: Table,
  puts: readonly ObjectPut[],
  now: number,
): void {
  const isLarge = ({ previousTraces, staged }: ObjectPut) =>
    previousTraces !== undefined && (staged !== undefined || areTooMany(previousTraces))
  tx.objects.put(table, discarding(tx, puts, isLarge, now), now)
}

/** `ObjectWriter.remove` that discards objects with very many index entries. */
export function removeObjects(
  tx: WriteTx,
  table: Table,
  removals: readonly ObjectRemoval[],
  now: number,
): void {
  tx.objects.remove(table, discarding(tx, removals.map(withBirth), areTooMany, now), now)
}

/** Only the stamps of an object that was moved know since when it is there. */
function withBirth(removal: ObjectRemoval): ObjectRemoval {
  const { stamps, isDamaged, revision } = removal.previous
  if (stamps === null || isDamaged === true) return removal
  return { ...removal, born: birthOf(readStamps(stamps, 0, revision)) }
}

/** Begins the erasure of those that are large: no reader sees them from this commit on. */
function discarding<Item extends ObjectPut | ObjectRemoval>(
  tx: WriteTx,
  items: readonly Item[],
  isLarge: (item: Item) => boolean,
  now: number,
): readonly Item[] {
  if (!items.some(isLarge)) return items
  const realm = tx.realms.createErasing()
  startJob(tx, 'erase', { realm }, now)
  return items.map((item) => (isLarge(item) ? { ...item, discardTo: realm } : item))
}

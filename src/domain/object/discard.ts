import { startJob } from '../job/job'
import { birthOf, readStamps } from './stamps'
import type { ObjectPut, ObjectRemoval } from '../store/objects'
import type { WriteTx } from '../store/store'
import { andThen, type Awaitable } from '../store/records'
import type { Table } from '../store/tables'
import { areTooMany } from './traces'

/** `ObjectWriter.put` that discards objects with very many index entries, and those that staged ones replace. */
export function putObjects(
  tx: WriteTx,
  table: Table,
  puts: readonly ObjectPut[],
  now: number,
): Awaitable<void> {
  const isLarge = ({ previousTraces, staged }: ObjectPut) =>
    previousTraces !== undefined && (staged !== undefined || areTooMany(previousTraces))
  return andThen(discarding(tx, puts, isLarge, now), (all) => tx.objects.put(table, all, now))
}

/** `ObjectWriter.remove` that discards objects with very many index entries. */
export function removeObjects(
  tx: WriteTx,
  table: Table,
  removals: readonly ObjectRemoval[],
  now: number,
): Awaitable<void> {
  return andThen(discarding(tx, removals.map(withBirth), areTooMany, now), (all) =>
    tx.objects.remove(table, all, now),
  )
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
): Awaitable<readonly Item[]> {
  if (!items.some(isLarge)) return items
  return andThen(tx.realms.createErasing(), (realm) =>
    andThen(startJob(tx, 'erase', { realm }, now), () =>
      items.map((item) => (isLarge(item) ? { ...item, discardTo: realm } : item)),
    ),
  )
}

import { untilJobEnds } from '../domain/job/job-end'
import type { Job } from '../domain/store/records'
import type { Compacted, Store } from '../domain/store/store'
import { SatchelError } from '../domain/value/error'
import type { Backups } from './backups'
import type { OpenDatabase } from './host'
import type { Hosts } from './hosts'

/** The jobs that remove what belonged to deleted users. */
const ERASING: ReadonlySet<Job['kind']> = new Set(['leave', 'hand-over', 'erase'])

export interface CompactionParts {
  readonly hosts: Hosts
  readonly store: Store
  readonly backups: Backups
}

/**
 * Writes a database anew, once erasures under way have ended and the bytes of removed blobs are gone: nothing is left of
 * them in its folder. It is closed meanwhile; requests are told to come back. Throws `CONFLICT` during a backup,
 * `INTERNAL` for an erasure that has stopped, and what `Store.compact` throws.
 */
export async function compactDatabase(
  { hosts, store, backups }: CompactionParts,
  name: string,
  progress?: (done: number, total: number) => void,
): Promise<Compacted> {
  requireNoBackup(backups)
  await untilErased(await hosts.open(name))
  let compacted: Compacted = { before: 0, after: 0 }
  // One may have begun meanwhile.
  requireNoBackup(backups)
  await hosts.reopen(name, async () => {
    compacted = await store.compact(name, progress)
  })
  return compacted
}

function requireNoBackup(backups: Backups): void {
  if (!backups.isUnderWay()) return
  throw new SatchelError(
    'CONFLICT',
    'A backup of this data folder is under way: repeat the command when it has ended',
  )
}

async function untilErased({ database, blobKeeper }: OpenDatabase): Promise<void> {
  for (;;) {
    const jobs = await database.read((tx) => tx.jobs.list())
    const erasing = jobs.find(({ kind }) => ERASING.has(kind))
    if (erasing === undefined) break
    await untilJobEnds(database, erasing.id, () => undefined)
  }
  await blobKeeper.collect()
}

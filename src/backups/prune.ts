import { keptTimes, type Retention } from '../domain/backup/retention'
import { type Target, timeOfBackup } from './target'

export interface Pruned {
  readonly removed: readonly string[]
  readonly kept: readonly string[]
}

/** Removes the backups that `keep` does not keep, or only says which. Throws what the target throws. */
export async function prune(target: Target, keep: Retention, isDryRun = false): Promise<Pruned> {
  const names = await target.list()
  const times = names.map((name) => timeOfBackup(name) ?? 0)
  const keptOnes = keptTimes(times, keep)
  // Of several of a second, the last.
  const kept = names.filter((_, at) => keptOnes.has(times[at] ?? 0) && times[at] !== times[at + 1])
  const removed = names.filter((name) => !kept.includes(name))
  if (!isDryRun) for (const name of removed) await target.remove(name)
  return { removed, kept }
}

import type { Commit, CommitUnit } from '../domain/store/store'
import type { Group, UnitChanges } from './group'

/** How many units, realms, tables, subjects and records are kept for `after`. */
const KEPT_RECORDS = 2_000

/** The announcements of one database. `revision`: the newest one so far. `report` is told what a listener throws. */
export function createCommits(
  database: string,
  revision: number,
  report: (error: unknown) => void,
) {
  const listeners = new Set<(commit: Commit) => void>()
  let kept: Commit[] = []
  let weight = 0
  /** Commits up to this revision are not kept. */
  let dropped = revision

  function keep(commit: Commit): void {
    kept.push(commit)
    weight += weightOf(commit)
    if (weight <= 2 * KEPT_RECORDS) return
    // In one go, so that a commit costs nothing to drop.
    let start = 0
    while (weight > KEPT_RECORDS) {
      const oldest = kept[start]!
      weight -= weightOf(oldest)
      dropped = oldest.revision
      start += 1
    }
    kept = kept.slice(start)
  }

  return {
    /** Tells the listeners of a commit, if there is anything to tell. */
    announce({ counters, units: changed, leftFiles, flags: { jobs, mails } }: Group): void {
      if (changed.length === 0 && !jobs && !mails && leftFiles.length === 0) return
      const units = changed.map(unitOf)
      const commit = { database, revision: counters.revision, units, jobs, mails, leftFiles }
      if (units.length > 0) keep(commit)
      for (const listener of listeners) {
        try {
          listener(commit)
        } catch (error) {
          report(error)
        }
      }
    },
    /** Calls `listener` for each commit from now on. Returns the way to stop. */
    listen(listener: (commit: Commit) => void): () => void {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    /** The commits after a revision, or undefined when they are no longer kept. */
    after(revision: number): readonly Commit[] | undefined {
      if (revision < dropped) return undefined
      return kept
        .filter((commit) => commit.revision > revision)
        .map((commit) => ({
          ...commit,
          units: commit.units.filter((unit) => unit.revision > revision),
        }))
    },
  }
}

function weightOf({ units, leftFiles }: Commit): number {
  let weight = leftFiles.length
  for (const { realms, tables, subjects, records } of units) {
    weight += 1 + realms.length + tables.length + subjects.length + records.length
  }
  return weight
}

function unitOf(changes: UnitChanges): CommitUnit {
  const { realms, tables, subjects, records } = changes
  if ([realms, tables, subjects, records].every(({ length }) => length < 2)) return changes
  return {
    ...changes,
    realms: distinct(realms),
    tables: distinct(tables),
    subjects: distinct(subjects),
    records: distinct(records),
  }
}

function distinct<T>(values: readonly T[]): readonly T[] {
  return values.length < 2 ? values : [...new Set(values)]
}

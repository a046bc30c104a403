import type { RealmRef } from '../domain/store/realms'
import type { Commit } from '../domain/store/store'

export interface Range {
  readonly after: number
  readonly upTo: number
}

/** How many changes are kept. */
const MAX_CHANGES = 100_000

/** When realms changed lately, from the announcements of commits: they are noted from the revision `since` on. */
export function createTouches(since: number) {
  let known = since
  let count = 0
  const byRealm = new Map<RealmRef, number[]>()
  return {
    note({ revision, units }: Commit) {
      for (const unit of units) {
        for (const realm of unit.realms) {
          const touches = byRealm.get(realm)
          if (touches === undefined) byRealm.set(realm, [revision])
          else if (touches.at(-1) === revision) continue
          else touches.push(revision)
          count += 1
        }
      }
      if (count <= MAX_CHANGES) return
      byRealm.clear()
      count = 0
      known = revision
    },
    /** True when everything that changed after this revision is known. */
    reaches: (revision: number): boolean => revision >= known,
    /**
     * The changes of a realm after a revision that is reached, as a range of revisions that is the same
     * for all revisions between two changes; undefined when there are none.
     */
    after(realm: RealmRef, revision: number): Range | undefined {
      const touches = byRealm.get(realm)
      const upTo = touches?.at(-1)
      if (touches === undefined || upTo === undefined || upTo <= revision) return undefined
      return { after: touches.findLast((touch) => touch <= revision) ?? known, upTo }
    },
  }
}

import type { CommitUnit, ReadTx } from '../domain/store/store'
import type { Session } from './session'

/** The sessions of web pages, which end when their origin may not use the database any more (promises.md 15). */
export type PageSessions = ReturnType<typeof createPageSessions>

export function createPageSessions(report: (error: unknown) => void) {
  const byOrigin = new Map<string, Set<Session>>()
  let areDue = false
  let areLater = false

  return {
    add(session: Session) {
      const { page } = session.client
      if (page === undefined) return
      const pages = byOrigin.get(page.origin) ?? new Set()
      byOrigin.set(page.origin, pages.add(session))
    },
    remove(session: Session) {
      const origin = session.client.page?.origin ?? ''
      const pages = byOrigin.get(origin)
      pages?.delete(session)
      if (pages?.size === 0) byOrigin.delete(origin)
    },
    hear({ records }: CommitUnit) {
      // The public address of the database, a setting, is an origin too.
      const isListed = records.some((name) => /^(?:origins |settings |everything$)/.test(name))
      if (isListed && byOrigin.size > 0) areDue = true
    },
    /** True when the list of origins may have changed. */
    get areDue() {
      return areDue
    },
    /** Mutes the pages of origins that were removed: costs a look-up for each origin, however many pages it has. */
    dismiss(tx: ReadTx) {
      areDue = false
      for (const pages of byOrigin.values()) {
        const [first] = pages
        const page = first?.client.page
        if (page === undefined) continue
        try {
          if (page.isAllowed(tx)) continue
          for (const session of pages) if (session.phase !== 'muted') session.mute(page.refusal)
        } catch (error) {
          report(error)
          // They are looked at again before they hear anything.
          for (const session of pages) session.doubt()
        }
      }
    },
    /** The database cannot be read: until `resume`, none are due. */
    postpone() {
      areLater ||= areDue
      areDue = false
    },
    resume() {
      areDue ||= areLater
      areLater = false
    },
  }
}

import { licensedUntil } from '../access/actor'
import type { User } from '../store/users'
import { DAY } from '../value/time'

/** The licence status of the subject in a token (protocol.md §2.5). */
export type License = 'ok' | 'expired' | 'deactivated'

/** Something a person should know when they get a token (spec.md §2.2). */
export interface Alert {
  readonly type: 'warning' | 'info'
  readonly messageCode: string
  readonly message: string
  readonly messageParams?: Readonly<Record<string, string>>
}

type Term = Pick<User, 'type' | 'validUntil' | 'evalUntil' | 'deactivated'>

/** The user's licence at `now`, ms (design.md §4 Licences). */
export function licenseOf(user: Term, now: number): License {
  if (user.deactivated !== null) return 'deactivated'
  return licensedUntil(user) <= now ? 'expired' : 'ok'
}

/**
 * Days of evaluation that are left at `now`, a begun day counted as one; undefined without a term.
 */
export function evalDaysLeft({ evalUntil }: Pick<User, 'evalUntil'>, now: number) {
  return evalUntil === null ? undefined : Math.max(0, Math.ceil((evalUntil - now) / DAY))
}

/** The notice for the user at `now`: the licence has expired, or will within a week. */
export function alertsFor(user: Term, now: number): Alert[] {
  const until = licensedUntil(user)
  if (user.deactivated !== null || until - now > SOON) return []
  const what = user.type === 'eval' && until === user.evalUntil ? 'evaluation' : 'account'
  if (until <= now) {
    const message = `Your ${what} has ended: you can read, but not change anything.`
    return [{ type: 'warning', messageCode: 'LICENSE_EXPIRED', message }]
  }
  const days = Math.ceil((until - now) / DAY)
  return [
    {
      type: 'info',
      messageCode: 'LICENSE_ENDS_SOON',
      message: `Your ${what} ends in ${days === 1 ? 'one day' : `${days} days`}.`,
      messageParams: { days: String(days) },
    },
  ]
}

/** The warning for every client of a database that is marked for deletion. */
export function deletionAlert(due: number): Alert {
  const date = new Date(due).toISOString().slice(0, 10)
  return {
    type: 'warning',
    messageCode: 'DATABASE_DELETED',
    message: `This database is marked for deletion on ${date}.`,
    messageParams: { date },
  }
}

const SOON = 7 * DAY

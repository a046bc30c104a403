import { evalDaysLeft } from './license'
import type { Policy } from './policy'
import type { User, UserType } from '../store/users'

/** A user as callers see them (spec.md §2.3). Times are ISO texts. */
export interface UserJson {
  readonly userId: string
  readonly created: string
  readonly updated: string
  readonly lastLogin: string | null
  readonly type: UserType
  readonly validUntil?: string
  readonly evalDaysLeft?: number
  readonly maxAllowedEvalDaysLeft: number
  readonly deactivated: string | null
  readonly data: User['data']
}

/** `now` in ms: the days that are left depend on it. */
export function showUser(user: User, policy: Policy, now: number): UserJson {
  const { validUntil } = user
  const days = evalDaysLeft(user, now)
  return {
    userId: user.id,
    created: isoTime(user.created),
    updated: isoTime(user.updated),
    lastLogin: user.lastLogin === null ? null : isoTime(user.lastLogin),
    type: user.type,
    ...(validUntil === null ? {} : { validUntil: isoTime(validUntil) }),
    ...(days === undefined ? {} : { evalDaysLeft: days }),
    maxAllowedEvalDaysLeft: policy.evalDays,
    deactivated: user.deactivated === null ? null : isoTime(user.deactivated),
    data: user.data,
  }
}

function isoTime(time: number): string {
  return new Date(time).toISOString()
}

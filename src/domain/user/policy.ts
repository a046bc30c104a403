import { SatchelError, unprocessable, busy } from '../value/error'
import type { ReadTx, WriteTx } from '../store/store'
import { isWebAddress } from '../value/web-address'
import type { User } from '../store/users'
import { DAY } from '../value/time'

/** The policy of a database for newcomers (protocol.md §7, design.md §4 Licences). */
export interface Policy {
  /** Their type, or the decision by a web hook. */
  readonly newUsers: (typeof NEW_USERS)[number]
  /** How many days an evaluation lasts, and how many a user may have left at the most. */
  readonly evalDays: number
  /**
   * How many active users of type `prod` there may be for another one to come; null: any number.
   */
  readonly seats: number | null
  /** Where the web hook is asked, or null when there is none. */
  readonly hookUrl: string | null
}

export const NEW_USERS = ['prod', 'eval', 'reject', 'webhook'] as const

/** Why a person logs in, when they say so (protocol.md §2.1). */
export type Intent = 'login' | 'register'

/** The decision about a newcomer: by the policy, or by its web hook (protocol.md §13.1). */
export interface Verdict {
  readonly action: 'prod' | 'eval' | 'reject'
  /** The data of the new user; absent: the claims of the person. */
  readonly data?: User['data']
}

/** The policy as it is: remembered, because it is asked for at logins. */
export function findPolicy(tx: ReadTx): Policy {
  return tx.remember('policy', () => {
    const setting = tx.settings.find(SETTING)
    return { ...DEFAULT, ...setting?.value }
  })
}

/** Changes the policy; absent properties stay unchanged. Throws `UNPROCESSABLE`. */
export function changePolicy(tx: WriteTx, changes: Partial<Policy>): Policy {
  const policy = { ...findPolicy(tx), ...changes }
  const { newUsers, evalDays, seats, hookUrl } = policy
  if (!NEW_USERS.includes(newUsers)) {
    throw unprocessable(`New users are one of ${NEW_USERS.join(', ')}`)
  }
  if (!isCount(evalDays) || evalDays === 0 || evalDays > MAX_EVAL_DAYS) {
    throw unprocessable(`An evaluation lasts 1 to ${MAX_EVAL_DAYS} days`)
  }
  if (seats !== null && !isCount(seats)) {
    throw unprocessable('Seats are a whole number from 0, or none for any number')
  }
  if (hookUrl !== null && !isWebAddress(hookUrl)) {
    throw unprocessable('A web hook has an https address without a user name and a fragment')
  }
  if (newUsers === 'webhook' && hookUrl === null) {
    throw unprocessable('A web hook that decides about new users needs an address: --hook-url')
  }
  tx.settings.put({ id: SETTING, value: { newUsers, evalDays, seats, hookUrl } })
  return policy
}

/**
 * The policy's verdict on a person who is not a user; `webhook` leaves it to the hook.
 * `login` is no wish to become a user (protocol.md §2.1).
 */
export function verdictOn(
  { newUsers }: Pick<Policy, 'newUsers'>,
  intent?: Intent,
): Policy['newUsers'] {
  return intent === 'login' ? 'reject' : newUsers
}

/** The refusal of a person who does not become a user (protocol.md §2.3). */
export function rejection(intent?: Intent): SatchelError {
  return intent === 'register'
    ? new SatchelError('USER_NOT_ACCEPTED', 'New users are not accepted here')
    : new SatchelError(
        'USER_NOT_REGISTERED',
        'You are not registered here: ask the administrator of this application to add you',
      )
}

/**
 * The user with the id of this person, created when there is none. `now` in ms. Throws
 * `NO_SEATS_AVAILABLE`, and `BUSY` while an earlier user with this id is still being removed.
 */
export function admitUser(
  tx: WriteTx,
  person: Person,
  verdict: { readonly action: 'prod' | 'eval'; readonly data?: User['data'] },
  now: number,
): User {
  const known = tx.users.find(person.id)
  if (known !== undefined) return known
  const policy = findPolicy(tx)
  const type = verdict.action
  if (type === 'prod') requireSeat(tx, policy)
  requireFreeId(tx, person.id)
  return tx.users.put({
    id: person.id,
    type,
    created: now,
    updated: now,
    lastLogin: now,
    validUntil: null,
    evalUntil: type === 'eval' ? now + policy.evalDays * DAY : null,
    deactivated: null,
    data: verdict.data === undefined ? dataOf(person) : verdict.data,
  })
}

/**
 * Throws `BUSY` while an earlier user with this id is still leaving realms: those are not this
 * one's.
 */
export function requireFreeId(tx: WriteTx, id: string): void {
  const jobs = tx.jobs.list()
  if (!jobs.some(({ kind, state }) => kind === 'leave' && state['user'] === id)) return
  throw busy(
    'A user with this id was just deleted and is still being removed from realms: repeat the request in a moment',
  )
}

const SETTING = 'policy'
const DEFAULT: Policy = { newUsers: 'prod', evalDays: 30, seats: null, hookUrl: null }
const MAX_EVAL_DAYS = 36_500

function requireSeat(tx: WriteTx, { seats }: Policy): void {
  if (seats === null) return
  if (tx.users.count({ type: 'prod', active: true }, seats) < seats) return
  throw new SatchelError(
    'NO_SEATS_AVAILABLE',
    'All seats are taken: ask the administrator of this application for one',
  )
}

function dataOf({ email, name }: Person): User['data'] {
  if (email === null && name === null) return null
  return {
    ...(name === null ? {} : { displayName: name }),
    ...(email === null ? {} : { email }),
  }
}

function isCount(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0
}

/** The claims of a newcomer. */
export interface Person {
  readonly id: string
  readonly email: string | null
  readonly name: string | null
}

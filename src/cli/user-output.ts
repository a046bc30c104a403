import type { UserJson } from '../domain/user/json'
import { DAY } from '../domain/user/license'
import { oneLine, table } from './output'

/** Users as rows; `now`, ms, says whose licence has ended. */
export function tableOfUsers(users: readonly UserJson[], now: number): string {
  if (users.length === 0) return 'No user is found'
  const rows = users.map((user) => [
    user.userId,
    user.type,
    stateOf(user, now),
    endOf(user, now),
    user.lastLogin === null ? 'never' : minute(user.lastLogin),
    nameOf(user),
  ])
  return table(['id', 'type', 'state', 'ends', 'last login', 'name'], rows)
}

/** One user, a property on each line. */
export function describeUser(user: UserJson): string {
  const { displayName: _, email, ...rest } = user.data ?? {}
  const lines: [string, string][] = [
    ['User id', user.userId],
    ['Type', user.type],
    ['Name', nameOf(user)],
    ['E-mail', typeof email === 'string' ? email : ''],
    ['Evaluation', user.evalDaysLeft === undefined ? '' : days(user.evalDaysLeft)],
    ['Valid until', user.validUntil ?? ''],
    ['Deactivated', user.deactivated ?? ''],
    ['Last login', user.lastLogin ?? 'never'],
    ['Created', user.created],
    ['Properties', Object.keys(rest).length === 0 ? '' : JSON.stringify(rest)],
  ]
  return lines
    .filter(([, value]) => value !== '')
    .map(([name, value]) => `${name.padEnd(16)}${oneLine(value)}`)
    .join('\n')
}

function stateOf({ deactivated, type, evalDaysLeft, validUntil }: UserJson, now: number): string {
  if (deactivated !== null) return 'deactivated'
  const hasEvaluated = type === 'eval' && evalDaysLeft === 0
  const isOver = validUntil !== undefined && Date.parse(validUntil) <= now
  return hasEvaluated || isOver ? 'expired' : 'active'
}

/** What ends first: the evaluation or the account. */
function endOf({ type, evalDaysLeft, validUntil }: UserJson, now: number): string {
  const day = validUntil?.slice(0, 10) ?? ''
  if (type !== 'eval' || evalDaysLeft === undefined) return day
  const isShorter = validUntil !== undefined && Date.parse(validUntil) < now + evalDaysLeft * DAY
  return isShorter ? day : `in ${days(evalDaysLeft)}`
}

function nameOf({ data }: UserJson): string {
  const name = data?.['displayName']
  return typeof name === 'string' ? name : ''
}

function days(count: number): string {
  return count === 1 ? '1 day' : `${count} days`
}

/** `2030-01-31 12:00`, in UTC as all times. */
function minute(time: string): string {
  return `${time.slice(0, 10)} ${time.slice(11, 16)}`
}

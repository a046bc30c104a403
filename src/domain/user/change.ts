import { quoted, SatchelError, unprocessable } from '../value/error'
import { timeOfText, DAY } from '../value/time'
import { getOwn, isRecord, type WireObject } from '../value/value'
import { requireUserId } from '../value/user-id'
import { type User, USER_TYPES, type UserType } from '../store/users'
import { findPolicy, type Policy, requireFreeId } from './policy'
import { type Actor, requireWriter } from '../access/actor'
import type { Database, WriteTx } from '../store/store'
import { showUser, type UserJson } from './list'

/** The changes of a request to one user. Undefined stays unchanged, or is left to the server. */
export interface UserChange {
  /** Where it stands in the request, for refusals: `[3].`, or nothing. */
  readonly prefix: string
  readonly id: string
  readonly type: UserType | undefined
  /** ms since the epoch. */
  readonly validUntil: number | null | undefined
  readonly evalDaysLeft: number | null | undefined
  /** A time in ms; true: from now on; false and null: not any more. */
  readonly deactivated: number | boolean | null | undefined
  readonly data: User['data'] | undefined
}

/**
 * Reads the users of a `POST /users`: an array of them, or one (spec.md §4.3). Throws
 * `UNPROCESSABLE` naming the property that is wrong, unknown, or the server's to set.
 */
export function readUserChanges(body: unknown): UserChange[] {
  if (!Array.isArray(body)) return [readChange(body, '')]
  if (body.length > MAX_CHANGES) {
    throw new SatchelError(
      'PAYLOAD_TOO_LARGE',
      `More than ${MAX_CHANGES} users in a request: send them in several`,
    )
  }
  return body.map((value, position) => readChange(value, `[${position}].`))
}

/** The refusal of a property of one of the users. */
export function refuseUser(prefix: string, property: string, problem: string): SatchelError {
  const path = `${prefix}${property}`.replace(/\.$/, '').slice(0, 100)
  return unprocessable(path === '' ? `A user ${problem}` : `${quoted(path)} ${problem}`, path)
}

/** One unit writes them all, and others wait for it. */
const MAX_CHANGES = 10_000
const SETTABLE = ['userId', 'type', 'validUntil', 'evalDaysLeft', 'deactivated', 'data']
/** Every token of the user carries it. */
const MAX_DATA = 64 * 1024

function readChange(value: unknown, prefix: string): UserChange {
  if (!isRecord(value)) throw refuseUser(prefix, '', 'must be an object')
  const unknown = Object.keys(value).find((name) => !SETTABLE.includes(name))
  if (unknown !== undefined) {
    throw refuseUser(prefix, unknown, `cannot be set: there are ${SETTABLE.join(', ')}`)
  }
  const given = { value, prefix }
  return {
    prefix,
    id: readId(value['userId'], prefix),
    type: read(
      given,
      'type',
      (type) => USER_TYPES.find((known) => known === type),
      `must be one of ${USER_TYPES.join(', ')}`,
    ),
    validUntil: read(given, 'validUntil', timeOrNull, `must be ${AN_ISO_TIME} or null`),
    evalDaysLeft: read(given, 'evalDaysLeft', countOrNull, 'must be a whole number or null'),
    deactivated: read(
      given,
      'deactivated',
      flagOrTime,
      `must be true, false, ${AN_ISO_TIME} or null`,
    ),
    data: read(given, 'data', userDataOf, USER_DATA),
  }
}

const AN_ISO_TIME = 'an ISO time such as 2030-01-31T12:00:00.000Z'
/** The input of `userDataOf`. */
export const USER_DATA = `must be null or an object of at most ${MAX_DATA / 1024} KiB, whose displayName and email are texts`

function readId(given: unknown, prefix: string): string {
  if (given === undefined) throw refuseUser(prefix, 'userId', 'is missing')
  try {
    return requireUserId(given)
  } catch (error) {
    throw error instanceof SatchelError
      ? refuseUser(prefix, 'userId', `is not a user id. ${error.message}`)
      : error
  }
}

/** The result of `parse` for a property, undefined when it is absent. */
function read<T>(
  { value, prefix }: { readonly value: WireObject; readonly prefix: string },
  name: string,
  parse: (given: unknown) => T | undefined,
  expected: string,
): T | undefined {
  const given = getOwn(value, name)
  if (given === undefined) return undefined
  const parsed = parse(given)
  if (parsed === undefined) throw refuseUser(prefix, name, expected)
  return parsed
}

function timeOrNull(given: unknown): number | null | undefined {
  if (given === null) return null
  return typeof given === 'string' ? timeOfText(given) : undefined
}

function countOrNull(given: unknown): number | null | undefined {
  if (given === null) return null
  return typeof given === 'number' && Number.isSafeInteger(given) && given >= 0 ? given : undefined
}

function flagOrTime(given: unknown): number | boolean | null | undefined {
  return typeof given === 'boolean' ? given : timeOrNull(given)
}

/** The data of a user if it is valid, else undefined. */
export function userDataOf(given: unknown): User['data'] | undefined {
  if (given === null) return null
  if (!isRecord(given) || !['displayName', 'email'].every((name) => isTextIn(given, name))) {
    return undefined
  }
  return Buffer.byteLength(JSON.stringify(given)) <= MAX_DATA ? given : undefined
}

function isTextIn(data: WireObject, name: string): boolean {
  const value = getOwn(data, name) ?? null
  return value === null || typeof value === 'string'
}

/** Users that one step of a unit writes. */
const STEP = 100

/**
 * Creates new users and changes existing ones, all in one unit (spec.md §4.3). Resolves to what
 * they are at its end, in the order of the changes. `now` in ms. The caller has checked the scopes.
 * Throws `UNPROCESSABLE` naming the property, `BUSY` while an earlier user with one of these ids is
 * still being removed, and as `requireWriter`.
 */
export function writeUsers(
  database: Database,
  actor: Actor,
  changes: readonly UserChange[],
  now: number,
  record: (tx: WriteTx) => void = () => undefined,
): Promise<UserJson[]> {
  return database.writeSteps(
    async (step) => {
      const usersById = new Map<string, UserJson>()
      let from = 0
      do {
        const some = changes.slice(from, from + STEP)
        const shown = await step((tx) => {
          requireWriter(tx, actor, now)
          if (from === 0) record(tx)
          const policy = findPolicy(tx)
          return some.map((change) => showUser(writeUser(tx, change, policy, now), policy, now))
        })
        for (const user of shown) usersById.set(user.userId, user)
        from += STEP
      } while (from < changes.length)
      return changes.map(({ id }) => usersById.get(id)!)
    },
    { subject: actor.subject },
  )
}

/** Creates or changes one user. Throws as `writeUsers`. */
export function writeUser(tx: WriteTx, change: UserChange, policy: Policy, now: number): User {
  const known = tx.users.find(change.id)
  const type = change.type ?? known?.type
  if (type === undefined)
    throw refuseUser(change.prefix, 'type', 'is missing: a new user needs one')
  if (known === undefined) requireFreeId(tx, change.id)
  const { validUntil = known?.validUntil ?? null, data = known?.data ?? null } = change
  return tx.users.put({
    id: change.id,
    type,
    created: known?.created ?? now,
    updated: now,
    lastLogin: known?.lastLogin ?? null,
    validUntil,
    evalUntil: evalUntil(change, known, type, policy, now),
    deactivated: deactivated(change, known, now),
    data,
  })
}

/** An evaluation begins when the user is created or becomes an `eval` user; null restarts it. */
function evalUntil(
  { evalDaysLeft: days, prefix }: UserChange,
  known: User | undefined,
  type: User['type'],
  { evalDays }: Policy,
  now: number,
): number | null {
  if (typeof days === 'number') {
    if (days > evalDays) {
      throw refuseUser(
        prefix,
        'evalDaysLeft',
        `must be at most ${evalDays}: that is the policy here`,
      )
    }
    return now + days * DAY
  }
  const kept = days === null ? null : (known?.evalUntil ?? null)
  return kept === null && type === 'eval' ? now + evalDays * DAY : kept
}

function deactivated(
  { deactivated: given }: UserChange,
  known: User | undefined,
  now: number,
): number | null {
  const before = known?.deactivated ?? null
  if (given === undefined) return before
  if (given === true) return before ?? now
  return given === false ? null : given
}

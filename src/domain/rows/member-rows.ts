import { SatchelError, unprocessable } from '../value/error'
import { guardFullRights } from './full-rights'
import { OWNERSHIP, requireOwnerRow } from './owner-row'
import { draftOf, withFields } from '../object/draft'
import { type WireObject, changedProperties, isAbsent, isRecord, parseStored } from '../value/value'
import { type Placement, type RowRules, type Writing, heldIn, refuse } from '../object/writing'
import type { RealmRef } from '../store/realms'
import { findRoles, permissionsOf } from '../access/access'
import { authorizePut, authorizeRemoval } from '../object/authorize'
import type { Membership } from '../store/memberships'
import { hasFullRights, mayGrant, parsePermissions } from '../value/permission'
import { requireCustomRealm } from './role-rows'
import { foldEmail } from '../value/email'

/**
 * Properties that only the server and, of the first two, the addressed person change (design.md
 * §5.4).
 */
const ANSWERS = ['accepted', 'rejected'] as const
const SYSTEM = [...ANSWERS, 'invitedDate', 'invitedBy'] as const

/** The members of a realm and their rights (protocol.md §6.2–6.4). */
export const MEMBER_RULES: RowRules = {
  complete(draft) {
    requireCustomRealm(draft, 'members')
    membershipOf(draft.object, 'members:', 0)
    return draft
  },

  authorizePut(writing, asked) {
    const before = asked.previous === undefined ? {} : parseStored(asked.previous.value)
    const given = forInvitee(writing, before, asked)
    const kept = Object.fromEntries(
      [...SYSTEM, 'userId']
        .filter((name) => Object.hasOwn(before, name) && !Object.hasOwn(given.draft.object, name))
        .map((name) => [name, before[name]]),
    )
    const placement = { ...given, draft: withFields(given.draft, kept) }
    const changed = changedProperties(before, placement.draft.object)
    if (given.previous !== undefined && isAnswer(writing, before, changed)) {
      const answer = answered(writing, placement)
      if (isAbsent(before['userId'])) requireFewRows(writing, answer)
      return dated(writing, answer, changed)
    }
    authorizePut(writing, placement)
    requireSystemProperties(writing, placement.draft.object, changed)
    requireGrant(writing, placement, changed)
    const names = ['userId', 'email', 'realmId']
    if (names.some((name) => changed.includes(name))) requireFewRows(writing, placement)
    return placement
  },

  /** Everyone may leave: delete the row that is their own. */
  authorizeRemoval(writing, previous) {
    if (!isAddressed(writing, parseStored(previous.value))) authorizeRemoval(writing, previous)
  },

  afterPut: ({ tx }, { draft, key, realm }) =>
    tx.memberships.put(membershipOf(draft.object, `members:${key}`, realm.ref)),

  remove({ tx }, previous) {
    tx.memberships.remove(`members:${previous.key}`)
    return false
  },

  /** Only an accepted row can have been the last one of an owner, or of a holder of full rights. */
  guard({ tx, isGlobal }, realm, previous) {
    if (isGlobal || previous === undefined) return undefined
    const before = membershipOf(parseStored(previous.value), '', previous.realm)
    if (!before.accepted) return undefined
    const requireFullRights = hasFullRights(permissionsOf(tx, before))
      ? guardFullRights(tx, realm)
      : undefined
    return (after) => {
      requireFullRights?.(after)
      if (before.userId !== null) requireOwnerRow(after, realm, before.userId)
    }
  },
}

/**
 * The permissions that a `members` row grants. Throws `UNPROCESSABLE` naming the property that is
 * wrong.
 */
export function membershipOf(row: WireObject, source: string, realm: RealmRef): Membership {
  const userId = optionalString(row, 'userId')
  const email = optionalString(row, 'email')
  const roles = row['roles'] ?? []
  if (!Array.isArray(roles) || !roles.every((role) => typeof role === 'string')) {
    throw wrong('roles', 'an array of role names')
  }
  const accepted = optionalDate(row, 'accepted')
  const rejected = optionalDate(row, 'rejected')
  const isRejected = rejected !== null && (accepted === null || rejected >= accepted)
  return {
    source,
    realm,
    userId,
    email: email === null ? null : foldEmail(email),
    accepted: userId !== null && !isRejected,
    rejected: isRejected,
    permissions: parsePermissions(row['permissions']),
    roles,
  }
}

/**
 * Clients send their own user id with an invitation that they write for somebody else
 * (protocol.md Appendix C.3): that does not make its author the member (design.md §5.4).
 */
function forInvitee(
  { table, access, subject }: Writing,
  before: WireObject,
  placement: Placement,
): Placement {
  const { userId, ...rest } = placement.draft.object
  const { email } = rest
  if (userId !== subject || before['userId'] === subject) return placement
  if (typeof email !== 'string' || email === '') return placement
  const address = foldEmail(email)
  if (address === access.email || address === foldEmail(subject)) return placement
  return { ...placement, draft: draftOf(table, rest, undefined) }
}

/** The addressed person's accept or reject, and nothing else (protocol.md §6.4). */
function isAnswer(writing: Writing, before: WireObject, changed: readonly string[]): boolean {
  return (
    changed.length > 0 &&
    isAddressed(writing, before) &&
    changed.every(
      (name) =>
        ANSWERS.some((answer) => answer === name) || (name === 'userId' && isAbsent(before[name])),
    )
  )
}

function isAddressed({ access }: Writing, row: WireObject): boolean {
  const userId = row['userId'] ?? null
  if (userId !== null) return userId === access.subject
  const email = row['email']
  return typeof email === 'string' && foldEmail(email) === access.email
}

function answered(writing: Writing, placement: Placement): Placement {
  const { userId } = placement.draft.object
  if (userId !== undefined && userId !== null && userId !== writing.subject) {
    throw refuse('userId', 'an invitation can only be accepted by the invited user')
  }
  return { ...placement, draft: withFields(placement.draft, { userId: writing.subject }) }
}

/** An answer that arrives now is the newest one, regardless of the clock of its client. */
function dated({ now }: Writing, placement: Placement, changed: readonly string[]): Placement {
  const row = placement.draft.object
  const [answer, another] = ANSWERS.filter((name) => changed.includes(name) && !isAbsent(row[name]))
  if (answer === undefined || another !== undefined) return placement
  const { rejected } = membershipOf(row, '', 0)
  if (rejected === (answer === 'rejected')) return placement
  const before = optionalDate(row, rejected ? 'rejected' : 'accepted') ?? 0
  const time = Math.min(LAST_DATE, Math.max(now, rejected ? before + 1 : before))
  const date = { $t: 'Date', v: new Date(time).toISOString() }
  return { ...placement, draft: withFields(placement.draft, { [answer]: date }) }
}

/** ms. Beyond there are no dates. */
const LAST_DATE = 8.64e15

function requireSystemProperties(
  writing: Writing,
  row: WireObject,
  changed: readonly string[],
): void {
  // Moving a row would add its person to a realm without their consent.
  const joins = changed.includes('userId') || changed.includes('realmId')
  if (joins && !isAbsent(row['userId']) && row['userId'] !== writing.subject) {
    throw refuse('userId', 'the "userId" of a member is set when that user accepts')
  }
  const isOwn = row['userId'] === writing.subject
  for (const name of SYSTEM) {
    if (!changed.includes(name)) continue
    if (isOwn && ANSWERS.some((answer) => answer === name)) continue
    throw refuse(name, `"${name}" of a member is not yours to set`)
  }
}

/**
 * The writer of a row must hold all permissions that it grants in that realm (design.md §5.3). A role
 * that does not exist yet could grant anything later, so only holders of full rights may name one.
 */
function requireGrant(
  writing: Writing,
  { draft, realm, previous }: Placement,
  changed: readonly string[],
): void {
  const giving = ['permissions', 'roles', 'userId', 'email', 'realmId']
  if (previous !== undefined && !giving.some((name) => changed.includes(name))) return
  const own = heldIn(writing, realm.ref)
  if (hasFullRights(own)) return
  const { permissions, roles } = membershipOf(draft.object, '', realm.ref)
  const named = findRoles(
    writing.tx,
    roles.map((name) => ({ realmId: realm.id, name })),
  )
  if (named.includes(undefined)) {
    throw refuse(
      'permissions',
      'a role that does not exist can only be given by members with full rights in the realm',
    )
  }
  if ([permissions, ...named].every((set) => set === undefined || mayGrant(own, set))) return
  throw refuse(
    'permissions',
    'a member can only be granted permissions that the writer holds in the realm',
  )
}

/** How many rows of `members` one user or address may have in a realm: each change there looks at all of them. */
export const MOST_ROWS = 100

function requireFewRows({ tx }: Writing, { draft, key, realm: { ref } }: Placement): void {
  const own = `members:${key}`
  const { userId, email } = membershipOf(draft.object, own, ref)
  const rows = tx.memberships.ofSubjectIn(userId, userId === null ? email : null, ref)
  const others = rows.filter(({ source }) => source !== own && !source.startsWith(OWNERSHIP))
  if (others.length < MOST_ROWS) return
  throw unprocessable(
    `The realm has ${MOST_ROWS} rows of "members" for this user or address already: delete one of them`,
    userId === null ? 'email' : 'userId',
  )
}

function optionalString(row: WireObject, name: string): string | null {
  const value = row[name] ?? null
  if (value !== null && typeof value !== 'string') throw wrong(name, 'a string')
  return value
}

/** A date as it is sent, in ms: `{"$t":"Date","v":…}` or an ISO string; null when absent. */
function optionalDate(row: WireObject, name: string): number | null {
  const value = row[name] ?? null
  if (isAbsent(value)) return null
  const text = isRecord(value) && value['$t'] === 'Date' ? value['v'] : value
  const time = typeof text === 'string' ? Date.parse(text) : Number.NaN
  if (Number.isNaN(time)) throw wrong(name, 'a Date: {"$t":"Date","v":"2026-01-31T12:00:00.000Z"}')
  return time
}

function wrong(property: string, expected: string): SatchelError {
  return unprocessable(`"${property}" of a member must be ${expected}`, property)
}

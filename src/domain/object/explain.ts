import { type Access, accessOf, findRoles, held, mayRead } from '../access/access'
import { type Actor, licensedUntil } from '../access/actor'
import type { Membership } from '../store/memberships'
import type { StoredObject } from '../store/objects'
import { PUBLIC_REALM, type Realm } from '../store/realms'
import type { ReadTx } from '../store/store'
import type { Table } from '../store/tables'
import type { User } from '../store/users'
import { isEmail } from '../value/email'
import { quoted, invalidRequest } from '../value/error'
import { mayAdd, mayManage, mayUpdate, FULL, type PermissionSet } from '../value/permission'
import { foldUserId } from '../value/user-id'
import { keyInView } from './object'
import { requireTable } from './tables'

export const EXPLAINED = ['read', 'add', 'update', 'delete'] as const

/** A question about the rights of a user. */
export interface Question {
  /** A user id. */
  readonly as: string
  readonly do: (typeof EXPLAINED)[number]
  readonly table: string
  /** The key of the object; null for `add`. */
  readonly key: string | null
  /** For `add`: the realm; null for the private one of the user. */
  readonly realm: string | null
  /** For `update`: a property; null for any. */
  readonly property: string | null
}

/** Reads a question from the parameters of a request. Throws `INVALID_REQUEST`. */
export function readQuestion(given: Readonly<Record<string, unknown>>): Question {
  const text = (name: string) => {
    const value = given[name]
    if (value === undefined || value === null || value === '') return null
    if (typeof value === 'string') return value
    throw invalidRequest(`${name} must be a string`)
  }
  const required = (name: string) => {
    const value = text(name)
    if (value === null) throw invalidRequest(`${name} is missing`)
    return value
  }
  const act = EXPLAINED.find((known) => known === given['do'])
  if (act === undefined) {
    throw invalidRequest(`do must be one of ${EXPLAINED.join(', ')}`)
  }
  return {
    as: foldUserId(required('as')),
    do: act,
    table: required('table'),
    key: text('key'),
    realm: text('realm'),
    property: text('property'),
  }
}

/** The answer to a question, with each step that leads to it. */
export interface Explanation {
  readonly allowed: boolean
  /** One sentence: the rule that decided. */
  readonly rule: string
  readonly user: { readonly userId: string; readonly state: UserState }
  readonly object: { readonly key: string; readonly owner: string | null } | null
  readonly realm: { readonly realmId: string; readonly kind: RealmKind } | null
  /** The member rows of the user in the realm. */
  readonly members: readonly ExplainedMember[]
}

export type UserState = 'active' | 'unknown' | 'deactivated' | 'licence expired'
type RealmKind = 'private' | 'public' | 'shared'

interface ExplainedMember {
  /** The key of the row; of the row of the realm for its owner. */
  readonly row: string
  readonly state: 'accepted' | 'open' | 'rejected'
  readonly permissions: PermissionSet
  readonly roles: readonly ExplainedRole[]
}

interface ExplainedRole {
  readonly name: string
  /** Null when there is no role of this name. */
  readonly permissions: PermissionSet | null
}

/**
 * Explains whether a user may do something with an object by the rules of `/my` (protocol.md §6.3,
 * design.md §5). Rows of `realms`, `members` and `roles` have further rules, which it does not look at.
 * `now` in ms. Throws `UNKNOWN_TABLE`, and `INVALID_REQUEST` for a missing key.
 */
export function explain(tx: ReadTx, question: Question, now: number): Explanation {
  const table = requireTable(tx, question.table)
  const user = tx.users.find(question.as)
  const actor = actorFor(question.as, user)
  const access = accessOf(tx, actor)
  const object = findObject(tx, table, question, actor)
  const realm = findRealm(tx, question, object)
  const members = realm === undefined ? [] : membersIn(tx, actor, realm)
  const facts = { question, table, access, object, realm, members, subject: question.as }
  const state = stateOf(user, now)
  const verdict = refusalOf(state, question) ?? judge(facts)
  return {
    ...verdict,
    user: { userId: question.as, state },
    object: object === undefined ? null : { key: object.key, owner: object.owner },
    realm: realm === undefined ? null : { realmId: realm.id, kind: kindOf(realm) },
    members,
  }
}

interface Verdict {
  readonly allowed: boolean
  readonly rule: string
}

interface Facts {
  readonly question: Question
  readonly table: Table
  readonly access: Access
  readonly object: StoredObject | undefined
  readonly realm: Realm | undefined
  readonly members: readonly ExplainedMember[]
  readonly subject: string
}

/** A user as they are at `/my`. */
export function actorFor(id: string, user: User | undefined): Actor {
  const given = user?.data?.['email']
  const email = typeof given === 'string' ? given : isEmail(id) ? id : null
  return { subject: id, email, name: null, scopes: new Set(['ACCESS_DB']) }
}

/** `now` in ms. */
export function stateOf(user: User | undefined, now: number): UserState {
  if (user === undefined) return 'unknown'
  if (user.deactivated !== null) return 'deactivated'
  return licensedUntil(user) > now ? 'active' : 'licence expired'
}

function refusalOf(state: UserState, question: Question): Verdict | undefined {
  if (state === 'deactivated') return refused('the user is deactivated')
  if (state !== 'licence expired' || question.do === 'read') return undefined
  return refused('the licence of the user has expired: they may read only')
}

function judge(facts: Facts): Verdict {
  const { question, table, access, object, realm, subject } = facts
  if (question.do === 'add') return judgeAdd(facts)
  if (object === undefined || realm === undefined) {
    return refused(`there is no object with this key in ${quoted(table.name)}`)
  }
  const isVisible = mayRead(access, table.name, object.realm, () => object.key)
  if (!isVisible) return refused(whyOutside(subject, realm))
  if (question.do === 'read') return judgeRead(facts, realm)
  if (object.owner === subject) return granted('the owner of an object may change and delete it')
  const sets = held(access, realm.ref)
  const { property } = question
  if (question.do === 'delete') {
    return mayManage(sets, table.name)
      ? by(facts, (set) => mayManage([set], table.name))
      : refused(`deleting needs to own the object, or manage on ${table.name} in ${realm.id}`)
  }
  const mayChange = (held: readonly PermissionSet[]) =>
    property === null
      ? mayManage(held, table.name) || held.some(({ update }) => mentions(update, table.name))
      : mayUpdate(held, table.name, property)
  return mayChange(sets)
    ? by(facts, (set) => mayChange([set]))
    : refused(`no permission updates ${nameOf(table, property)} in ${realm.id}`)
}

function judgeAdd(facts: Facts): Verdict {
  const { table, access, realm, subject } = facts
  if (realm === undefined) return refused('there is no such realm')
  if (realm.id === subject) return granted('everything is allowed in the private realm of a user')
  if (!access.realms.has(realm.ref)) return refused(whyOutside(subject, realm))
  return mayAdd(held(access, realm.ref), table.name)
    ? by(facts, (set) => mayAdd([set], table.name))
    : refused(`no permission adds to ${table.name} in ${realm.id}`)
}

function whyOutside(subject: string, realm: Realm): string {
  return kindOf(realm) === 'private'
    ? `the private realm of ${realm.id} is seen by nobody else: an object is shared by moving it to a realm with members`
    : `${subject} is not an accepted member of ${realm.id}`
}

function judgeRead({ members, subject }: Facts, realm: Realm): Verdict {
  if (realm.id === subject) return granted('it is in the private realm of the user')
  if (realm.id === PUBLIC_REALM) return granted('everyone may read the public realm')
  const accepted = members.find(({ state }) => state === 'accepted')
  return accepted === undefined
    ? granted('an invited user may read the realm and their own row')
    : granted(`the row ${accepted.row} makes the user a member`)
}

/** Names the first source of permissions that suffices. */
function by(
  { members, realm, subject }: Facts,
  suffices: (set: PermissionSet) => boolean,
): Verdict {
  if (realm?.id === subject) {
    return granted('everything is allowed in the private realm of a user')
  }
  for (const { row, state, permissions, roles } of members) {
    if (state !== 'accepted') continue
    if (suffices(permissions)) return granted(`the permissions of the row ${row}`)
    const role = roles.find((each) => each.permissions !== null && suffices(each.permissions))
    if (role !== undefined) return granted(`the role ${quoted(role.name)} in the row ${row}`)
  }
  return granted('the permissions of several rows together')
}

function findObject(
  tx: ReadTx,
  table: Table,
  { do: act, key }: Question,
  actor: Actor,
): StoredObject | undefined {
  if (act === 'add') return undefined
  if (key === null) {
    throw invalidRequest(`key is missing: which object of ${table.name}?`)
  }
  return tx.objects.find(table, keyInView(table, 'my', key, actor))
}

function findRealm(
  tx: ReadTx,
  { do: act, as, realm }: Question,
  object: StoredObject | undefined,
): Realm | undefined {
  if (object !== undefined) return tx.realms.findByRef(object.realm)
  if (act !== 'add') return undefined
  const found = tx.realms.find(realm ?? as)
  // The private realm of a user begins with its first object.
  return found ?? (realm === null || realm === as ? { ref: -1, id: as } : undefined)
}

function membersIn(tx: ReadTx, { subject, email }: Actor, realm: Realm): ExplainedMember[] {
  const memberships = tx.memberships.ofSubjectIn(subject, email, realm.ref)
  return memberships.map((membership) => describeMember(tx, membership, realm))
}

function describeMember(
  tx: ReadTx,
  { source, accepted, rejected, permissions, roles }: Membership,
  { id: realmId }: Realm,
): ExplainedMember {
  const isOwner = source.startsWith('realms:')
  const found = findRoles(
    tx,
    roles.map((name) => ({ realmId, name })),
  )
  return {
    row: source.slice(source.indexOf(':') + 1),
    state: accepted ? 'accepted' : rejected ? 'rejected' : 'open',
    permissions: isOwner ? FULL : permissions,
    roles: roles.map((name, at) => ({ name, permissions: found[at] ?? null })),
  }
}

function kindOf({ id }: Realm): RealmKind {
  if (id === PUBLIC_REALM) return 'public'
  return id.startsWith('rlm') ? 'shared' : 'private'
}

function mentions(update: PermissionSet['update'], table: string): boolean {
  return update === '*' || (update !== undefined && Object.hasOwn(update, table))
}

function nameOf({ name }: Table, property: string | null): string {
  return property === null ? name : `${name}.${property}`
}

function granted(rule: string): Verdict {
  return { allowed: true, rule }
}

function refused(rule: string): Verdict {
  return { allowed: false, rule }
}

/**
 * The access model said again from the papers (`protocol.md` §6.3 and §10.3, `design.md` §4 "Realm
 * ids" and §5), without a line of the code it judges: slow, plain, everything looked up anew.
 *
 * A verdict names *every* rule a request breaks; a refusal may name any one of them. Where
 * the papers leave room the safer reading is taken, and its comment begins with "Safer:".
 */
import {
  type Refusal,
  absent,
  conflict,
  exceeds,
  hidden,
  lacks,
  lastHolder,
  unacceptable,
  unknownRealm,
} from './oracle-refusal'
import { dateAt, newestAnswer, wrongMember, wrongRealmOwner, wrongRole } from './oracle-rows'
import { isAtMost, mayAdd, mayManage, mayManageAll, mayUpdate } from './oracle-permission'
import {
  acceptedRows,
  findRow,
  fullHoldersIn,
  heldBy,
  isAddressedTo,
  isLive,
  isPrivate,
  isRole,
  keyOf,
  keyPathOf,
  NOW,
  type Person,
  peopleIn,
  PUBLIC,
  put,
  realmOf,
  roleIn,
  rolesOf,
  type Row,
  rowsOf,
  seesRealm,
  seesRow,
  type Value,
  without,
  type World,
} from './oracle-world'

export type Verdict =
  | { readonly allowed: true; readonly world: World }
  | { readonly allowed: false; readonly refusals: readonly Refusal[] }

/** The rows of a table that a person sees through `/my` (`design.md` §5.8). */
export const visibleTo = (world: World, person: Person, table: string): Row[] =>
  rowsOf(world, table).filter((row) => seesRow(world, person, row))

/** POST `/my/<table>` with one object. */
export const putMine = (world: World, person: Person, table: string, sent: Value): Verdict => {
  const body = withPrivateKey(person, table, sent)
  if (needsRealm(table) && typeof body['realmId'] !== 'string') return refuse([unacceptable()])
  const old = findRow(world, table, keyOf(table, body))
  if (old === undefined || seesRow(world, person, old)) {
    return putSeen(world, person, table, old, forInvitee(person, table, old, body))
  }
  return refuse([hidden(table), ...wrongPlace(world, person, table, old.key, targetOf(old, body))])
}

const putSeen = (
  world: World,
  person: Person,
  table: string,
  old: Row | undefined,
  body: Value,
): Verdict => {
  if (old === undefined) {
    return table === 'realms'
      ? createRealm(world, person, body)
      : insert(world, person, table, body)
  }
  return update(world, person, old, body)
}

/** An invitation for somebody else never makes its author the member (`design.md` §5.4). */
const forInvitee = (person: Person, table: string, old: Row | undefined, body: Value): Value => {
  const { userId, ...rest } = body
  const isOwnId = table === 'members' && userId === person.id && old?.value['userId'] !== person.id
  if (!isOwnId || typeof rest['email'] !== 'string') return body
  return isAddressedTo(rest, person) ? body : rest
}

/** POST `/my/<table>` with an array: one after the other, all or nothing. */
export const putAllMine = (
  world: World,
  person: Person,
  table: string,
  sent: readonly Value[],
): Verdict => {
  let current = world
  const refusals: Refusal[] = []
  for (const value of sent) {
    const verdict = putMine(current, person, table, value)
    if (verdict.allowed) current = verdict.world
    else refusals.push(...verdict.refusals)
  }
  return refusals.length > 0 ? refuse(refusals) : { allowed: true, world: current }
}

/** DELETE `/my/<table>/<key>`. */
export const removeMine = (world: World, person: Person, table: string, sent: string): Verdict => {
  const key = table !== 'roles' && isPrivateKey(sent) ? privateKey(person, sent) : sent
  const old = findRow(world, table, key)
  if (old === undefined || !seesRow(world, person, old)) return refuse([absent()])
  const held = heldBy(world, person.id, realmOf(old))
  const isOwnRow = table === 'members' && isAddressedTo(old.value, person)
  const refusals: Refusal[] = []
  if (!isOwnRow && !isFree(world, person, old)) refusals.push(lacks('manage', table))
  if (table === 'realms') {
    return refusals.length > 0
      ? refuse(refusals)
      : { allowed: true, world: withoutRealm(world, key) }
  }
  const next = without(world, old)
  if (table === 'roles') {
    // Safer: taking a local role away brings back the global one of its name, which must not give
    // more than the actor holds.
    const name = String(old.value['name'])
    const revealed = roleIn(next, realmOf(old), name)
    if (!isAtMost(revealed, held)) refusals.push(exceeds())
    // Safer: a member row that keeps the name of a removed role would be an early bird.
    const isGiven =
      realmOf(old) === PUBLIC ||
      rowsOf(world, 'members').some(
        (row) => realmOf(row) === realmOf(old) && rolesOf(row.value).includes(name),
      )
    if (isGiven && !isRole(next, realmOf(old), name) && !mayManageAll(held)) {
      refusals.push(exceeds())
    }
  }
  return settle(world, next, realmOf(old), table, refusals)
}

/** POST `/all/<table>` with one object, by a writer with GLOBAL_WRITE. */
export const putAnywhere = (world: World, person: Person, table: string, body: Value): Verdict => {
  const realm = body['realmId']
  if (typeof realm !== 'string') return refuse([unacceptable()])
  const key = keyOf(table, body)
  const refusals: Refusal[] = []
  if (table === 'realms' && (isPrivate(realm) || realm === PUBLIC)) refusals.push(unacceptable())
  if (table !== 'realms' && !isLive(world, realm)) refusals.push(unknownRealm())
  if (needsRealm(table) && isPrivate(realm)) refusals.push(unacceptable())
  // Safer: "they must stay in the private realm" (`protocol.md` §10.3), regardless of the writer.
  const isAtHome = isPrivate(realm) && key.endsWith(`:${realm}`)
  if (isPrivateKey(key) && !isAtHome) refusals.push(unacceptable())
  if (refusals.length > 0) return refuse(refusals)
  const old = findRow(world, table, key)
  // Safer: an object that an administrator puts into a shared realm without an owner is unowned.
  const owner = ownerOf(
    body,
    old === undefined ? (isPrivate(realm) ? realm : null) : old.value['owner'],
  )
  const next = put(world, table, { ...body, owner })
  return { allowed: true, world: table === 'realms' ? withOwnerRow(next, realm, person) : next }
}

/**
 * The owner of a realm has an accepted `members` row (`protocol.md` Appendix C.7): the invitation to the
 * address of an owner who acts, which accepts it; else a row under a key derived from the realm, or from
 * the realm and the owner where a former owner kept the first one. A
 * writer with GLOBAL_WRITE has proven their address as well.
 */
const withOwnerRow = (world: World, realm: string, writer: Person): World => {
  const owner = findRow(world, 'realms', realm)?.value['owner']
  if (typeof owner !== 'string' || acceptedRows(world, owner, realm).length > 0) return world
  const email = writer.id === owner ? writer.email : undefined
  const invitation = invitationTo(world, realm, email)
  if (invitation !== undefined) {
    const kept = Object.entries(invitation.value).filter(([name]) => name !== 'rejected')
    const row = { ...Object.fromEntries(kept), userId: owner, accepted: dateAt(NOW) }
    return put(world, 'members', row)
  }
  const first = `mmb${realm.slice('rlm'.length)}`
  return put(world, 'members', {
    id: findRow(world, 'members', first) === undefined ? first : `${first}:${owner}`,
    realmId: realm,
    userId: owner,
    ...(email === undefined ? {} : { email }),
    accepted: dateAt(NOW),
    owner,
  })
}

/** The open invitation to this address in the realm, the first by its key. */
const invitationTo = (world: World, realm: string, email: string | undefined): Row | undefined =>
  rowsOf(world, 'members')
    .filter(({ value }) => value['realmId'] === realm && value['userId'] === undefined)
    .filter(({ value }) => email !== undefined && value['email'] === email)
    .toSorted((one, other) => (one.key < other.key ? -1 : 1))[0]

/** DELETE `/all/<table>/<key>`, by a writer with GLOBAL_WRITE. */
export const removeAnywhere = (world: World, table: string, key: string): Verdict => {
  const old = findRow(world, table, key)
  if (old === undefined) return refuse([absent()])
  const next = table === 'realms' ? withoutRealm(world, key) : without(world, old)
  return { allowed: true, world: next }
}

/** POST `/public/<table>` with one object, by a writer with GLOBAL_WRITE. */
export const putPublic = (world: World, person: Person, table: string, sent: Value): Verdict => {
  if (table === 'realms') return refuse([unacceptable()])
  if (sent['realmId'] !== undefined && sent['realmId'] !== PUBLIC) return refuse([unacceptable()])
  const body = { ...sent, realmId: PUBLIC }
  const old = findRow(world, table, keyOf(table, body))
  if (old !== undefined && realmOf(old) !== PUBLIC) return refuse([conflict()])
  return putAnywhere(world, person, table, body)
}

/** DELETE `/public/<table>/<key>`, by a writer with GLOBAL_WRITE. */
export const removePublic = (world: World, table: string, key: string): Verdict => {
  const old = findRow(world, table, key)
  return old === undefined || realmOf(old) !== PUBLIC
    ? refuse([absent()])
    : removeAnywhere(world, table, key)
}

const insert = (world: World, person: Person, table: string, body: Value): Verdict => {
  const realm = body['realmId'] === undefined ? person.id : textOf(body['realmId'])
  const value: Value = { ...body, realmId: realm, owner: ownerOf(body, person.id) }
  const refusals = wrongPlace(world, person, table, keyOf(table, value), realm)
  const held = heldBy(world, person.id, realm)
  if (value['owner'] !== person.id && value['owner'] !== null) refusals.push(lacks('owner'))
  if (table === 'members') refusals.push(...wrongMember(world, person, undefined, value))
  if (table === 'roles') refusals.push(...wrongRole(held, value))
  return settle(world, put(world, table, value), realm, table, refusals)
}

/** The tied realm of an own object may be made again. */
const isTiedTo = (world: World, person: Person, realm: string): boolean => {
  const tied = world.rows.filter((row) => realm === `rlm~${row.key}`)
  return tied.length > 0 && tied.every((row) => isFree(world, person, row))
}

const createRealm = (world: World, person: Person, body: Value): Verdict => {
  const realm = textOf(body['realmId'])
  if (isPrivate(realm) || realm === PUBLIC) return refuse([unacceptable()])
  const owner = ownerOf(body, person.id)
  const refusals: Refusal[] = []
  if (owner !== person.id && owner !== null) refusals.push(lacks('owner'))
  if (world.retired.includes(realm) && !isTiedTo(world, person, realm)) refusals.push(conflict())
  if (realm.startsWith('rlm~')) {
    // Safer: keys are unique per table only, so every object with that key has to agree.
    const tied = world.rows.filter((row) => row.key === realm.slice('rlm~'.length))
    // Safer: a private key that does not exist is refused like one of somebody else.
    const isMissing = realm.startsWith('rlm~#') && tied.length === 0
    if (isMissing || !tied.every((row) => isFree(world, person, row))) {
      refusals.push(lacks('realmId'))
    }
  }
  if (refusals.length > 0) return refuse(refusals)
  return {
    allowed: true,
    world: withOwnerRow(put(world, 'realms', { ...body, owner }), realm, person),
  }
}

const update = (world: World, person: Person, old: Row, body: Value): Verdict => {
  const { table, key } = old
  const [source, realm] = [realmOf(old), targetOf(old, body)]
  const value: Value = {
    ...(table === 'members' ? keptOf(old) : {}),
    ...body,
    realmId: realm,
    owner: ownerOf(body, old.value['owner']),
  }
  const changed = changedBetween(old, value)
  // Safer: only a manager of roles may put a role, even an unchanged one.
  if (changed.length === 0 && table !== 'roles') return { allowed: true, world }
  if (table === 'members' && isAnswer(person, old, value, changed)) {
    const next = put(world, table, { ...newestAnswer(value, changed), userId: person.id })
    return settle(world, next, source, table, [])
  }

  const held = heldBy(world, person.id, source)
  const refusals: Refusal[] = []
  for (const property of isFree(world, person, old) ? [] : changed) {
    // `realmId` listed by name lets an object out of its realm (`conformance.md` 120); it does not
    // spare the mover `add` where the object goes.
    if (!mayUpdate(held, table, property)) refusals.push(lacks('update', table, property))
  }
  if (realm !== source) refusals.push(...wrongPlace(world, person, table, key, realm))
  if (table === 'members') refusals.push(...wrongMember(world, person, old.value, value))
  if (table === 'roles') refusals.push(...wrongRole(held, value))
  if (table === 'realms') refusals.push(...wrongRealmOwner(world, held, old, value))
  // A holder of every permission may change a tied realm, and gets the same messages as elsewhere.
  const isTied = table === 'realms' && key.startsWith('rlm~')
  if (isTied && !mayManageAll(held) && refusals.length > 0) return { allowed: true, world }
  const next = put(world, table, value)
  // An administrator may have taken the row of the owner away.
  const whole = table === 'realms' && refusals.length === 0 ? withOwnerRow(next, key, person) : next
  return settle(world, whole, source, table, refusals)
}

/** Everything on a row is its owner's; but only managers of roles may write a role, `design.md` §5.3. */
const isFree = (world: World, person: Person, row: Row): boolean =>
  (row.value['owner'] === person.id && row.table !== 'roles') ||
  mayManage(heldBy(world, person.id, realmOf(row)), row.table)

/** Why a row of a table may not be put into a realm. */
const wrongPlace = (
  world: World,
  person: Person,
  table: string,
  key: string,
  realm: string,
): Refusal[] => {
  if (table === 'realms') return []
  const refusals: Refusal[] = []
  if (needsRealm(table) && isPrivate(realm)) refusals.push(unacceptable())
  if (isPrivateKey(key) && realm !== person.id) refusals.push(unacceptable())
  // Safer: `#x:a` of the user `b` would be `#x` of the user `a:b`; no address has a colon.
  if (
    isPrivateKey(key) &&
    !person.id.includes('@') &&
    key.slice(0, -`:${person.id}`.length).includes(':')
  ) {
    refusals.push(unacceptable())
  }
  if (!seesRealm(world, person.id, realm)) refusals.push(lacks('realmId'))
  else if (!mayAdd(heldBy(world, person.id, realm), table)) refusals.push(lacks('add', table))
  return refusals
}

/**
 * The addressed person's own yes or no, "exactly this" (`protocol.md` §6.4). Mixed with anything
 * else it is an update like any other.
 */
const isAnswer = (person: Person, old: Row, value: Value, changed: readonly string[]): boolean =>
  isAddressedTo(old.value, person) &&
  (value['userId'] === undefined || value['userId'] === null || value['userId'] === person.id) &&
  changed.every(
    (property) =>
      property === 'accepted' ||
      property === 'rejected' ||
      (property === 'userId' && typeof old.value['userId'] !== 'string'),
  )

/**
 * What of a member row is the server's stays when a body leaves it out, and so does its person:
 * an absent `userId` reads as "unchanged", like `realmId` and `owner` (`design.md` §5.1).
 */
const keptOf = (old: Row): Value =>
  Object.fromEntries(
    ['userId', 'accepted', 'rejected', 'invitedDate', 'invitedBy']
      .filter((property) => Object.hasOwn(old.value, property))
      .map((property) => [property, old.value[property]]),
  )

const settle = (
  world: World,
  next: World,
  realm: string,
  table: string,
  refusals: readonly Refusal[],
): Verdict => {
  const touchesPeople = needsRealm(table) || table === 'realms'
  const all = [
    ...refusals,
    ...(touchesPeople && losesLastHolder(world, next, realm) ? [lastHolder()] : []),
    ...(losesOwnerRow(world, next, realm) ? [conflict()] : []),
  ]
  return all.length > 0 ? refuse(all) : { allowed: true, world: next }
}

/**
 * Safer: "the last holder of full rights cannot be removed while others remain" also forbids to
 * demote them, by their row, by a role of that realm or by its owner.
 */
const losesLastHolder = (world: World, next: World, realm: string): boolean =>
  fullHoldersIn(world, realm).length > 0 &&
  fullHoldersIn(next, realm).length === 0 &&
  peopleIn(next, realm).length > 0

/** "Undeletable while they own it" (`design.md` §5.5). */
const losesOwnerRow = (world: World, next: World, realm: string): boolean => {
  const owner = findRow(next, 'realms', realm)?.value['owner']
  const isIn = (where: World) =>
    typeof owner === 'string' && acceptedRows(where, owner, realm).length > 0
  return isIn(world) && !isIn(next)
}

const withoutRealm = (world: World, realm: string): World => ({
  rows: world.rows.filter((row) => realmOf(row) !== realm),
  retired: world.retired.includes(realm) ? world.retired : [...world.retired, realm],
})

const needsRealm = (table: string): boolean => table === 'members' || table === 'roles'

const targetOf = (old: Row, body: Value): string =>
  body['realmId'] === undefined ? realmOf(old) : textOf(body['realmId'])

/** `#x` is `#x:<me>` (`protocol.md` §10.3). */
const privateKey = (person: Person, key: string): string =>
  key.endsWith(`:${person.id}`) ? key : `${key}:${person.id}`

const isPrivateKey = (key: string): boolean => key.startsWith('#')

const withPrivateKey = (person: Person, table: string, body: Value): Value => {
  const [path = 'id', ...others] = keyPathOf(table)
  const key = body[path]
  return others.length === 0 && typeof key === 'string' && isPrivateKey(key)
    ? { ...body, [path]: privateKey(person, key) }
    : body
}

const changedBetween = (old: Row, value: Value): string[] =>
  [...new Set([...Object.keys(old.value), ...Object.keys(value)])].filter(
    (property) =>
      !keyPathOf(old.table).includes(property) &&
      property !== '_hasBlobRefs' &&
      JSON.stringify([Object.hasOwn(old.value, property), old.value[property]]) !==
        JSON.stringify([Object.hasOwn(value, property), value[property]]),
  )

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')

const ownerOf = (body: Value, otherwise: unknown): unknown =>
  body['owner'] === undefined ? otherwise : body['owner']

const refuse = (refusals: readonly Refusal[]): Verdict => ({ allowed: false, refusals })

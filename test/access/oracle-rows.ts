/** The special rules for rows of `members`, `roles` and `realms` (`design.md` §5.3 to §5.5). */
import { type Holding, isAtMost, isRecord, mayManage, mayManageAll } from './oracle-permission'
import { type Refusal, exceeds, lacks } from './oracle-refusal'
import {
  givenBy,
  heldBy,
  isIn,
  NOW,
  type Person,
  type Row,
  timeOf,
  unknownRolesOf,
  type Value,
  type World,
} from './oracle-world'

/** `design.md` §5.3 and §5.4, and `protocol.md` §6.3 on `userId`; `old` is undefined for a new row. */
export const wrongMember = (
  world: World,
  person: Person,
  old: Value | undefined,
  value: Value,
): Refusal[] => {
  const refusals: Refusal[] = []
  const isChanged = (property: string): boolean =>
    JSON.stringify([old?.[property]]) !== JSON.stringify([value[property]])

  // Safer: a row that moves takes its person along, so it is judged like one that is written anew.
  const userId = value['userId']
  const isSomeoneElse = userId !== undefined && userId !== null && userId !== person.id
  if (isSomeoneElse && (isChanged('userId') || isChanged('realmId'))) refusals.push(lacks('userId'))

  // Safer: beside other changes an answer is one's own only in a row that says so.
  for (const property of ['accepted', 'rejected']) {
    if (isChanged(property) && userId !== person.id) refusals.push(lacks(property))
  }
  for (const property of ['invitedDate', 'invitedBy']) {
    if (isChanged(property)) refusals.push(lacks(property))
  }
  // Safer: redirecting an existing grant to another person or realm counts as granting it.
  if (['userId', 'email', 'roles', 'permissions', 'realmId'].some(isChanged)) {
    const held = heldBy(world, person.id, String(value['realmId']))
    if (!isAtMost(givenBy(world, value), held)) refusals.push(exceeds())
    // A role that comes later gives nothing to its early bird (`design.md` §5.3).
    if (unknownRolesOf(world, value).length > 0 && !mayManageAll(held)) refusals.push(exceeds())
  }
  return refusals
}

/**
 * A yes or a no is the last word of its person when it comes, though their clock is behind: then it
 * is said at the server's time, or right after what it takes back.
 */
export const newestAnswer = (value: Value, changed: readonly string[]): Value => {
  const said = ['accepted', 'rejected'].filter(
    (property) => changed.includes(property) && isRecord(value[property]),
  )
  if (said.length !== 1) return value
  const [accepted, rejected] = [timeOf(value['accepted']), timeOf(value['rejected'])]
  if (said[0] === 'accepted' && accepted <= rejected) {
    return { ...value, accepted: dateAt(Math.max(NOW, rejected + 1)) }
  }
  if (said[0] === 'rejected' && rejected < accepted) {
    return { ...value, rejected: dateAt(Math.max(NOW, accepted)) }
  }
  return value
}

export const dateAt = (time: number): Value => ({ $t: 'Date', v: new Date(time).toISOString() })

/** Safer: a role grants, so its writer grants at most their own permissions, as in a member row. */
export const wrongRole = (held: Holding, value: Value): Refusal[] => {
  const refusals: Refusal[] = []
  if (!mayManage(held, 'roles')) refusals.push(lacks('manage', 'roles'))
  const permissions = value['permissions']
  if (isRecord(permissions) && !isAtMost([permissions], held)) refusals.push(exceeds())
  return refusals
}

export const wrongRealmOwner = (world: World, held: Holding, old: Row, value: Value): Refusal[] => {
  const owner = value['owner']
  if (owner === old.value['owner']) return []
  const refusals: Refusal[] = []
  // Safer: "only to an accepted member" leaves no room for null.
  if (typeof owner !== 'string' || !isIn(world, owner, old.key)) refusals.push(lacks('owner'))
  // Safer: owning a realm means holding every permission, so only a holder of all may give it away.
  if (!mayManageAll(held)) refusals.push(lacks('owner'))
  return refusals
}

/** What is special about the rows of `members`, `roles` and `realms` (`design.md` §5.3 to §5.5). */
import { type Holding, isAtMost, isRecord, mayManage, mayManageAll } from './oracle-permission'
import { type Refusal, exceeds, lacks } from './oracle-refusal'
import {
  givenBy,
  heldBy,
  isIn,
  type Person,
  type Row,
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
  // Safer: whoever turns an existing grant to another person or realm gives it.
  if (['userId', 'email', 'roles', 'permissions', 'realmId'].some(isChanged)) {
    const held = heldBy(world, person.id, String(value['realmId']))
    if (!isAtMost(givenBy(world, value), held)) refusals.push(exceeds())
  }
  return refusals
}

/** Safer: a role gives, so whoever writes one grants at most what they hold, as in a member row. */
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
  // Safer: owning a realm is holding everything in it, so only who holds everything may give it.
  if (!mayManageAll(held)) refusals.push(lacks('owner'))
  return refusals
}

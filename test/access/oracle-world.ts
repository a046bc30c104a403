/**
 * A database as the papers describe it, for the oracle: a plain list of rows, and the questions who
 * is in a realm, who holds what there, who sees a row (`protocol.md` §6.1 and §6.3, `design.md` §4
 * and §5.4, §5.5, §5.8). Everything is looked up anew each time; nothing is kept.
 */
import { EVERYTHING, type Holding, isRecord, mayManageAll } from './oracle-permission'

export type Value = Readonly<Record<string, unknown>>

export interface Row {
  readonly table: string
  readonly key: string
  readonly value: Value
}

export interface World {
  readonly rows: readonly Row[]
  /** Realm ids that existed once (`design.md` §4). */
  readonly retired: readonly string[]
}

export interface Person {
  readonly id: string
  readonly email?: string
}

export const EMPTY: World = { rows: [], retired: [] }

export const PUBLIC = 'rlm-public'

const KEY_PATHS: Readonly<Record<string, readonly string[]>> = {
  realms: ['realmId'],
  members: ['id'],
  roles: ['realmId', 'name'],
}

export const keyPathOf = (table: string): readonly string[] =>
  Object.hasOwn(KEY_PATHS, table) ? (KEY_PATHS[table] ?? ['id']) : ['id']

export const keyOf = (table: string, value: Value): string => {
  const parts = keyPathOf(table).map((path) => value[path])
  return parts.length === 1 ? String(parts[0]) : JSON.stringify(parts)
}

export const rowsOf = (world: World, table: string): readonly Row[] =>
  world.rows.filter((row) => row.table === table)

export const findRow = (world: World, table: string, key: string): Row | undefined =>
  world.rows.find((row) => row.table === table && row.key === key)

export const realmOf = (row: Row): string => String(row.value['realmId'])

export const put = (world: World, table: string, value: Value): World => {
  const row = { table, key: keyOf(table, value), value }
  const old = findRow(world, table, row.key)
  return {
    ...world,
    rows:
      old === undefined
        ? [...world.rows, row]
        : world.rows.map((other) => (other === old ? row : other)),
  }
}

export const without = (world: World, removed: Row): World => ({
  ...world,
  rows: world.rows.filter((row) => row !== removed),
})

export const isPrivate = (realm: string): boolean => !realm.startsWith('rlm')

/** Private realms need no row; `rlm-public` is always there. */
export const isLive = (world: World, realm: string): boolean =>
  isPrivate(realm) || realm === PUBLIC || findRow(world, 'realms', realm) !== undefined

export const ownsRealm = (world: World, user: string, realm: string): boolean =>
  findRow(world, 'realms', realm)?.value['owner'] === user

/**
 * "When `userId` is set and `rejected` is absent or older than `accepted`" (`design.md` §5.4). Two
 * equal times read as a refusal: a tie keeps no user in a realm.
 */
export const countsAsAccepted = (row: Value): boolean =>
  typeof row['userId'] === 'string' && !isRefused(row)

const isRefused = (row: Value): boolean =>
  row['rejected'] !== undefined &&
  row['rejected'] !== null &&
  !(timeOf(row['rejected']) < timeOf(row['accepted']))

/** The server's time, ms. */
export const NOW = Date.UTC(2030, 0, 1, 12)

export const timeOf = (value: unknown): number =>
  isRecord(value) && typeof value['v'] === 'string' ? Date.parse(value['v']) : Number.NaN

export const acceptedRows = (world: World, user: string, realm: string): readonly Row[] =>
  rowsOf(world, 'members').filter(
    (row) =>
      row.value['realmId'] === realm && row.value['userId'] === user && countsAsAccepted(row.value),
  )

/**
 * The person a member row speaks to: its `userId`, or while it has none, the users with its e-mail.
 */
export const isAddressedTo = (row: Value, person: Person): boolean =>
  typeof row['userId'] === 'string'
    ? row['userId'] === person.id
    : typeof row['email'] === 'string' &&
      person.email !== undefined &&
      row['email'].trim().toLowerCase() === person.email.toLowerCase()

export const isIn = (world: World, user: string, realm: string): boolean =>
  realm === user || ownsRealm(world, user, realm) || acceptedRows(world, user, realm).length > 0

export const seesRealm = (world: World, user: string, realm: string): boolean =>
  realm === PUBLIC || (isLive(world, realm) && isIn(world, user, realm))

/**
 * Everything of the realms one is in, and of those one is invited to what the invitation is made
 * of: the row of the realm and one's own member row (`protocol.md` §4.7 and §6.4, "the set that
 * sync would deliver" in `design.md` §5.8). Both stay in sight when it was refused, for it may still
 * be answered otherwise or deleted (`protocol.md` Appendix C.6).
 */
export const seesRow = (world: World, person: Person, row: Row): boolean => {
  // Everyone is in the public realm: of its member rows each person sees their own only.
  if (row.table === 'members' && realmOf(row) === PUBLIC) return isAddressedTo(row.value, person)
  if (seesRealm(world, person.id, realmOf(row))) return true
  if (row.table === 'members') return isAddressedTo(row.value, person)
  return (
    row.table === 'realms' &&
    rowsOf(world, 'members').some(
      (member) => realmOf(member) === realmOf(row) && isAddressedTo(member.value, person),
    )
  )
}

/**
 * A realm-local role hides the global one of its name, an unknown role gives nothing.
 */
export const roleIn = (world: World, realm: string, name: string): Holding => {
  const role = findRole(world, realm, name)
  return isRecord(role?.value['permissions']) ? [role.value['permissions']] : []
}

export const isRole = (world: World, realm: string, name: string): boolean =>
  findRole(world, realm, name) !== undefined

const findRole = (world: World, realm: string, name: string): Row | undefined =>
  findRow(world, 'roles', JSON.stringify([realm, name])) ??
  findRow(world, 'roles', JSON.stringify([PUBLIC, name]))

/** The names in a member row that no role has, so that whatever is put there later counts for it. */
export const unknownRolesOf = (world: World, row: Value): string[] =>
  rolesOf(row).filter((name) => !isRole(world, String(row['realmId']), name))

export const rolesOf = (row: Value): string[] =>
  Array.isArray(row['roles']) ? row['roles'].map(String) : []

/** The permissions that a member row grants in its realm. */
export const givenBy = (world: World, row: Value): Holding => {
  return [
    ...(isRecord(row['permissions']) ? [row['permissions']] : []),
    ...rolesOf(row).flatMap((name) => roleIn(world, String(row['realmId']), name)),
  ]
}

export const heldBy = (world: World, user: string, realm: string): Holding => {
  if (realm === user || ownsRealm(world, user, realm)) return EVERYTHING
  return acceptedRows(world, user, realm).flatMap((row) => givenBy(world, row.value))
}

/** Everyone who is in a realm, its owner included. */
export const peopleIn = (world: World, realm: string): string[] => {
  const owner = findRow(world, 'realms', realm)?.value['owner']
  const members = rowsOf(world, 'members')
    .filter((row) => row.value['realmId'] === realm && countsAsAccepted(row.value))
    .map((row) => String(row.value['userId']))
  return [...new Set([...(typeof owner === 'string' ? [owner] : []), ...members])]
}

export const fullHoldersIn = (world: World, realm: string): string[] =>
  peopleIn(world, realm).filter((user) => mayManageAll(heldBy(world, user, realm)))

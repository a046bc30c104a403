import { quoted } from '../value/error'
import { isIdPrefix } from '../value/id'
import { compoundKey } from '../value/key'
import { isWireObject } from '../value/value'
import { PUBLIC_REALM } from '../store/realms'
import { requireUserId } from '../value/user-id'
import { type ObjectEntry, type UserEntry, inPlace, refuseAt, requireData } from './entry'
import { isEmail } from '../value/email'

/** Names a place below the one that a section or a line has. */
export type PlaceOf = (...path: readonly string[]) => string

/** Global roles by name: rows of `roles` in `rlm-public` (protocol.md §9.4). Throws `UNPROCESSABLE`. */
export function roleEntries(roles: unknown, placeOf: PlaceOf): ObjectEntry[] {
  return membersOf(roles, placeOf).map(([name, role]) => {
    const place = placeOf(name)
    const id = compoundKey([PUBLIC_REALM, name])
    return { place, table: 'roles', realm: PUBLIC_REALM, id, data: requireData(role, place) }
  })
}

/** Demo users by id, which ends with `@demo.local` (protocol.md §7). Throws `UNPROCESSABLE`. */
export function userEntries(users: unknown, placeOf: PlaceOf): UserEntry[] {
  return membersOf(users, placeOf).map(([id, data]) => {
    const place = placeOf(id)
    const user = inPlace(place, () => requireUserId(id))
    if (!isEmail(user) || !user.endsWith('@demo.local')) {
      throw refuseAt(place, 'the id of a demo user ends with @demo.local')
    }
    return { place, user, data: requireData(data, place) }
  })
}

/** Id prefixes by table, as `satchel export` writes them. Throws `UNPROCESSABLE`. */
export function parseIdPrefixes(prefixes: unknown, placeOf: PlaceOf): Map<string, string> {
  const entries = membersOf(prefixes, placeOf).map(([table, prefix]): [string, string] => {
    if (typeof prefix === 'string' && isIdPrefix(prefix)) return [table, prefix]
    throw refuseAt(placeOf(table), 'an id prefix is a text of one to three characters')
  })
  return new Map(entries)
}

export function parseSealed(sealed: unknown, place: string): boolean {
  if (typeof sealed === 'boolean') return sealed
  throw refuseAt(place, `${quoted('sealed')} is true or false`)
}

function membersOf(section: unknown, placeOf: PlaceOf): [string, unknown][] {
  if (isWireObject(section)) return Object.entries(section)
  throw refuseAt(placeOf(), 'an object is expected')
}

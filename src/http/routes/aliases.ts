import { type AnyElysia, Elysia, NotFoundError } from 'elysia'
import { isDatabaseName } from '../../domain/database/name'
import { decodePercent } from '../../domain/value/percent'
import { isReservedTableName } from '../../domain/value/schema'
import { callOf } from '../call'
import type { Door } from '../door'
import { nameOf, routesAt } from './objects'

/**
 * The tables of `/my` by the shorter addresses that the SDK knows, `/<table>` and `/<table>/<key>`,
 * with `?realm=` for `?realmId=` (protocol.md §14.1).
 */
export function aliasRoutes(door: Door): AnyElysia {
  const address = { name: 'table', view: 'my', prefix: '/:database', place: 1, queryOf } as const
  return new Elysia({ name: 'aliases' })
    .onTransform(({ request }) => {
      if (!isTableAddress(callOf(request).path)) throw new NotFoundError()
    })
    .use(routesAt(door, address))
}

/** False where the first two segments of a path can be no database and no table of it. */
export function isTableAddress(path: string): boolean {
  const [, database = '', table = ''] = path.split('/', 3).map(findText)
  return isDatabaseName(database) && !isReservedTableName(table) && !isTaken(table)
}

/** The text as it is when it is none that an address may hold: it is refused where it is read. */
function findText(raw: string): string {
  try {
    return decodePercent(raw)
  } catch {
    return raw
  }
}

/** Names that a table may have, but an address of a database has already. */
function isTaken(name: string): boolean {
  return name.startsWith('.') || TAKEN.has(name)
}

const TAKEN = new Set(['auth-providers', 'invitation'])

function queryOf(rawQuery: string): string {
  if (!rawQuery.includes('realm')) return rawQuery
  return rawQuery
    .split('&')
    .map((part) => (nameOf(part) === 'realm' ? `realmId${part.replace(/^[^=]*/, '')}` : part))
    .join('&')
}

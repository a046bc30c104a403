import { Elysia } from 'elysia'
import { ANONYMOUS, type Actor } from '../domain/access/actor'
import { type DoorName, DOORS, requireDoor } from '../domain/access/door'
import { callOf } from './call'
import { databaseOf, identify } from './caller'
import type { HttpContext } from './context'

/**
 * Derives `call`, `host` and `actor`, and counts the request. A route names its `door`; the
 * macro refuses callers whom that does not let in, with 401 or 403, before a body is read (spec.md §5.5).
 * The stored state of the caller is checked where the data is served (`requireStanding`).
 */
export function bearer(http: HttpContext, { isCounted = true } = {}) {
  return new Elysia({ name: isCounted ? 'bearer' : 'bearer, not counted' })
    .use(database(http))
    .derive(async ({ call, host }) => {
      return { actor: await identify(http, call, host, isCounted) }
    })
    .macro({
      door: (name: DoorName) => ({
        transform: ({ actor }: { actor?: Actor }) => requireDoor(actor ?? ANONYMOUS, DOORS[name]),
      }),
    })
    .as('scoped')
}

/**
 * Derives `call` and `host`, the open database that the first path segment names, for every route
 * of a database. Throws `UNKNOWN_DATABASE`.
 */
export function database(http: HttpContext) {
  return new Elysia({ name: 'database' }).derive({ as: 'scoped' }, async ({ request }) => {
    const call = callOf(request)
    return { call, host: await databaseOf(http, call) }
  })
}

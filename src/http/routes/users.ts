import { type AnyElysia, Elysia } from 'elysia'
import { type Actor, requireLicense, requireScopes } from '../../domain/access/actor'
import type { Scope } from '../../domain/value/scope'
import { foldUserId } from '../../domain/value/user-id'
import { readUserChanges } from '../../domain/user/change'
import { getUser, listUsers } from '../../domain/user/list'
import { parseUserQuery } from '../../domain/user/query'
import { removeUser } from '../../domain/user/removal'
import { writeUsers } from '../../domain/user/writing'
import { answer } from '../answer'
import { bearer, recheckWriter } from '../bearer'
import { segment } from '../call'
import type { HttpContext } from '../context'

/** The people who use a database (spec.md §2.3, §3, §4.2, §4.3). */
export function userRoutes(http: HttpContext): AnyElysia {
  return new Elysia({ name: 'users' })
    .use(bearer(http))
    .get(
      '/:database/users',
      async ({ call, host }) => {
        const query = parseUserQuery(call.query)
        await host.authority.settleLogins()
        const list = await listUsers(host.database, query, http.clock.now())
        return answer(call, JSON.stringify(list))
      },
      { scopes: READ, parse: 'none', detail: { operationId: 'listUsers' } },
    )
    .get(
      '/:database/users/:user',
      async ({ call, host, actor }) => {
        const id = foldUserId(segment(call, 2))
        if (id !== actor.subject) requireScopes(actor, READ)
        await host.authority.settleLogins()
        const user = await getUser(host.database, id, http.clock.now())
        return answer(call, JSON.stringify(user))
      },
      { scopes: OWN, parse: 'none', detail: { operationId: 'getUser' } },
    )
    .post(
      '/:database/users',
      ({ call, host, actor, request }) =>
        http.bodies.json(request, async (body) => {
          const changes = readUserChanges(body)
          await recheckWriter(http, host, actor)
          const users = await writeUsers(host.database, changes, http.clock.now())
          return answer(call, JSON.stringify(Array.isArray(body) ? users : users[0]))
        }),
      { writes: WRITE, parse: 'none', detail: { operationId: 'writeUsers' } },
    )
    .delete(
      '/:database/users/:user',
      async ({ call, host, actor }) => {
        const id = foldUserId(segment(call, 2))
        const now = http.clock.now()
        if (id !== actor.subject) requireWriter(actor, now)
        await host.database.write((tx) => removeUser(tx, id, now))
        return answer(call, null, { status: 204, type: null })
      },
      { scopes: OWN, parse: 'none', detail: { operationId: 'deleteUser' } },
    )
}

/** What one's own user needs, those of others, and to change them (spec.md §5.5). */
const OWN: readonly Scope[] = ['ACCESS_DB']
const READ: readonly Scope[] = ['ACCESS_DB', 'GLOBAL_READ']
const WRITE: readonly Scope[] = ['ACCESS_DB', 'GLOBAL_READ', 'GLOBAL_WRITE']

/** Everybody may go, with a licence or without; to send others away is another matter. */
function requireWriter(actor: Actor, now: number): void {
  requireScopes(actor, WRITE)
  requireLicense(actor, now)
}

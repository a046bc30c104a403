import { type AnyElysia, Elysia } from 'elysia'
import { requireScopes, requireStanding, requireWriter } from '../../domain/access/actor'
import { explain, readQuestion } from '../../domain/object/explain'
import { readUserChanges, writeUsers } from '../../domain/user/change'
import { getUser, listUsers } from '../../domain/user/list'
import { parseUserQuery } from '../../domain/user/query'
import { removeUser } from '../../domain/user/removal'
import type { Scope } from '../../domain/value/scope'
import { foldUserId } from '../../domain/value/user-id'
import { answer } from '../answer'
import { bearer } from '../bearer'
import { segment } from '../call'
import type { HttpContext } from '../context'

/** The users of a database (spec.md §2.3, §3, §4.2, §4.3). */
export function userRoutes(http: HttpContext): AnyElysia {
  return new Elysia({ name: 'users' })
    .use(bearer(http))
    .get(
      '/:database/users',
      async ({ call, host, actor }) => {
        const query = parseUserQuery(call.query)
        await host.authority.settleLogins()
        const list = await listUsers(host.database, actor, query, host.clock.now())
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
        const user = await getUser(host.database, actor, id, host.clock.now())
        return answer(call, JSON.stringify(user))
      },
      { scopes: OWN, parse: 'none', detail: { operationId: 'getUser' } },
    )
    .get(
      '/:database/explain',
      async ({ call, host, actor }) => {
        const now = host.clock.now()
        const explanation = await host.database.read(async (tx) => {
          await requireStanding(tx, actor)
          const question = readQuestion(Object.fromEntries(new URLSearchParams(call.query)))
          return await explain(tx, question, now)
        })
        return answer(call, JSON.stringify(explanation))
      },
      { scopes: READ, parse: 'none', detail: { operationId: 'explain' } },
    )
    .post(
      '/:database/users',
      ({ call, host, actor }) =>
        http.bodies.json(call, host, async (body) => {
          const changes = readUserChanges(body)
          const users = await writeUsers(host.database, actor, changes, host.clock.now())
          return answer(call, JSON.stringify(Array.isArray(body) ? users : users[0]))
        }),
      { scopes: WRITE, parse: 'none', detail: { operationId: 'writeUsers' } },
    )
    .delete(
      '/:database/users/:user',
      async ({ call, host, actor }) => {
        const id = foldUserId(segment(call, 2))
        const now = host.clock.now()
        const isOwn = id === actor.subject
        if (!isOwn) requireScopes(actor, WRITE)
        await host.database.write(async (tx) => {
          // Leaving needs no licence; removing others does.
          await (isOwn ? requireStanding(tx, actor) : requireWriter(tx, actor, now))
          await removeUser(tx, id, now)
        })
        return answer(call, null, { status: 204, type: null })
      },
      { scopes: OWN, parse: 'none', detail: { operationId: 'deleteUser' } },
    )
}

/** The scopes to read and delete one's own user, to read others, and to change users (spec.md §5.5). */
const OWN: readonly Scope[] = ['ACCESS_DB']
const READ: readonly Scope[] = ['ACCESS_DB', 'GLOBAL_READ']
const WRITE: readonly Scope[] = ['ACCESS_DB', 'GLOBAL_READ', 'GLOBAL_WRITE']

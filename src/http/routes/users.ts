import { type AnyElysia, Elysia } from 'elysia'
import { requireStanding, requireWriter } from '../../domain/access/actor'
import { DOORS, requireDoor } from '../../domain/access/door'
import { explain, readQuestion } from '../../domain/object/explain'
import { readUserChanges, writeUsers } from '../../domain/user/change'
import { getUser, listUsers } from '../../domain/user/list'
import { parseUserQuery } from '../../domain/user/query'
import { removeUser } from '../../domain/user/removal'
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
      { door: 'listUsers', parse: 'none', detail: { operationId: 'listUsers' } },
    )
    .get(
      '/:database/users/:user',
      async ({ call, host, actor }) => {
        const id = foldUserId(segment(call, 2))
        if (id !== actor.subject) requireDoor(actor, DOORS.listUsers)
        await host.authority.settleLogins()
        const user = await getUser(host.database, actor, id, host.clock.now())
        return answer(call, JSON.stringify(user))
      },
      { door: 'getUser', parse: 'none', detail: { operationId: 'getUser' } },
    )
    .get(
      '/:database/explain',
      async ({ call, host, actor }) => {
        const now = host.clock.now()
        const explanation = await host.database.read((tx) => {
          requireStanding(tx, actor)
          const question = readQuestion(Object.fromEntries(new URLSearchParams(call.query)))
          return explain(tx, question, now)
        })
        return answer(call, JSON.stringify(explanation))
      },
      { door: 'explain', parse: 'none', detail: { operationId: 'explain' } },
    )
    .post(
      '/:database/users',
      ({ call, host, actor }) =>
        http.bodies.json(call, host, async (body) => {
          const changes = readUserChanges(body)
          const users = await writeUsers(host.database, actor, changes, host.clock.now())
          return answer(call, JSON.stringify(Array.isArray(body) ? users : users[0]))
        }),
      { door: 'writeUsers', parse: 'none', detail: { operationId: 'writeUsers' } },
    )
    .delete(
      '/:database/users/:user',
      async ({ call, host, actor }) => {
        const id = foldUserId(segment(call, 2))
        const now = host.clock.now()
        const isOwn = id === actor.subject
        if (!isOwn) requireDoor(actor, DOORS.writeUsers)
        await host.database.write((tx) => {
          // Leaving needs no licence; removing others does.
          if (isOwn) requireStanding(tx, actor)
          else requireWriter(tx, actor, now)
          removeUser(tx, id, now)
        })
        return answer(call, null, { status: 204, type: null })
      },
      { door: 'deleteUser', parse: 'none', detail: { operationId: 'deleteUser' } },
    )
}

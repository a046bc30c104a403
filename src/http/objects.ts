import { type AnyElysia, Elysia } from 'elysia'
import { parseFilters } from '../domain/filter'
import { listObjects } from '../domain/list'
import { getObject } from '../domain/object'
import { decodePercent } from '../domain/percent'
import { removeObject } from '../domain/remove'
import { upsertObjects } from '../domain/upsert'
import { VIEWS, type ViewName } from '../domain/view'
import { answer } from './answer'
import { bearer } from './bearer'
import { type Call, segment } from './call'
import type { Door } from './door'
import { jsonArray } from './json-stream'

/** `/all`, `/my` and `/public` (spec.md §4, §4.1). */
export function objectRoutes(door: Door): AnyElysia {
  return new Elysia({ name: 'objects' })
    .use(viewRoutes(door, 'all'))
    .use(viewRoutes(door, 'my'))
    .use(viewRoutes(door, 'public'))
}

function viewRoutes(door: Door, view: ViewName): AnyElysia {
  const { read, write } = VIEWS[view]
  return new Elysia({ name: `objects-${view}` })
    .use(bearer(door))
    .get(
      `/:database/${view}/:table`,
      async ({ call, host, actor }) => {
        const query = parseFilters(call.query)
        const list = await listObjects(host.database, actor, view, segment(call, 2), query)
        const failed = (error: unknown) => door.failure(call.id, error)
        return answer(call, jsonArray(list, { failed }), { headers: nextLink(call, list.after) })
      },
      { scopes: read, parse: 'none', detail: { operationId: `${view}List` } },
    )
    .get(
      `/:database/${view}/:table/:key`,
      async ({ call, host, actor }) => {
        const { database } = host
        return answer(
          call,
          await getObject(database, actor, view, segment(call, 2), segment(call, 3)),
        )
      },
      { scopes: read, parse: 'none', detail: { operationId: `${view}Get` } },
    )
    .post(
      `/:database/${view}/:table`,
      ({ call, host, actor, request }) =>
        door.bodies.json(request, async (body) => {
          const isArray = Array.isArray(body)
          const objects: readonly unknown[] = isArray ? body : [body]
          const table = segment(call, 2)
          const now = door.clock.now()
          const texts = await upsertObjects(host.database, {
            actor,
            view,
            table,
            objects,
            isArray,
            now,
            sendInvitation: (tx, facts) =>
              host.invitations.send(tx, facts, request.headers.get('origin')),
          })
          if (wantsMinimal(request)) return answer(call, null, { status: 204, type: null })
          return answer(call, isArray ? `[${texts.join(',')}]` : (texts[0] ?? ''))
        }),
      { writes: write, parse: 'none', detail: { operationId: `${view}Upsert` } },
    )
    .delete(
      `/:database/${view}/:table/:key`,
      async ({ call, host, actor }) => {
        const [table, key] = [segment(call, 2), segment(call, 3)]
        await removeObject(host.database, { actor, view, table, key, now: door.clock.now() })
        return answer(call, null, { status: 204, type: null })
      },
      { writes: write, parse: 'none', detail: { operationId: `${view}Delete` } },
    )
}

/** `Prefer: return=minimal` (RFC 7240). */
function wantsMinimal(request: Request): boolean {
  return /(?:^|[,;\s])return\s*=\s*"?minimal"?(?:$|[,;\s])/i.test(
    request.headers.get('prefer') ?? '',
  )
}

/** The address of the next page, relative to this one (RFC 8288, design.md §6 pages). */
function nextLink(call: Call, after: string | undefined): Record<string, string> {
  if (after === undefined) return {}
  const rest = call.query.split('&').filter((part) => part !== '' && nameOf(part) !== '$after')
  // What may stand in a query as it came ends the reference in this header.
  const query = [...rest, `$after=${after}`].join('&').replaceAll(/[<>"]/g, encodeURIComponent)
  return { Link: `<?${query}>; rel="next"` }
}

/** The name in a part of a query that was parsed before. */
function nameOf(part: string): string {
  const [name = ''] = part.split('=', 1)
  return decodePercent(name)
}

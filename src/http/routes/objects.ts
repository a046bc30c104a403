import { type AnyElysia, Elysia, NotFoundError } from 'elysia'
import type { Actor } from '../../domain/access/actor'
import { parseFilters } from '../../domain/object/filter'
import { listObjects } from '../../domain/object/list'
import { getObject } from '../../domain/object/object'
import { removeObject } from '../../domain/object/remove'
import { prepareUpsert, upsertObjects } from '../../domain/object/upsert'
import { decodePercent } from '../../domain/value/percent'
import { VIEWS, type ViewName } from '../../domain/access/view'
import { answer } from '../answer'
import { bearer } from '../bearer'
import { type Call, segment, callOf } from '../call'
import type { HttpContext } from '../context'
import type { Host } from '../../host/host'
import { jsonArray } from '../body/json-stream'
import { isDatabaseName } from '../../domain/database/name'
import { isReservedTableName } from '../../domain/value/schema'
import { offloadWith } from '../../domain/blob/offload'
import { rowRulesWith, ROW_RULES } from '../../domain/rows/row-rules'

/** `/all`, `/my` and `/public` (spec.md §4, §4.1). */
export function objectRoutes(http: HttpContext): AnyElysia {
  const views = Object.keys(VIEWS) as ViewName[]
  const routes = new Elysia({ name: 'objects' })
  for (const view of views) {
    routes.use(routesAt(http, { name: view, view, prefix: `/:database/${view}`, place: 2 }))
  }
  return routes
}

/** Where the tables of a view are served. */
export interface TableAddress {
  /** What the names of its operations begin with. */
  readonly name: string
  readonly view: ViewName
  readonly prefix: string
  /** The place of the table among the segments of the path. */
  readonly place: number
  /** Brings a raw query into the form of `/my`; absent where it is. */
  readonly queryOf?: (rawQuery: string) => string
}

export function routesAt(http: HttpContext, address: TableAddress): AnyElysia {
  const { name, view, prefix, place, queryOf = (query: string) => query } = address
  const { read, write } = VIEWS[view]

  /** Stores what the body brings; `key` is that of a single object at an address of its own. */
  async function store({ call, host, actor, request }: Asked, key?: string): Promise<Response> {
    const table = segment(call, place)
    const { limits, offload: rule } = http.blobs
    const beginOffload = offloadWith({ contents: host.blobs, limits, rule })
    const target = { actor, table, beginOffload, now: http.clock.now() }
    // Before the body is read: a caller who may not write need not send it.
    const plan = await prepareUpsert(host.database, target)
    return await http.bodies.json(request, async (body) => {
      const isArray = Array.isArray(body) && key === undefined
      const texts = await upsertObjects(host.database, {
        ...target,
        plan,
        view,
        objects: isArray ? (body as unknown[]) : [body],
        isArray,
        ...(key === undefined ? {} : { key }),
        now: http.clock.now(),
        rulesByTable: rowRulesWith((tx, facts) =>
          host.invitations.send(tx, facts, request.headers.get('origin')),
        ),
      })
      if (wantsMinimal(request)) return answer(call, null, { status: 204, type: null })
      return answer(call, isArray ? `[${texts.join(',')}]` : (texts[0] ?? ''))
    })
  }

  return new Elysia({ name: `objects-${name}` })
    .use(bearer(http))
    .get(
      `${prefix}/:table`,
      async ({ call, host, actor }) => {
        const query = parseFilters(queryOf(call.query))
        const list = await listObjects(host.database, actor, view, segment(call, place), query)
        const body = jsonArray(list, {
          failed: (error) => http.failure(call.id, error),
        })
        return answer(call, body, { headers: nextLink(call, list.after) })
      },
      { scopes: read, parse: 'none', detail: { operationId: `${name}List` } },
    )
    .get(
      `${prefix}/:table/:key`,
      async ({ call, host, actor }) => {
        const [table, key] = [segment(call, place), segment(call, place + 1)]
        return answer(call, await getObject(host.database, actor, view, table, key))
      },
      { scopes: read, parse: 'none', detail: { operationId: `${name}Get` } },
    )
    .post(
      `${prefix}/:table`,
      ({ call, host, actor, request }) => store({ call, host, actor, request }),
      {
        scopes: write,
        parse: 'none',
        detail: { operationId: `${name}Upsert` },
      },
    )
    .put(
      `${prefix}/:table/:key`,
      ({ call, host, actor, request }) =>
        store({ call, host, actor, request }, segment(call, place + 1)),
      { scopes: write, parse: 'none', detail: { operationId: `${name}Replace` } },
    )
    .delete(
      `${prefix}/:table/:key`,
      async ({ call, host, actor }) => {
        const [table, key] = [segment(call, place), segment(call, place + 1)]
        await removeObject(host.database, {
          actor,
          view,
          table,
          key,
          now: http.clock.now(),
          rulesByTable: ROW_RULES,
        })
        return answer(call, null, { status: 204, type: null })
      },
      { scopes: write, parse: 'none', detail: { operationId: `${name}Delete` } },
    )
}

/** What `bearer` knows of a request. */
interface Asked {
  readonly call: Call
  readonly host: Host
  readonly actor: Actor
  readonly request: Request
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
  // Characters that are legal in a query would end the reference in this header.
  const query = [...rest, `$after=${after}`].join('&').replaceAll(/[<>"]/g, encodeURIComponent)
  return { Link: `<?${query}>; rel="next"` }
}

/** The name in a part of a raw query. */
export function nameOf(part: string): string {
  const [name = ''] = part.split('=', 1)
  return decodePercent(name)
}

/**
 * The tables of `/my` by the shorter addresses that the SDK knows, `/<table>` and `/<table>/<key>`,
 * with `?realm=` for `?realmId=` (protocol.md §14.1).
 */
export function aliasRoutes(http: HttpContext): AnyElysia {
  const address = { name: 'table', view: 'my', prefix: '/:database', place: 1, queryOf } as const
  return new Elysia({ name: 'aliases' })
    .onTransform(({ request }) => {
      if (!isTableAddress(callOf(request).path)) throw new NotFoundError()
    })
    .use(routesAt(http, address))
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

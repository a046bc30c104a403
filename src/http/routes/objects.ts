import { type AnyElysia, Elysia, NotFoundError } from 'elysia'
import type { Actor } from '../../domain/access/actor'
import { VIEWS, type ViewName } from '../../domain/access/view'
import { offloadWith } from '../../domain/blob/offload'
import { isDatabaseName } from '../../domain/database/name'
import { parseFilters } from '../../domain/object/filter'
import { listObjects } from '../../domain/object/list'
import { getObject } from '../../domain/object/object'
import { removeObject } from '../../domain/object/remove'
import { prepareUpsert, upsertObjects } from '../../domain/object/upsert'
import { ROW_RULES, rowRulesWith } from '../../domain/rows/row-rules'
import { decodePercent } from '../../domain/value/percent'
import { isReservedTableName } from '../../domain/value/schema'
import type { Host } from '../../host/host'
import { answer } from '../answer'
import { bearer } from '../bearer'
import { jsonArray } from '../body/json-stream'
import { type Call, callOf, segment } from '../call'
import type { HttpContext } from '../context'

/** Where the tables of a view are served. */
interface TablePaths {
  /** The prefix of the operation ids. */
  readonly name: string
  readonly view: ViewName
  readonly table: string
  readonly object: string
  /** The index of the table among the path segments; the key follows it. */
  readonly tableIndex: number
  /** Translates a raw query for these paths into one for `/my`, where they differ. */
  readonly translateQuery?: (rawQuery: string) => string
}

const ALL: TablePaths = {
  name: 'all',
  view: 'all',
  table: '/:database/all/:table',
  object: '/:database/all/:table/:key',
  tableIndex: 2,
}

const MY: TablePaths = {
  name: 'my',
  view: 'my',
  table: '/:database/my/:table',
  object: '/:database/my/:table/:key',
  tableIndex: 2,
}

const PUBLIC: TablePaths = {
  name: 'public',
  view: 'public',
  table: '/:database/public/:table',
  object: '/:database/public/:table/:key',
  tableIndex: 2,
}

/** The paths that the SDK uses for `/my`, with `?realm=` for `?realmId=` (protocol.md §14.1). */
const SHORT: TablePaths = {
  name: 'table',
  view: 'my',
  table: '/:database/:table',
  object: '/:database/:table/:key',
  tableIndex: 1,
  translateQuery: renameRealm,
}

/** The tables in the views `/all`, `/my` and `/public` (spec.md §4, §4.1). */
export function objectRoutes(http: HttpContext): AnyElysia {
  return new Elysia({ name: 'objects' })
    .use(tableRoutes(http, ALL))
    .use(tableRoutes(http, MY))
    .use(tableRoutes(http, PUBLIC))
}

/** The tables of `/my` at shorter paths. */
export function shortTableRoutes(http: HttpContext): AnyElysia {
  return new Elysia({ name: 'short-tables' })
    .onTransform(({ request }) => {
      if (!isTableAddress(callOf(request).path)) throw new NotFoundError()
    })
    .use(tableRoutes(http, SHORT))
}

function tableRoutes(http: HttpContext, paths: TablePaths): AnyElysia {
  const { name, view, table, object } = paths
  const { read, write } = VIEWS[view]
  const handlers = tableHandlers(http, paths)
  return new Elysia({ name: `objects-${name}` })
    .use(bearer(http))
    .get(table, ({ call, host, actor }) => handlers.list({ call, host, actor }), {
      scopes: read,
      parse: 'none',
      detail: { operationId: `${name}List` },
    })
    .get(object, ({ call, host, actor }) => handlers.get({ call, host, actor }), {
      scopes: read,
      parse: 'none',
      detail: { operationId: `${name}Get` },
    })
    .post(table, ({ call, host, actor }) => handlers.upsert({ call, host, actor }), {
      scopes: write,
      parse: 'none',
      detail: { operationId: `${name}Upsert` },
    })
    .put(object, ({ call, host, actor }) => handlers.replace({ call, host, actor }), {
      scopes: write,
      parse: 'none',
      detail: { operationId: `${name}Replace` },
    })
    .delete(object, ({ call, host, actor }) => handlers.remove({ call, host, actor }), {
      scopes: write,
      parse: 'none',
      detail: { operationId: `${name}Delete` },
    })
}

/** A request after `bearer`: the scopes of its actor are checked. */
interface Authorised {
  readonly call: Call
  readonly host: Host
  readonly actor: Actor
}

/** The five operations on the tables of a view. They need no router: each takes a call and gives its response. */
function tableHandlers(http: HttpContext, paths: TablePaths) {
  const { view, tableIndex, translateQuery } = paths
  const tableOf = (call: Call) => segment(call, tableIndex)
  const keyOf = (call: Call) => segment(call, tableIndex + 1)

  /** Stores the objects in the body; with `key` a single one, whose key is in the path. */
  async function store({ call, host, actor }: Authorised, key?: string): Promise<Response> {
    const { limits, offload: rule } = http.blobs
    const beginOffload = offloadWith({ contents: host.blobs, limits, rule })
    const target = {
      actor,
      table: tableOf(call),
      beginOffload,
      limits: http.writeLimits,
      now: http.clock.now(),
    }
    // Before the body is read: a caller who may not write need not send it.
    const plan = await prepareUpsert(host.database, target)
    return await http.bodies.json(call.sent, async (body) => {
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
          host.invitations.send(tx, facts, call.sent.headers.get('origin')),
        ),
      })
      if (wantsMinimal(call.sent)) return answer(call, null, { status: 204, type: null })
      return answer(call, isArray ? `[${texts.join(',')}]` : (texts[0] ?? ''))
    })
  }

  return {
    async list({ call, host, actor }: Authorised): Promise<Response> {
      const query = parseFilters(translateQuery?.(call.query) ?? call.query)
      const list = await listObjects(host.database, actor, view, tableOf(call), query)
      const body = jsonArray(list, { failed: (error) => http.failure(call.id, error) })
      return answer(call, body, { headers: nextLink(call, list.after) })
    },

    async get({ call, host, actor }: Authorised): Promise<Response> {
      const [table, key] = [tableOf(call), keyOf(call)]
      return answer(call, await getObject(host.database, actor, view, table, key))
    },

    upsert: (request: Authorised) => store(request),

    replace: (request: Authorised) => store(request, keyOf(request.call)),

    async remove({ call, host, actor }: Authorised): Promise<Response> {
      const [table, key] = [tableOf(call), keyOf(call)]
      const now = http.clock.now()
      const removal = { actor, view, table, key, now, rulesByTable: ROW_RULES }
      await removeObject(host.database, removal)
      return answer(call, null, { status: 204, type: null })
    },
  }
}

/** `Prefer: return=minimal` (RFC 7240). */
function wantsMinimal({ headers }: Request): boolean {
  return /(?:^|[,;\s])return\s*=\s*"?minimal"?(?:$|[,;\s])/i.test(headers.get('prefer') ?? '')
}

/** The URL of the next page, relative to this one (RFC 8288, design.md §6 pages). */
function nextLink(call: Call, after: string | undefined): Record<string, string> {
  if (after === undefined) return {}
  const rest = call.query.split('&').filter((part) => part !== '' && nameOf(part) !== '$after')
  // A raw query may contain characters that would end the URL in this header.
  const query = [...rest, `$after=${after}`].join('&').replaceAll(/[<>"]/g, encodeURIComponent)
  return { Link: `<?${query}>; rel="next"` }
}

/** The name in a part of a raw query. */
function nameOf(part: string): string {
  const [name = ''] = part.split('=', 1)
  return decodePercent(name)
}

function renameRealm(rawQuery: string): string {
  if (!rawQuery.includes('realm')) return rawQuery
  return rawQuery
    .split('&')
    .map((part) => (nameOf(part) === 'realm' ? `realmId${part.replace(/^[^=]*/, '')}` : part))
    .join('&')
}

/** True when the first two segments of a path can be a database and a table in it. */
export function isTableAddress(path: string): boolean {
  const [, database = '', table = ''] = path.split('/', 3).map(decodeOrKeep)
  return isDatabaseName(database) && !isReservedTableName(table) && !isOwnPath(table)
}

/** A malformed segment is kept as it is, because the handler refuses it. */
function decodeOrKeep(raw: string): string {
  try {
    return decodePercent(raw)
  } catch {
    return raw
  }
}

/** Names that tables may have, but that other routes of a database use. */
function isOwnPath(name: string): boolean {
  return name.startsWith('.') || OWN_PATHS.has(name)
}

const OWN_PATHS = new Set(['auth-providers', 'invitation'])

import { type DoorName, DOORS } from '../../domain/access/door'
import type { ViewName } from '../../domain/access/view'
import { offloadWith } from '../../domain/blob/offload'
import { isDatabaseName } from '../../domain/value/database-name'
import { aborted } from '../../domain/value/error'
import { parseFilters } from '../../domain/object/filter'
import { listObjects } from '../../domain/object/list'
import { getObject } from '../../domain/object/object'
import { removeObject } from '../../domain/object/remove'
import { prepareUpsert, type UpsertPlan, upsertObjects } from '../../domain/object/upsert'
import type { OpenDatabase } from '../../host/host'
import type { SendInvitation } from '../../domain/rows/invitation'
import { ROW_RULES, rowRulesWith } from '../../domain/rows/row-rules'
import { decodePercent } from '../../domain/value/percent'
import { isServerAddress, SERVER_ADDRESSES } from '../../domain/value/schema'
import { answer } from '../answer'
import { jsonArray } from '../body/json-stream'
import { UNCOUNTED_BYTES } from '../body/unsent'
import { type Call, segment } from '../call'
import { type Authorised, authorised } from '../caller'
import type { HttpContext } from '../context'

/** Where the tables of a view are served. */
export interface TablePaths {
  /** The prefix of the operation ids. */
  readonly name: 'all' | 'my' | 'public' | 'table'
  readonly view: ViewName
  readonly table: string
  readonly object: string
  /** The index of the table among the path segments; the key follows it. */
  readonly tableIndex: number
  /** Translates a raw query for these paths into one for `/my`, where they differ. */
  readonly translateQuery?: (rawQuery: string) => string
}

export const ALL = pathsOf('all')
export const MY = pathsOf('my')
export const PUBLIC = pathsOf('public')

function pathsOf(view: ViewName): TablePaths {
  const table = `/:database/${view}/:table`
  return { name: view, view, table, object: `${table}/:key`, tableIndex: 2 }
}

/** The paths that the SDK uses for `/my`, with `?realm=` for `?realmId=` (protocol.md §14.1). */
export const SHORT: TablePaths = {
  name: 'table',
  view: 'my',
  table: '/:database/:table',
  object: '/:database/:table/:key',
  tableIndex: 1,
  translateQuery: renameRealm,
}

/**
 * Answers the calls of the views without the router, which takes as long as a read does. Undefined
 * for every call that it cannot tell by the segments of its path: the router answers those.
 */
export function directObjectRoutes(
  http: HttpContext,
): (call: Call) => Promise<Response> | undefined {
  const byView = new Map<string, ViewOperations>(
    [ALL, MY, PUBLIC].map((paths) => {
      const all = operations(http, paths)
      const named = (path: string) =>
        new Map(all.filter((one) => one.path === path).map((one) => [one.method, one]))
      return [paths.view, { 4: named(paths.table), 5: named(paths.object) }]
    }),
  )
  return (call) => {
    const { segments, method } = call
    const view = byView.get(segments[2] ?? '')
    if (view === undefined || segments.at(-1) === '') return undefined
    const found = view[segments.length]?.get(method)
    return found && authorised(http, call, DOORS[found.operationId], found.answer)
  }
}

/** By the number of parts of the path (`Call.segments`), then by method. */
type ViewOperations = Readonly<Record<number, ReadonlyMap<string, Operation>>>

/** An operation on the tables of a view, for the router and for calls that need none. */
interface Operation {
  /** Also the name of its door. */
  readonly operationId: DoorName
  readonly method: string
  readonly path: string
  readonly answer: (request: Authorised) => Promise<Response>
}

/** The five operations on the tables of a view. */
export function operations(http: HttpContext, paths: TablePaths): readonly Operation[] {
  const { name, view, table: tablePath, object: objectPath, tableIndex, translateQuery } = paths
  const tableOf = (call: Call) => segment(call, tableIndex)
  const keyOf = (call: Call) => segment(call, tableIndex + 1)

  /** Stores the objects in the body; with `key` a single one, whose key is in the path. */
  async function store(request: Authorised, key?: string): Promise<Response> {
    const { call, opened, actor } = request
    const { limits, offload: rule } = http.blobs
    const table = tableOf(call)
    const beginOffload = offloadWith({ contents: opened.blobs, limits, rule })
    const target = { actor, table, beginOffload, limits: http.writeLimits, now: opened.clock.now() }
    // Before the body is read: a caller who may not write need not send it.
    const plan = await prepareUpsert(opened.database, target)
    return http.bodies.json(call, opened, (body, bytes) =>
      storeObjects(body, bytes, plan, { request, table, key }),
    )
  }

  function storeObjects(
    body: unknown,
    bytes: number,
    plan: UpsertPlan,
    { request: { call, opened, actor }, table, key }: Storing,
  ): Promise<Response> {
    const isArray = Array.isArray(body) && key === undefined
    const isMinimal = wantsMinimal(call.sent)
    const expected = bytes + ADDED_BYTES * countOf(body)
    // Before anything is stored: the answer repeats the objects.
    if (!isMinimal && expected > UNCOUNTED_BYTES) call.reservation.reserve(expected)
    const stored = upsertObjects(opened.database, {
      actor,
      table,
      limits: http.writeLimits,
      plan,
      view,
      objects: isArray ? (body as unknown[]) : [body],
      isArray,
      key,
      signal: isArray && body.length > OBJECTS_WITHOUT_SIGNAL ? call.sent.signal : undefined,
      now: opened.clock.now(),
      rulesByTable: plan.table.builtIn ? rowRulesWith(sendInvitationFor(call, opened)) : ROW_RULES,
    })
    return answerStored(call, stored, isArray, isMinimal)
  }

  async function list({ call, opened, actor }: Authorised): Promise<Response> {
    const query = parseFilters(translateQuery?.(call.query) ?? call.query)
    let chunks = 0
    const reserve = (bytes: number) => {
      // A signal takes time to make, and most pages are one chunk.
      if (chunks > 0 && call.sent.signal.aborted) throw aborted()
      chunks += 1
      call.reservation.reserve(bytes)
    }
    const found = await listObjects(opened.database, actor, view, tableOf(call), query, reserve)
    const options = {
      failed: (error: unknown) => http.failure(call.id, error),
      reservation: call.reservation,
    }
    return answer(call, jsonArray(found, options), { headers: nextLink(call, found.after) })
  }

  async function get({ call, opened, actor }: Authorised): Promise<Response> {
    return answer(call, await getObject(opened.database, actor, view, tableOf(call), keyOf(call)))
  }

  async function remove({ call, opened, actor }: Authorised): Promise<Response> {
    const [table, key] = [tableOf(call), keyOf(call)]
    const now = opened.clock.now()
    const removal = { actor, view, table, key, now, rulesByTable: ROW_RULES }
    await removeObject(opened.database, removal)
    return answer(call, null, { status: 204, type: null })
  }

  const replace = (request: Authorised) => store(request, keyOf(request.call))
  return [
    { operationId: `${name}List`, method: 'GET', path: tablePath, answer: list },
    { operationId: `${name}Get`, method: 'GET', path: objectPath, answer: get },
    { operationId: `${name}Upsert`, method: 'POST', path: tablePath, answer: store },
    { operationId: `${name}Replace`, method: 'PUT', path: objectPath, answer: replace },
    { operationId: `${name}Delete`, method: 'DELETE', path: objectPath, answer: remove },
  ]
}

/** A request with objects to store. */
interface Storing {
  readonly request: Authorised
  readonly table: string
  readonly key: string | undefined
}

function answerStored(
  call: Call,
  stored: Promise<string[]>,
  isArray: boolean,
  isMinimal: boolean,
): Promise<Response> {
  return stored.then((texts) => {
    if (isMinimal) return answer(call, null, { status: 204, type: null })
    return answer(call, isArray ? `[${texts.join(',')}]` : (texts[0] ?? ''))
  })
}

function sendInvitationFor(call: Call, opened: OpenDatabase): SendInvitation {
  return (tx, facts) => opened.invitations.send(tx, facts, call.sent.headers.get('origin'))
}

/** The properties that the server adds to an object have about this many bytes. */
const ADDED_BYTES = 128

function countOf(body: unknown): number {
  return Array.isArray(body) ? body.length : 1
}

/** Fewer objects are stored before a disconnect would be noticed: they need no signal, which takes time. */
const OBJECTS_WITHOUT_SIGNAL = 100

/** `Prefer: return=minimal` (RFC 7240). */
function wantsMinimal({ headers }: Request): boolean {
  const prefer = headers.get('prefer')
  return prefer !== null && /(?:^|[,;\s])return\s*=\s*"?minimal"?(?:$|[,;\s])/i.test(prefer)
}

/** The URL of the next page, relative to this one (RFC 8288, design.md §6 pages). */
function nextLink(call: Call, after: string | undefined): Record<string, string> | undefined {
  if (after === undefined) return undefined
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
  return isDatabaseName(database) && !isServerAddress(table)
}

/**
 * The address of the table whose short address is one of the server, which hides it; undefined for other
 * paths.
 */
export function hiddenTableAddress(path: string): string | undefined {
  const [, database = '', table = '', key] = path.split('/', 4).map(decodeOrKeep)
  const isHidden = isDatabaseName(database) && SERVER_ADDRESSES.has(table) && !VIEW_NAMES.has(table)
  if (!isHidden) return undefined
  return `/${database}/my/${table}${key === undefined ? '' : '/<key>'}`
}

/** True for the first part of the path of a view. */
export function isViewName(part: string): boolean {
  return VIEW_NAMES.has(part)
}

const VIEW_NAMES: ReadonlySet<string> = new Set(['all', 'my', 'public'])

/** A malformed segment is kept as it is, because the handler refuses it. */
function decodeOrKeep(raw: string): string {
  try {
    return decodePercent(raw)
  } catch {
    return raw
  }
}

import { ANONYMOUS, type Actor } from '../domain/access/actor'
import { type Door, type DoorName, DOORS, requireDoor } from '../domain/access/door'
import { SatchelError } from '../domain/value/error'
import type { OpenDatabase } from '../host/host'
import { type Call, callOf, segment } from './call'
import type { HttpContext } from './context'

/** A request to a database. */
export interface Addressed {
  readonly call: Call
  readonly opened: OpenDatabase
}

/** A request whose caller is known and let in by the door of the route. */
export interface Authorised extends Addressed {
  readonly actor: Actor
}

/** The handler and the options of a route that the router serves. One without a name is in no description. */
export function route(
  operationId: DoorName | null,
  next: (call: Call) => Response | Promise<Response>,
) {
  const handler = ({ request }: { readonly request: Request }) => next(callOf(request))
  const detail = operationId === null ? { hide: true } : { operationId }
  return [handler, { parse: 'none', detail }] as const
}

/** A `route` behind the door of this name. */
export function behind(
  http: HttpContext,
  operationId: DoorName,
  next: (request: Authorised) => Promise<Response>,
  options?: { readonly isCounted: boolean },
) {
  return route(operationId, (call) => authorised(http, call, DOORS[operationId], next, options))
}

/** A `route` of a database that asks for other credentials than a token, or for none. */
export function inDatabase(
  http: HttpContext,
  operationId: DoorName,
  next: (request: Addressed) => Promise<Response>,
) {
  return route(operationId, async (call) => next({ call, opened: await databaseOf(http, call) }))
}

/**
 * Finds the database and the actor of a call, counts the request, and refuses callers whom the door does not let
 * in, with 401 or 403, before a body is read (spec.md §5.5). The stored state of the caller is checked where the
 * data is served (`requireStanding`).
 */
export async function authorised(
  http: HttpContext,
  call: Call,
  door: Door,
  next: (request: Authorised) => Promise<Response>,
  { isCounted = true } = {},
): Promise<Response> {
  const opened = await databaseOf(http, call)
  const actor = await actorOf(http, call, opened)
  call.subject = actor.subject
  if (isCounted) http.limits.request(call, opened, actor.subject)
  requireDoor(actor, door)
  return next({ call, opened, actor })
}

/**
 * The caller, who is anonymous without an `Authorization` header. Throws `INVALID_TOKEN` for anything
 * but a valid token, and `TOO_MANY_REQUESTS` instead after too many invalid ones from the same network.
 */
export async function actorOf(http: HttpContext, call: Call, opened: OpenDatabase): Promise<Actor> {
  const header = call.sent.headers.get('authorization')
  if (header === null) return ANONYMOUS
  try {
    return await opened.authority.verify(bearerToken(header))
  } catch (error) {
    throw http.limits.failure(call, error)
  }
}

/** Throws `INVALID_TOKEN`. */
export function bearerToken(header: string | null): string {
  if (header !== null && /^bearer /i.test(header)) return header.slice(7).trim()
  throw new SatchelError(
    'INVALID_TOKEN',
    'An access token is needed: Authorization: Bearer <token>',
  )
}

/**
 * The database that the first path segment names, at once when it is open. Throws `UNKNOWN_DATABASE`, `BUSY`
 * while opening takes long, and `TOO_MANY_REQUESTS` after too many unknown names.
 */
export function databaseOf(http: HttpContext, call: Call): OpenDatabase | Promise<OpenDatabase> {
  const name = segment(call, 0)
  return http.hosts.findOpen(name) ?? openDatabase(http, call, name)
}

async function openDatabase(http: HttpContext, call: Call, name: string): Promise<OpenDatabase> {
  try {
    return await http.hosts.openSoon(name)
  } catch (error) {
    if (error instanceof SatchelError && error.code === 'UNKNOWN_DATABASE') http.limits.other(call)
    throw error
  }
}

import { ANONYMOUS, type Actor } from '../domain/access/actor'
import { type Door, requireDoor } from '../domain/access/door'
import { SatchelError } from '../domain/value/error'
import type { OpenDatabase } from '../host/host'
import { type Call, segment } from './call'
import type { HttpContext } from './context'

/** A request whose caller is known and let in by the door of the route. */
export interface Authorised {
  readonly call: Call
  readonly host: OpenDatabase
  readonly actor: Actor
}

/** The steps of the plugin `bearer` for a call that needs no router, in the same order. Throws the same. */
export async function authorised(
  http: HttpContext,
  call: Call,
  door: Door,
  next: (request: Authorised) => Promise<Response>,
  { isCounted = true } = {},
): Promise<Response> {
  const host = await databaseOf(http, call)
  const actor = await identify(http, call, host, isCounted)
  requireDoor(actor, door)
  return next({ call, host, actor })
}

/** Finds the actor of a call, names it to the access log, and counts the request. */
export async function identify(
  http: HttpContext,
  call: Call,
  host: OpenDatabase,
  isCounted: boolean,
): Promise<Actor> {
  const actor = await actorOf(http, call, host)
  call.subject = actor.subject
  if (isCounted) http.limits.request(call, host, actor.subject)
  return actor
}

/**
 * The caller, who is anonymous without an `Authorization` header. Throws `INVALID_TOKEN` for anything
 * but a valid token, and `TOO_MANY_REQUESTS` instead after too many invalid ones from the same network.
 */
export async function actorOf(http: HttpContext, call: Call, host: OpenDatabase): Promise<Actor> {
  const header = call.sent.headers.get('authorization')
  if (header === null) return ANONYMOUS
  try {
    return await host.authority.verify(bearerToken(header))
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

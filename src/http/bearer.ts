import { Elysia } from 'elysia'
import { ANONYMOUS, type Actor, requireScopes } from '../domain/access/actor'
import { andThen, type Awaitable } from '../domain/store/records'
import { SatchelError } from '../domain/value/error'
import type { Scope } from '../domain/value/scope'
import type { Host } from '../host/host'
import type { Call } from './call'
import type { HttpContext } from './context'
import { database, hostOf } from './database'

/**
 * Derives `call`, `host` and `actor`, and counts the request. A route declares with `scopes` what its
 * caller needs; the macro refuses with 401 or 403 before a body is read (spec.md §5.5).
 * The stored state of the caller is checked where the data is served (`requireStanding`).
 */
export function bearer(http: HttpContext, { isCounted = true } = {}) {
  return new Elysia({ name: isCounted ? 'bearer' : 'bearer, not counted' })
    .use(database(http))
    .derive(async ({ call, host }) => {
      const found = identify(http, call, host, isCounted)
      return { actor: found instanceof Promise ? await found : found }
    })
    .macro({
      scopes: (required: RequiredScopes) => ({
        transform: ({ actor }: { actor?: Actor }) => authorise(actor ?? ANONYMOUS, required),
      }),
    })
    .as('scoped')
}

/** The scopes that a route needs; null: anybody may call it. */
export type RequiredScopes = readonly Scope[] | null

/** A request whose caller is known and has the scopes of the route. */
export interface Authorised {
  readonly call: Call
  readonly host: Host
  readonly actor: Actor
}

/** The steps of `bearer` for a call that needs no router, in the same order. Throws the same. */
export function authorised(
  http: HttpContext,
  call: Call,
  required: RequiredScopes,
  next: (request: Authorised) => Awaitable<Response>,
  { isCounted = true } = {},
): Awaitable<Response> {
  return andThen(hostOf(http, call), (host) =>
    andThen(identify(http, call, host, isCounted), (actor) => {
      authorise(actor, required)
      return next({ call, host, actor })
    }),
  )
}

/** Finds the actor, names it to the access log, and counts the request. */
function identify(http: HttpContext, call: Call, host: Host, isCounted: boolean): Awaitable<Actor> {
  return andThen(actorOf(http, call, host), (actor) => {
    call.subject = actor.subject
    if (isCounted) http.limits.request(call, host, actor.subject)
    return actor
  })
}

function authorise(actor: Actor, required: RequiredScopes): void {
  if (required !== null) requireScopes(actor, required)
}

/**
 * The caller, who is anonymous without an `Authorization` header. Throws `INVALID_TOKEN` for anything
 * but a valid token, and `TOO_MANY_REQUESTS` instead after too many invalid ones from the same network.
 */
function actorOf(http: HttpContext, call: Call, host: Host): Awaitable<Actor> {
  const header = call.sent.headers.get('authorization')
  if (header === null) return ANONYMOUS
  const fail = (error: unknown): never => {
    throw http.limits.failure(call, error)
  }
  try {
    const actor = host.authority.verify(bearerToken(header))
    return actor instanceof Promise ? actor.catch(fail) : actor
  } catch (error) {
    return fail(error)
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

import { Elysia } from 'elysia'
import { ANONYMOUS, type Actor, requireScopes } from '../domain/access/actor'
import { SatchelError } from '../domain/value/error'
import type { Scope } from '../domain/value/scope'
import { type Call, callOf, segment } from './call'
import type { HttpContext } from './context'
import type { Host } from '../host/host'

/**
 * Finds the database that the address names, identifies the caller and counts the request. A route
 * says with `scopes` what its caller needs (null: nothing); the macro refuses with 401 or 403 before a
 * body is read (spec.md §5.5). The stored state of the caller is checked where the data is served
 * (`requireStanding`).
 */
export function bearer(http: HttpContext, { isCounted = true } = {}) {
  return new Elysia({ name: isCounted ? 'bearer' : 'bearer, not counted' })
    .derive({ as: 'scoped' }, async ({ request }) => {
      const call = callOf(request)
      const host = hostOf(http, call)
      const open = host instanceof Promise ? await host : host
      const actor = actorOf(http, call, open, request)
      const known = actor instanceof Promise ? await actor : actor
      call.subject = known.subject
      if (isCounted) http.limits.request(call, open, known.subject)
      return { call, host: open, actor: known }
    })
    .macro({
      scopes: (required: readonly Scope[] | null) => ({
        transform: ({ actor }: { actor?: Actor }) => {
          if (required !== null) requireScopes(actor ?? ANONYMOUS, required)
        },
      }),
    })
}

/** The database in the first path segment. Throws `UNKNOWN_DATABASE`. */
export function hostOf(http: HttpContext, call: Call): Host | Promise<Host> {
  const name = segment(call, 0)
  return http.hosts.findOpen(name) ?? http.hosts.open(name)
}

/**
 * No header: anonymous. Anything that is no valid token: `INVALID_TOKEN`, and `TOO_MANY_REQUESTS`
 * from where too many came; a token that was good before is not held up by those.
 */
function actorOf(
  http: HttpContext,
  call: Call,
  host: Host,
  request: Request,
): Actor | Promise<Actor> {
  const header = request.headers.get('authorization')
  if (header === null) return ANONYMOUS
  const fail = (error: unknown): never => {
    throw http.limits.failure(call, error)
  }
  try {
    const actor = host.authority.verify(bearerToken(header), () => http.limits.requireTries(call))
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

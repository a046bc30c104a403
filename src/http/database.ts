import { Elysia } from 'elysia'
import type { Host } from '../host/host'
import { type Call, callOf, segment } from './call'
import type { HttpContext } from './context'

/**
 * Derives `call` and `host`, the open database that the first path segment names, for every route
 * of a database. Throws `UNKNOWN_DATABASE`.
 */
export function database(http: HttpContext) {
  return new Elysia({ name: 'database' }).derive({ as: 'scoped' }, async ({ request }) => {
    const call = callOf(request)
    const host = hostOf(http, call)
    return { call, host: host instanceof Promise ? await host : host }
  })
}

/** The database that the first path segment names, at once when it is open. Throws `UNKNOWN_DATABASE`. */
export function hostOf(http: HttpContext, call: Call): Host | Promise<Host> {
  const name = segment(call, 0)
  return http.hosts.findOpen(name) ?? http.hosts.open(name)
}

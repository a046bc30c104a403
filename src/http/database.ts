import { Elysia } from 'elysia'
import { SatchelError } from '../domain/value/error'
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

/**
 * The database that the first path segment names, at once when it is open. Throws `UNKNOWN_DATABASE`, `BUSY`
 * while opening takes long, and `TOO_MANY_REQUESTS` after too many unknown names.
 */
export function hostOf(http: HttpContext, call: Call): Host | Promise<Host> {
  const name = segment(call, 0)
  return http.hosts.findOpen(name) ?? openHost(http, call, name)
}

async function openHost(http: HttpContext, call: Call, name: string): Promise<Host> {
  try {
    return await http.hosts.openSoon(name)
  } catch (error) {
    if (error instanceof SatchelError && error.code === 'UNKNOWN_DATABASE') http.limits.other(call)
    throw error
  }
}

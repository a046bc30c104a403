import { type AnyElysia, Elysia } from 'elysia'
import { SatchelError } from '../domain/value/error'
import { answer, errorAnswer, publicError } from './answer'
import { type Call, callOf } from './call'
import { behind } from './caller'
import type { HttpContext, RestOperation } from './context'
import { tellRefusedWrite } from './refused-write'
import { blobRoutes } from './routes/blobs'
import { changesRoutes } from './routes/changes'
import { invitationRoutes } from './routes/invitations'
import { managementRoutes } from './routes/management'
import { oauthRoutes } from './routes/oauth'
import { hiddenTableAddress, isTableAddress } from './routes/objects'
import { openapiRoutes } from './routes/openapi'
import { operationRoutes } from './routes/operations'
import { pageRoutes } from './routes/pages'
import { serviceRoutes } from './routes/service'
import type { AnswerSync } from './routes/sync'
import { objectRoutes, shortTableRoutes } from './routes/tables'
import { transferRoutes } from './routes/transfers'
import { tokenRoutes } from './routes/tokens'

/** Answers the calls that no direct route answers. */
export interface Router {
  /** Answers a request whose `Call` was entered. May throw. */
  fetch(request: Request): Promise<Response>
  /** Lists the methods of a path (RFC 9110 §9.3.7). Preflight requests were answered before. */
  options(call: Call): Response
}

/**
 * The router with all routes (style.md §1). Loading the web framework and compiling the routes takes longer
 * than the rest of a start.
 */
export function createRouter(
  http: HttpContext,
  operations: readonly RestOperation[],
  answerSync: AnswerSync,
): Router {
  const app = new Elysia({ name: 'satchel', normalize: false })
    .onError(({ error, code, request }) => {
      const call = callOf(request)
      try {
        if (code === 'NOT_FOUND') return noRouteAnswer(http, call, methodsAt(call.path))
      } catch (limitExceeded) {
        return errorAnswer(call, publicError(http, call, limitExceeded))
      }
      const shown = publicError(http, call, error)
      tellRefusedWrite(http, call, error, shown)
      return call.refuse?.(call, shown) ?? errorAnswer(call, shown)
    })
    .use(pageRoutes(http))
    .use(serviceRoutes(http))
    .use(operationRoutes(http, operations))
    .use(managementRoutes(http))
    .use(transferRoutes(http))
    .use(tokenRoutes(http))
    .use(oauthRoutes(http))
    .use(invitationRoutes(http))
    .use(objectRoutes(http))
    .use(blobRoutes(http))
    // For paths that are sent in another form than `directSyncRoute` knows.
    .use(
      new Elysia().post(
        '/:database/sync',
        ...behind(http, 'sync', answerSync, { isCounted: false }),
      ),
    )
    .use(changesRoutes(http))
    .use(shortTableRoutes(http))
    .use(openapiRoutes(http, operations, application))

  function application(): AnyElysia {
    return app
  }

  function options(call: Call): Response {
    const methods = methodsAt(call.path)
    if (methods.length === 0) return noRouteAnswer(http, call, methods)
    return answer(call, null, { status: 204, type: null, headers: allow(methods) })
  }

  /** The methods with a route at this path. Elysia keeps paths without parameters in a separate table. */
  function methodsAt(path: string): string[] {
    const literal: Readonly<Record<string, unknown>> = app.router.static[path] ?? {}
    const isTable = isTableAddress(path)
    return METHODS.filter((method) => {
      if (Object.hasOwn(literal, method)) return true
      const found = app.router.http.find(method, path)
      return found !== null && (isTable || !isShortTable(path, found.params))
    })
  }

  app.compile()
  return { fetch: async (request) => app.fetch(request), options }
}

/** True when every segment is a parameter: only the short paths of tables have this form. */
function isShortTable(path: string, parameters: Readonly<Record<string, string>>): boolean {
  const segments = path.replace(/\/$/, '').split('/').length - 1
  return segments === Object.keys(parameters).length
}

/** `dexie-cloud import` sends the documents of an export of Dexie Cloud last. */
const NO_YJS = 'Yjs documents cannot be imported: remove yjs.dcyj from the zip to import the rest'

const METHODS = ['GET', 'POST', 'PUT', 'DELETE']

/** Throws `TOO_MANY_REQUESTS` after too many such calls. */
function noRouteAnswer(http: HttpContext, call: Call, methods: readonly string[]): Response {
  http.limits.other(call)
  const table = hiddenTableAddress(call.path)
  const hint = table === undefined ? '' : `; objects of a table of this name are at ${table}`
  if (methods.length === 0) {
    const sentence = call.path.endsWith('/import/yjs')
      ? NO_YJS
      : `There is no route at this address: see /openapi${hint}`
    return errorAnswer(call, new SatchelError('UNKNOWN_ROUTE', sentence))
  }
  const sentence = `${call.method} is not allowed here: use ${methods.join(' or ')}${hint}`
  return errorAnswer(call, new SatchelError('METHOD_NOT_ALLOWED', sentence), allow(methods))
}

/** Routes that answer GET answer HEAD too, and all routes answer OPTIONS. */
function allow(methods: readonly string[]): Record<string, string> {
  const all = methods.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]))
  return { Allow: [...all, 'OPTIONS'].join(', ') }
}

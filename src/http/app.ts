import { type AnyElysia, Elysia } from 'elysia'
import type { Awaitable } from '../domain/store/records'
import { SatchelError } from '../domain/value/error'
import { answer, errorAnswer, publicError } from './answer'
import { type Call, callOf } from './call'
import type { HttpContext } from './context'
import { createHandler, type Handler } from './handler'
import { blobRoutes } from './routes/blobs'
import { changesRoutes } from './routes/changes'
import { invitationRoutes } from './routes/invitations'
import { managementRoutes } from './routes/management'
import { oauthRoutes } from './routes/oauth'
import {
  directObjectRoutes,
  hiddenTableAddress,
  isTableAddress,
  objectRoutes,
  shortTableRoutes,
} from './routes/objects'
import { openapiRoutes } from './routes/openapi'
import { pageRoutes } from './routes/pages'
import { serviceRoutes } from './routes/service'
import { type AnswerSync, createSync, directSyncRoute, syncRoutes } from './routes/sync'
import { transferRoutes } from './routes/transfers'
import { tokenRoutes } from './routes/tokens'
import { userRoutes } from './routes/users'

/** The handler of a server. */
export interface App extends Handler {
  /** Makes the router, which the first request that needs it makes otherwise: it takes 10 ms. */
  warmUp(): void
}

/** The handler with all its routes (style.md §1). `domain` is the value of `--domain`, or null. */
export function createApp(http: HttpContext, domain: string | null): App {
  let made: Router | undefined
  const answerSync = createSync(http)
  const router = () => (made ??= createRouter(http, answerSync))
  const [objects, sync] = [directObjectRoutes(http), directSyncRoute(http, answerSync)]

  /** Lists the methods of a path (RFC 9110 §9.3.7). Preflight requests were answered before. */
  function answerOptions(call: Call): Response {
    const methods = router().methodsAt(call.path)
    if (methods.length === 0) return noRouteAnswer(http, call, methods)
    return answer(call, null, { status: 204, type: null, headers: allow(methods) })
  }

  const handler = createHandler(
    http,
    {
      direct: (call) =>
        call.method === 'OPTIONS'
          ? answerOptions(call)
          : (http.answerTest?.(call) ?? objects(call) ?? sync(call)),
      router: (request) => router().fetch(request),
    },
    domain,
  )
  return { ...handler, warmUp: () => void router() }
}

interface Router {
  fetch(request: Request): Awaitable<Response>
  /** The methods with a route at this path. */
  methodsAt(path: string): string[]
}

function createRouter(http: HttpContext, answerSync: AnswerSync): Router {
  const app = new Elysia({ name: 'satchel', normalize: false })
    .onError(({ error, code, request }) => {
      const call = callOf(request)
      try {
        if (code === 'NOT_FOUND') return noRouteAnswer(http, call, methodsAt(call.path))
      } catch (limitExceeded) {
        return errorAnswer(call, publicError(http, call, limitExceeded))
      }
      const shown = publicError(http, call, error)
      return call.refuse?.(call, shown) ?? errorAnswer(call, shown)
    })
    .use(pageRoutes(http))
    .use(serviceRoutes(http))
    .use(managementRoutes(http))
    .use(transferRoutes(http))
    .use(tokenRoutes(http))
    .use(oauthRoutes(http))
    .use(invitationRoutes(http))
    .use(objectRoutes(http))
    .use(userRoutes(http))
    .use(blobRoutes(http))
    .use(syncRoutes(http, answerSync))
    .use(changesRoutes(http))
    .use(shortTableRoutes(http))
    .use(openapiRoutes(http, application))

  function application(): AnyElysia {
    return app
  }

  /** Elysia keeps paths without parameters in a separate table. */
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
  return { fetch: (request) => app.fetch(request), methodsAt }
}

/** True when every segment is a parameter: only the short paths of tables are made like that. */
function isShortTable(path: string, parameters: Readonly<Record<string, string>>): boolean {
  const segments = path.replace(/\/$/, '').split('/').length - 1
  return segments === Object.keys(parameters).length
}

const METHODS = ['GET', 'POST', 'PUT', 'DELETE']

/** Throws `TOO_MANY_REQUESTS` after too many such calls. */
function noRouteAnswer(http: HttpContext, call: Call, methods: readonly string[]): Response {
  http.limits.other(call)
  const table = hiddenTableAddress(call.path)
  const hint = table === undefined ? '' : `; objects of a table of this name are at ${table}`
  if (methods.length === 0) {
    const sentence = `There is no route at this address: see /openapi${hint}`
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

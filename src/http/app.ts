import { type AnyElysia, Elysia } from 'elysia'
import { SatchelError } from '../domain/value/error'
import { aliasRoutes, isTableAddress, objectRoutes } from './routes/objects'
import { answer, errorAnswer, publicError } from './answer'
import { blobRoutes } from './routes/blobs'
import { type Call, callOf } from './call'
import type { HttpContext } from './context'
import { createHandler, type Handler } from './handler'
import { invitationRoutes } from './routes/invitations'
import { oauthRoutes } from './routes/oauth'
import { openapiRoutes } from './routes/openapi'
import { serviceRoutes } from './routes/service'
import { tokenRoutes } from './routes/tokens'
import { userRoutes } from './routes/users'

/** The front door with all its routers (style.md §1). `domain` is that of `--domain`, or null. */
export function createApp(http: HttpContext, domain: string | null): Handler {
  const app = new Elysia({ name: 'satchel', normalize: false })
    .onError(({ error, code, request }) => {
      const call = callOf(request)
      const isNowhere = code === 'NOT_FOUND'
      const told = isNowhere ? noRoute(call, methodsAt(call.path)) : publicError(http, call, error)
      const isMethod = told.code === 'METHOD_NOT_ALLOWED'
      return errorAnswer(call, told, isMethod ? allow(methodsAt(call.path)) : {})
    })
    .use(serviceRoutes(http))
    .use(tokenRoutes(http))
    .use(oauthRoutes(http))
    .use(invitationRoutes(http))
    .use(objectRoutes(http))
    .use(userRoutes(http))
    .use(blobRoutes(http))
    .use(aliasRoutes(http))
    .use(openapiRoutes(http, application))

  function application(): AnyElysia {
    return app
  }

  /** The methods that a path knows; literal paths are in a table of their own. */
  function methodsAt(path: string): string[] {
    const literal: Readonly<Record<string, unknown>> = app.router.static[path] ?? {}
    const isTable = isTableAddress(path)
    return METHODS.filter((method) => {
      if (Object.hasOwn(literal, method)) return true
      const found = app.router.http.find(method, path)
      return found !== null && (isTable || !isAlias(path, found.params))
    })
  }

  /** The methods of an address (RFC 9110 §9.3.7); preflight requests were answered before. */
  function answerOptions(call: Call): Response {
    const methods = methodsAt(call.path)
    if (methods.length === 0) return errorAnswer(call, noRoute(call, methods))
    return answer(call, null, { status: 204, type: null, headers: allow(methods) })
  }

  app.compile()
  return createHandler(
    http,
    (request) =>
      request.method === 'OPTIONS' ? answerOptions(callOf(request)) : app.fetch(request),
    domain,
  )
}

/** Of all routes with parameters the short addresses of tables alone have nothing else in them. */
function isAlias(path: string, parameters: Readonly<Record<string, string>>): boolean {
  const segments = path.replace(/\/$/, '').split('/').length - 1
  return segments === Object.keys(parameters).length
}

const METHODS = ['GET', 'POST', 'PUT', 'DELETE']

function noRoute(call: Call, methods: readonly string[]): SatchelError {
  if (methods.length > 0) {
    return new SatchelError(
      'METHOD_NOT_ALLOWED',
      `${call.method} is not allowed here: use ${methods.join(' or ')}`,
    )
  }
  return new SatchelError('UNKNOWN_ROUTE', 'There is no route at this address: see /openapi')
}

/** Where there is an answer to GET there is one to HEAD, and OPTIONS is answered everywhere. */
function allow(methods: readonly string[]): Record<string, string> {
  const all = methods.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]))
  return { Allow: [...all, 'OPTIONS'].join(', ') }
}

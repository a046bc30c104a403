import type { Awaitable } from '../domain/store/records'
import type { Call } from './call'
import type { HttpContext } from './context'
import { createHandler, type Handler } from './handler'
import type { Router } from './router'
import { directObjectRoutes } from './routes/objects'
import { createSync, directSyncRoute } from './routes/sync'

/** The handler of a server. */
export interface App extends Handler {
  /** Loads the router, which the first request that needs it loads otherwise: it takes 30 ms. */
  warmUp(): Promise<void>
}

/** The handler with all its routes (style.md §1). `domain` is the value of `--domain`, or null. */
export function createApp(http: HttpContext, domain: string | null): App {
  let router: Router | undefined
  let loading: Promise<Router> | undefined
  const answerSync = createSync(http)
  const [objects, sync] = [directObjectRoutes(http), directSyncRoute(http, answerSync)]

  function load(): Promise<Router> {
    return (loading ??= import('./router')
      .then(({ createRouter }) => {
        router = createRouter(http, answerSync)
        return router
      })
      .catch((error: unknown) => {
        // The next request tries again.
        loading = undefined
        throw error
      }))
  }

  /** Not imported at the top, to keep the start of a server fast. */
  function withRouter(respond: (router: Router) => Awaitable<Response>): Awaitable<Response> {
    return router === undefined ? load().then(respond) : respond(router)
  }

  function options(call: Call): Awaitable<Response> {
    return withRouter((made) => made.options(call))
  }

  const handler = createHandler(
    http,
    {
      direct: (call) =>
        call.method === 'OPTIONS'
          ? options(call)
          : (http.answerTest?.(call) ?? objects(call) ?? sync(call)),
      router: (request) => withRouter((made) => made.fetch(request)),
    },
    domain,
  )
  return {
    ...handler,
    async warmUp() {
      await load()
    },
  }
}

import type { Call } from './call'
import type { HttpContext } from './context'
import { createHandler, type Handler } from './handler'
import { createLate } from './late'
import type { Router } from './router'
import { directObjectRoutes } from './routes/objects'
import { createSync, directSyncRoute } from './routes/sync'

/** The handler of a server. */
export interface App extends Handler {
  /** `fetch` for requests that arrive while the server stops: they are refused, or wait for its end. */
  readonly fetchLate: Handler['fetch']
  /** How many of these have no answer yet. */
  readonly late: number
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
    return (loading ??= Promise.all([import('./router'), http.operations()])
      .then(([{ createRouter }, operations]) => {
        router = createRouter(http, operations, answerSync)
        return router
      })
      .catch((error: unknown) => {
        // The next request tries again.
        loading = undefined
        throw error
      }))
  }

  /** Not imported at the top, to keep the start of a server fast. */
  async function routerLoaded(): Promise<Router> {
    return router ?? load()
  }

  const throughRouter = async (request: Request) => (await routerLoaded()).fetch(request)
  const handler = createHandler(
    http,
    {
      direct: (call) =>
        call.method === 'OPTIONS'
          ? routerLoaded().then((made) => made.options(call))
          : (http.answerTest?.(call) ?? objects(call) ?? sync(call)),
      router: throughRouter,
    },
    domain,
  )
  const late = createLate()
  const lateRoutes = { direct: (call: Call) => late.answer(call), router: throughRouter }
  const lateHandler = createHandler(http, lateRoutes, domain)
  return {
    ...handler,
    fetchLate: (...request) => late.during(lateHandler.fetch(...request)),
    get late() {
      return late.count
    },
    async warmUp() {
      await load()
    },
  }
}

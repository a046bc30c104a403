import { watchDescriptors } from './descriptors'
import { serverLog } from './log/log'

/** A listener beside that of the server, for few and small requests. Disposing it ends them. */
export interface SideListener extends AsyncDisposable {
  readonly port: number
}

export interface SideListenerOptions {
  readonly host: string
  /** 0 for any free one. */
  readonly port: number
  /** Answers a request, whose address is valid; `pending` are under way with it. */
  readonly answer: (request: Request, pending: number) => Response | Promise<Response>
}

/** A slow caller keeps its connection only until then. */
const IDLE_SECONDS = 10

/**
 * Listens for requests without a body. While no file descriptors are left, nothing listens: accepting would fail in a
 * busy loop. Throws the error of the runtime for an address that cannot be used.
 */
export function listenBeside({ host, port, answer }: SideListenerOptions): SideListener {
  const first = open(port)
  const chosen = first.port ?? port
  let current: Bun.Server<undefined> | undefined = first
  const retired = new Set<Bun.Server<undefined>>()

  function open(at: number): Bun.Server<undefined> {
    return Bun.serve({
      hostname: host,
      port: at,
      idleTimeout: IDLE_SECONDS,
      maxRequestBodySize: 1,
      reusePort: false,
      development: false,
      fetch: (request, server) =>
        URL.canParse(request.url)
          ? answer(request, server.pendingRequests)
          : new Response(null, { status: 400 }),
      // Its own answer would print sources for each request.
      error(error) {
        serverLog.error('A request beside those of the server failed', { port: chosen, error })
        return new Response(null, { status: 500 })
      },
    })
  }

  function pause(): void {
    const former = current
    current = undefined
    if (former === undefined) return
    retired.add(former)
    void former.stop().then(() => retired.delete(former))
  }

  function resume(): void {
    try {
      current ??= open(chosen)
    } catch (error) {
      serverLog.error('Connections beside those of the server cannot be accepted', {
        port: chosen,
        error,
      })
    }
  }

  const descriptors = watchDescriptors({ exhausted: pause, available: resume })
  return {
    port: chosen,
    async [Symbol.asyncDispose]() {
      descriptors[Symbol.dispose]()
      pause()
      await Promise.all([...retired].map((server) => server.stop(true)))
    },
  }
}

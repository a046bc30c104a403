import { SatchelError } from '../domain/value/error'
import { because } from '../net/system-error'
import { listenBeside, type SideListener } from '../side-listener'

/** Answers plain http: proofs for the authority, health checks, and the way to https. */
export interface Responder extends AsyncDisposable {
  readonly port: number
  /** Answers the path of the token with `proof` until it is disposed. */
  publish(token: string, proof: string): Disposable
}

export interface ResponderOptions {
  readonly host: string
  readonly port: number
  /** The names that are redirected. */
  readonly names: readonly string[]
  /** The port of https, to which clients are redirected. */
  readonly httpsPort: number
  readonly isReady: () => boolean
}

const PROOFS = '/.well-known/acme-challenge/'

/** Listens. Throws `CONFLICT` for a port that cannot be taken. */
export function startResponder(options: ResponderOptions): Responder {
  const proofs = new Map<string, string>()
  const listener = listenAt(options, (request) => answer(request, proofs, options))
  return {
    port: listener.port,
    publish(token, proof) {
      proofs.set(token, proof)
      return { [Symbol.dispose]: () => void proofs.delete(token) }
    },
    [Symbol.asyncDispose]: () => listener[Symbol.asyncDispose](),
  }
}

function answer(
  request: Request,
  proofs: ReadonlyMap<string, string>,
  { names, httpsPort, isReady }: ResponderOptions,
): Response {
  const { hostname, pathname, search } = new URL(request.url)
  if (pathname.startsWith(PROOFS)) {
    const proof = proofs.get(pathname.slice(PROOFS.length))
    return proof === undefined ? new Response(null, { status: 404 }) : new Response(proof)
  }
  if (pathname === '/health') return Response.json({ status: 'healthy' })
  if (pathname === '/ready') return isReady() ? Response.json({ status: 'ready' }) : notReady()
  // Only to names of this server: any other would send a visitor wherever the request says.
  if (!names.includes(hostname)) return new Response(null, { status: 421 })
  const port = httpsPort === 443 ? '' : `:${httpsPort}`
  const location = `https://${hostname}${port}${pathname}${search}`
  return new Response(null, { status: 308, headers: { location } })
}

function notReady(): Response {
  const message = 'The server is starting, stopping, or has no certificate yet'
  return Response.json({ code: 'BUSY', message }, { status: 503, headers: { 'retry-after': '5' } })
}

function listenAt(
  { host, port }: ResponderOptions,
  respond: (request: Request) => Response,
): SideListener {
  try {
    return listenBeside({ host, port, answer: respond })
  } catch (cause) {
    throw new SatchelError(
      'CONFLICT',
      `--acme-port: Port ${port} of ${host}, where the authority checks the names, cannot be used${because(cause)}: stop the other program, or give this user the privilege for it`,
      { cause },
    )
  }
}

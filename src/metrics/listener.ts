import { SatchelError } from '../domain/value/error'
import { sameSecret } from '../domain/value/secret'
import { isIPv4, isIPv6 } from '../net/networks'
import { listenBeside, type SideListener } from '../side-listener'
import { type Format, FORMATS } from './exposition'

export interface ListenerOptions {
  readonly host: string
  /** 0 for any free one. */
  readonly port: number
  /** Callers must have it; null: this machine's may do without. */
  readonly token: string | null
  /** Names in `Host` that are answered beside IP addresses and `localhost`. */
  readonly names: readonly string[]
  /** Makes the text of a scrape. */
  readonly render: (format: Format) => Promise<string>
  /** Called with an error of `render`. */
  readonly failed: (error: unknown) => void
}

/** A listener for scrapes. Disposing it ends them. */
export interface Listener extends AsyncDisposable {
  /** `http://127.0.0.1:9464/metrics` */
  readonly url: string
}

/** Scrapes that may wait for their readers at a time: each has the text in memory. */
const MAX_PENDING_SCRAPES = 16

/**
 * Answers `GET /metrics` on a socket of its own. `Host` is checked, so that no page of another origin reads it by
 * a name that it controls. Scrapes at the same time share one rendering. Throws `CONFLICT` for an address that cannot
 * be used.
 */
export function openListener({
  host,
  port,
  token,
  names,
  render,
  failed,
}: ListenerOptions): Listener {
  const rendering = new Map<Format, Promise<string>>()
  const known = new Set(names.map((name) => name.toLowerCase()))

  async function answer(request: Request, pending: number): Promise<Response> {
    const { method, headers, url } = request
    if (!isKnownHost(headers.get('host') ?? '', known)) return refusal(421, 'Unknown host')
    if (token !== null && !hasToken(headers, token)) {
      return refusal(401, 'A bearer token is needed', { 'www-authenticate': 'Bearer' })
    }
    if (new URL(url).pathname !== '/metrics') return refusal(404, 'See /metrics')
    if (method !== 'GET' && method !== 'HEAD')
      return refusal(405, 'Use GET', { allow: 'GET, HEAD' })
    if (pending > MAX_PENDING_SCRAPES)
      return refusal(503, 'Too many scrapes', { 'retry-after': '5' })
    const format = formatFor(headers.get('accept') ?? '')
    return new Response(await shared(format), { headers: { 'content-type': FORMATS[format] } })
  }

  function shared(format: Format): Promise<string> {
    const known = rendering.get(format)
    if (known !== undefined) return known
    const made = render(format).finally(() => rendering.delete(format))
    rendering.set(format, made)
    return made
  }

  const listener = listenAt(host, port, async (request, pending) => {
    try {
      return await answer(request, pending)
    } catch (error) {
      failed(error)
      return refusal(500, 'See the log of the server')
    }
  })
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${listener.port}/metrics`,
    [Symbol.asyncDispose]: () => listener[Symbol.asyncDispose](),
  }
}

function listenAt(
  host: string,
  port: number,
  answer: (request: Request, pending: number) => Promise<Response>,
): SideListener {
  try {
    return listenBeside({ host, port, answer })
  } catch (cause) {
    const reason = 'it is in use, or not of this machine: choose another one'
    throw new SatchelError('CONFLICT', `--metrics cannot listen at its address: ${reason}`, {
      cause,
    })
  }
}

/** A name that resolves to this machine may be that of an attacker's page; an address is not. */
function isKnownHost(header: string, known: ReadonlySet<string>): boolean {
  const name = header
    .toLowerCase()
    .replace(/:\d{1,5}$/, '')
    .replace(/^\[(.*)\]$/, '$1')
  return name === 'localhost' || isIPv4(name) || isIPv6(name) || known.has(name)
}

function hasToken(headers: Headers, token: string): boolean {
  const [, given = ''] = /^Bearer +(\S+)$/i.exec(headers.get('authorization') ?? '') ?? []
  return sameSecret(given, token)
}

function formatFor(accept: string): Format {
  return accept.includes('application/openmetrics-text') ? 'openMetrics' : 'text'
}

function refusal(status: number, sentence: string, headers: Record<string, string> = {}): Response {
  return new Response(`${sentence}\n`, { status, headers })
}

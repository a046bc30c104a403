import type { ErrorCode, SatchelError } from '../domain/value/error'
import { decodePercent } from '../domain/value/percent'
import type { Quota } from '../limits/counter'
import type { SocketOwner } from '../sync/socket'
import type { AnswerReservation } from './body/unsent'

/** One HTTP request while it is handled. */
export interface Call {
  readonly id: string
  /** The request as it came. Bodies are read from it: reading from a copy is slower. */
  readonly sent: Request
  readonly method: string
  /**
   * The path as it was sent, without the query, in the form `/<database>/…` (`readAddress`); escapes of
   * characters that need none may be decoded.
   */
  path: string
  /** The path split at its slashes: the first part is empty. A path of more than six is cut there. */
  segments: readonly string[]
  /** The raw query without its question mark. */
  readonly query: string
  /** The IP address at the other end of the connection; empty when it is closed already. */
  readonly peer: string
  /** The IP address of the caller, for limits; empty when the connection is closed already. */
  readonly address: string
  /**
   * The caller whose bodies and unsent answers are counted together: a subject of a database, or a
   * network.
   */
  readonly caller: string
  /** `performance.now()` at the start. */
  readonly started: number
  /**
   * Makes a WebSocket of the request; false when it does not ask for one. Afterwards no response is
   * sent.
   */
  upgrade(owner: SocketOwner): boolean
  /** Sets how many seconds the connection may be idle until the answer is sent; 0: no limit. */
  setIdleTimeout(seconds: number): void
  /** True when Bun sends the answer from a file: its line in the access log waits for the end. */
  isFile: boolean
  /** The memory of the answer until its reader has accepted it. */
  readonly reservation: AnswerReservation
  /** Headers that let a page of another origin read the answer, when such a page calls. */
  cors: Readonly<Record<string, string>> | undefined
  /** For the access log. */
  subject: string | null
  code: ErrorCode | undefined
  /** True for a request without a line in the access log, where a page of development repeats itself. */
  isUnlogged: boolean
  /** The rate limit that the request was counted against, once it was. */
  quota: Quota | undefined
  /** Answers an error of this route; undefined: as JSON, like most routes. */
  refuse: ((call: Call, error: SatchelError) => Response) | undefined
}

/** The calls that the router answers, by the request that it was given. */
const calls = new WeakMap<Request, Call>()

export function enterCall(request: Request, call: Call): void {
  calls.set(request, call)
}

export function callOf(request: Request): Call {
  const call = calls.get(request)
  if (call === undefined) throw new Error('the request did not come through createHandler')
  return call
}

/** The decoded path segment at this index. Throws `INVALID_REQUEST` for malformed percent-escapes. */
export function segment(call: Call, index: number): string {
  const raw = call.segments[index + 1] ?? ''
  return raw.includes('%') ? decodePercent(raw) : raw
}

/**
 * Lets the connection be idle for any time until this is disposed, before the answer is sent: afterwards Bun
 * ignores that, and the connection would stay so while its caller leaves it open.
 */
export function keepOpen(call: Call): Disposable {
  call.setIdleTimeout(0)
  return { [Symbol.dispose]: () => call.setIdleTimeout(IDLE_SECONDS) }
}

/** The idle timeout of all connections, s. */
const IDLE_SECONDS = 30

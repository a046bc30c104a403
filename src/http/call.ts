import type { Quota } from '../limits/counter'
import { decodePercent } from '../domain/value/percent'
import type { ErrorCode } from '../domain/value/error'

/** One request on its way through the front door. */
export interface Call {
  readonly id: string
  /** The request as it came. Its body is read here: that of a copy comes faster than it is taken. */
  readonly sent: Request
  readonly method: string
  /** The raw path after repeated slashes collapsed and a host name became a database, no query. */
  path: string
  /** The raw query without its question mark. */
  query: string
  /** The IP address of the caller, for limits; empty when it is gone already. */
  readonly address: string
  /** `performance.now()` at the start. */
  readonly started: number
  /** Lets the connection be silent for so many seconds until the answer is sent; 0: for ever. */
  readonly setPatience: (seconds: number) => void
  /** Headers that let the calling page read the answer, when a page calls. */
  cors: Readonly<Record<string, string>> | undefined
  /** For the access log. */
  subject: string | null
  code: ErrorCode | undefined
  /** The remainder of a limit for the caller, once a request was counted. */
  quota: Quota | undefined
  /** The answer already bears the headers of every answer. */
  isDressed: boolean
}

const calls = new WeakMap<Request, Call>()

export function enterCall(request: Request, call: Call): void {
  calls.set(request, call)
}

export function callOf(request: Request): Call {
  const call = calls.get(request)
  if (call === undefined) throw new Error('the request did not come through the front door')
  return call
}

/** The path segment at this place, decoded strictly. Throws `INVALID_REQUEST`. */
export function segment(call: Call, place: number): string {
  const raw = call.path.split('/', place + 2)[place + 1] ?? ''
  return raw.includes('%') ? decodePercent(raw) : raw
}

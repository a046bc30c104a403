import type { Call } from './call'
import { quotaHeaders } from './rate-limits'

export type Body = string | ReadableStream<Uint8Array> | Blob | null

export interface AnswerOptions {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  /** Null for an answer without a body. */
  readonly type?: string | null
}

const JSON_TYPE = 'application/json;charset=utf-8'

/** What authorised answers may be kept by: nobody but the caller, and not for long (design.md §6). */
const PRIVATE = 'private, no-store'

/** An answer with the headers of every answer; JSON text unless `type` says otherwise. */
export function answer(
  call: Call,
  body: Body,
  { status = 200, headers, type = JSON_TYPE }: AnswerOptions = {},
): Response {
  call.isDressed = true
  const all: Record<string, string> = {
    'X-Request-Id': call.id,
    'X-Content-Type-Options': 'nosniff',
    'Referrer-Policy': 'no-referrer',
    'Cache-Control': PRIVATE,
    Vary: 'Authorization, Origin',
  }
  if (type !== null) all['Content-Type'] = type
  if (call.quota !== undefined) Object.assign(all, quotaHeaders(call.quota))
  if (call.cors !== undefined) Object.assign(all, call.cors)
  if (headers !== undefined) Object.assign(all, headers)
  return new Response(body, { status, headers: all })
}

/** Gives an answer that another library made the headers of every answer. */
export function dress(call: Call, response: Response): Response {
  if (call.isDressed) return response
  const headers = new Headers(response.headers)
  headers.set('X-Request-Id', call.id)
  headers.set('X-Content-Type-Options', 'nosniff')
  headers.set('Referrer-Policy', 'no-referrer')
  const quota = call.quota === undefined ? {} : quotaHeaders(call.quota)
  for (const [name, value] of Object.entries({ ...quota, ...call.cors })) headers.set(name, value)
  return new Response(response.body, { status: response.status, headers })
}

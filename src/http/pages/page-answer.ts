import type { SatchelError } from '../../domain/value/error'
import { answer } from '../answer'
import { hostOf } from '../bearer'
import { type Call, callOf } from '../call'
import type { Door } from '../door'
import { publicError, retryHeaders } from '../errors'
import { STATUS } from '../../openapi/status'
import type { Host } from '../../host/host'
import { messagePage, pageHeaders } from './page'

export interface PageOptions {
  readonly status?: number
  /** It holds a form that comes back to us. */
  readonly sendsForm?: boolean
  /** Seconds after which a repeat may succeed. */
  readonly retryAfter?: number | undefined
}

/** A page of ours, which nobody keeps. */
export function pageAnswer(
  call: Call,
  html: string,
  { status = 200, sendsForm = false, retryAfter }: PageOptions = {},
): Response {
  const headers = { ...pageHeaders({ sendsForm }), ...retryHeaders(retryAfter) }
  return answer(call, html, { status, type: 'text/html;charset=utf-8', headers })
}

/** Sends the browser on with a GET, after a post and without its body. */
export function seeOther(call: Call, location: string): Response {
  const headers = { Location: location, 'Cache-Control': 'no-store' }
  return answer(call, null, { status: 303, type: null, headers })
}

/**
 * A refusal as a page under the title that `titleOf` finds: whoever reads it came by a link and
 * cannot be sent anywhere. Programs that take JSON alone get JSON.
 */
export async function onPage(
  door: Door,
  request: Request,
  titleOf: (error: SatchelError) => string,
  work: (call: Call, host: Host) => Promise<Response>,
): Promise<Response> {
  const call = callOf(request)
  try {
    const host = await hostOf(door, call)
    door.limits.login(call)
    return await work(call, host)
  } catch (error) {
    if (isProgram(request.headers.get('accept') ?? '')) throw error
    const told = publicError(door, call, error)
    call.code = told.code
    const { code, message, retryAfter } = told
    return pageAnswer(call, messagePage(titleOf(told), message), {
      status: STATUS[code],
      retryAfter,
    })
  }
}

function isProgram(accept: string): boolean {
  return accept.includes('application/json') && !accept.includes('text/html')
}

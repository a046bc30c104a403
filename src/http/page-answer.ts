import type { SatchelError } from '../domain/error'
import { answer } from './answer'
import { hostOf } from './bearer'
import { type Call, callOf } from './call'
import type { Door } from './door'
import { publicError, STATUS } from './errors'
import type { Host } from './hosts'
import { messagePage, pageHeaders } from './page'

/** A page of ours, which nobody keeps. */
export function pageAnswer(
  call: Call,
  html: string,
  { status = 200, sendsForm = false } = {},
): Response {
  const headers = pageHeaders({ sendsForm })
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
    return await work(call, await hostOf(door, call))
  } catch (error) {
    if (isProgram(request.headers.get('accept') ?? '')) throw error
    const told = publicError(door, call, error)
    call.code = told.code
    return pageAnswer(call, messagePage(titleOf(told), told.message), { status: STATUS[told.code] })
  }
}

function isProgram(accept: string): boolean {
  return accept.includes('application/json') && !accept.includes('text/html')
}

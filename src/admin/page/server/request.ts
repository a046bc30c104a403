import { signal } from '@preact/signals'
import { readRefusal, type Refusal, SESSION_ENDED, unreachable } from './refusal'

/** The address of the page, which has no slash at its end: everything that it calls is below. */
export const BASE = globalThis.location?.pathname ?? ''

const KEY_HEADER = 'satchel-admin-key'

/** The half of the session that this tab holds; the other half is a cookie. */
export const sessionKey = signal<string | null>(null)

/** False from the first request without an answer to the next with one. */
export const isReachable = signal(true)

/** Called when the server says that the session of this tab has ended. */
export const onSessionEnd: { handler: () => void } = { handler: () => undefined }

/** Calls the server with both halves of the session. Throws a `Refusal`. */
export async function request(path: string, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers)
  const key = sessionKey.peek()
  if (key !== null) headers.set(KEY_HEADER, key)
  const answer = await send(`${BASE}/${path}`, { ...init, headers })
  if (answer.ok) return answer
  throw refusalOf(answer.status, await answer.json().catch(() => null), key)
}

/** The refusal of a request with this key. Tells of the end of the session, unless another has begun since. */
export function refusalOf(status: number, error: unknown, key: string | null): Refusal {
  const refusal = readRefusal(status, error)
  if (refusal.code === SESSION_ENDED && key === sessionKey.peek()) onSessionEnd.handler()
  return refusal
}

async function send(address: string, init: RequestInit): Promise<Response> {
  try {
    const answer = await fetch(address, { ...init, credentials: 'same-origin', cache: 'no-store' })
    isReachable.value = true
    return answer
  } catch (error) {
    if (init.signal?.aborted === true) throw error
    isReachable.value = false
    throw unreachable()
  }
}

/** `request` with a JSON body; a text is JSON already. */
export function post(path: string, body: object | string, signal?: AbortSignal): Promise<Response> {
  return request(path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: typeof body === 'string' ? body : JSON.stringify(body),
    ...(signal === undefined ? {} : { signal }),
  })
}

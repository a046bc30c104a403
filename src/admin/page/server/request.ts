import { signal } from '@preact/signals'
import { readRefusal, SESSION_ENDED, unreachable } from './refusal'

/** The address of the page, which has no slash at its end: everything that it calls is below. */
export const BASE = globalThis.location?.pathname ?? ''

const KEY_HEADER = 'satchel-admin-key'

/** The half of the session that this tab holds; the other half is a cookie. */
export const sessionKey = signal<string | null>(null)

/** False from the first request without an answer to the next with one. */
export const isReachable = signal(true)

/** Called with each answer that says that the session has ended. */
export const onSessionEnd: { handler: () => void } = { handler: () => undefined }

/** Calls the server with both halves of the session. Throws a `Refusal`. */
export async function request(path: string, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers)
  if (sessionKey.value !== null) headers.set(KEY_HEADER, sessionKey.value)
  const answer = await send(`${BASE}/${path}`, { ...init, headers })
  if (answer.ok) return answer
  const refusal = readRefusal(answer.status, await answer.json().catch(() => null))
  if (answer.status === 401 && refusal.code === SESSION_ENDED) onSessionEnd.handler()
  throw refusal
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

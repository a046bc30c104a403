import { freshStamp } from './rows'
import type { Load } from './wrk'

/** The answer of a server to the first request of a load. */
export interface Answer {
  readonly status: number
  /** Those the application sets, in the order they came. */
  readonly headers: Readonly<Record<string, string>>
  /** The beginning of the body; whole when it is that of an object or a token. */
  readonly text: string
  readonly bytes: number
}

const framing = new Set(['connection', 'content-length', 'date', 'keep-alive', 'transfer-encoding'])

/**
 * Sends the first request of a load once.
 * @throws Error when it is refused.
 */
export async function rehearse(url: string, load: Load): Promise<Answer> {
  const request = load.requests[0]
  if (request === undefined) throw new Error('A load without requests')
  const response = await fetch(url + request.path, {
    method: load.method,
    headers: {
      ...(load.token === undefined ? {} : { authorization: `Bearer ${load.token}` }),
      ...(request.body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(request.body === undefined
      ? {}
      : { body: request.body.replaceAll(freshStamp, '0'.repeat(freshStamp.length)) }),
  })
  const body = await response.bytes()
  const text = new TextDecoder().decode(body.subarray(0, 4000))
  if (!response.ok) {
    throw new Error(`${load.method} ${request.path}: ${response.status} ${text.slice(0, 300)}`)
  }
  return {
    status: response.status,
    headers: Object.fromEntries([...response.headers].filter(([name]) => !framing.has(name))),
    text,
    bytes: body.length,
  }
}

/**
 * A ratio means something only when both did the same work.
 * @throws Error when the floor answers with another status or another number of bytes.
 */
export function requireSameAnswer(floor: Answer, satchel: Answer): void {
  if (floor.status === satchel.status && floor.bytes === satchel.bytes) return
  throw new Error(
    `The floor answers ${describe(floor)}, Satchel ${describe(satchel)}: they do not do the same`,
  )
}

function describe({ status, bytes, text }: Answer): string {
  return `${status} with ${bytes} bytes (${text.slice(0, 200)})`
}

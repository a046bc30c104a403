import { SatchelError } from '../domain/value/error'
import { SECOND } from '../domain/value/time'
import type { Fault, FaultChange } from '../host/test-mode'
import { readDuration } from './clock'

export const NO_FAULT: Fault = { latency: 0, errorRate: 0, offline: false, loseReplies: false }

/** Below the idle timeout of connections, ms. */
const LONGEST_LATENCY = 20 * SECOND

/** The fault after a change, whose absent fields change nothing. Throws `INVALID_REQUEST`. */
export function changeFault(before: Fault, change: FaultChange): Fault {
  const { errorRate, offline, loseReplies } = change
  const latency = change.latency === null ? before.latency : readDuration(change.latency)
  if (latency < 0 || latency > LONGEST_LATENCY) throw refusal('latency must be at most 20s')
  if (errorRate !== null && !(errorRate >= 0 && errorRate <= 1)) {
    throw refusal('errorRate must be a number from 0 to 1')
  }
  return {
    latency,
    errorRate: errorRate ?? before.errorRate,
    offline: offline ?? before.offline,
    loseReplies: loseReplies ?? before.loseReplies,
  }
}

/** Handles a request, which `proceed` would answer, while the server is to fail. */
export async function underFault<Answer>(
  { latency, errorRate, offline, loseReplies }: Fault,
  request: Request,
  proceed: () => Answer | Promise<Answer>,
): Promise<Answer | Response> {
  if (offline) return brokenConnection()
  if (latency > 0) await Bun.sleep(latency)
  if (Math.random() < errorRate) return failure(request.headers.get('origin'))
  const answer = await proceed()
  const isSocket = request.headers.has('upgrade')
  return loseReplies && !isSocket ? brokenConnection() : answer
}

/** Bun closes the connection before it sends a header. An error with a value would be printed. */
function brokenConnection(): Response {
  return new Response(new ReadableStream({ start: (controller) => controller.error(undefined) }))
}

function failure(origin: string | null): Response {
  const message = 'The server fails because a test told it to: see /<database>/_test/fault'
  return Response.json(
    { code: 'BUSY', message },
    {
      status: 503,
      headers: {
        'Retry-After': '1',
        ...(origin === null ? {} : { 'Access-Control-Allow-Origin': origin }),
      },
    },
  )
}

function refusal(sentence: string): SatchelError {
  return new SatchelError('INVALID_REQUEST', sentence)
}

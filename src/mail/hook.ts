import { signWebhook } from '../domain/value/webhook-signature'
import type { Outbound } from '../net/outbound'
import { DeliveryError, type Transport, parseSender } from './message'

/** ms. A slower hook would delay the mails behind it, and the end of the process. */
const TIMEOUT_MS = 5_000

/**
 * Hands messages to a web hook, as `POST` of `{type, to, from, subject, text, html, variables}`; a
 * 2xx means that the hook has taken the mail. It may use the texts of the templates or its own.
 * Requests are signed with `secret` according to Standard Webhooks, as those about new users are.
 */
export function hookTransport(url: string, secret: string, call: Outbound): Transport {
  return async ({ id, letter, from, subject, text, html, date }, signal) => {
    const { kind: type, to, variables } = letter
    const body = JSON.stringify({
      type,
      to,
      from: parseSender(from),
      subject,
      text,
      html,
      variables,
    })
    const signature = signWebhook({ id, body }, [secret], date)
    const headers = { ...signature, 'content-type': 'application/json' }
    const request = call(url, { method: 'POST', headers, body, timeout: TIMEOUT_MS })
    const { status } = await unlessAborted(signal, request).catch((error: unknown) => {
      throw explain(error)
    })
    if (status >= 200 && status < 300) return
    throw new DeliveryError(`The mail hook answered ${status}`, isFinal(status))
  }
}

/** True when the hook rejects the mail itself: authentication and availability may change. */
function isFinal(status: number): boolean {
  return status === 400 || status === 410 || status === 413 || status === 422
}

function explain(error: unknown): DeliveryError {
  const message = error instanceof Error ? error.message : 'The mail hook failed'
  return new DeliveryError(message, false, error)
}

async function unlessAborted<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  const stopped = Promise.withResolvers<never>()
  const stop = () => stopped.reject(new Error('The server is stopping'))
  signal.addEventListener('abort', stop, { once: true })
  try {
    return await Promise.race([work, stopped.promise])
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

import { createHmac } from 'node:crypto'

/** A request to a web hook, before it is signed. */
export interface WebhookMessage {
  /** The same whenever it is sent again, so that nothing is done twice. */
  readonly id: string
  readonly body: string
}

/**
 * The headers that authenticate a request to a web hook (Standard Webhooks 1.0.0): an HMAC-SHA-256 of id,
 * time and body with each of the secrets. `now` in ms.
 */
export function signWebhook(
  { id, body }: WebhookMessage,
  secrets: readonly string[],
  now: number,
): Readonly<Record<string, string>> {
  const seconds = Math.floor(now / 1000)
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64')
    const hmac = createHmac('sha256', key).update(`${id}.${seconds}.${body}`)
    return `v1,${hmac.digest('base64')}`
  })
  return {
    'webhook-id': id,
    'webhook-timestamp': String(seconds),
    'webhook-signature': signatures.join(' '),
  }
}

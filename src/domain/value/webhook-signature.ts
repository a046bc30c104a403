import { createHmac, randomBytes } from 'node:crypto'

/** A request to a web hook, before it is signed. */
export interface WebhookMessage {
  /** Every attempt has this id, so that a hook can recognize a repeated message. */
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

/** A new secret for signatures, in the form that the libraries of Standard Webhooks take. */
export function newWebhookSecret(): string {
  return `${PREFIX}${randomBytes(32).toString('base64')}`
}

/** True for `whsec_` and 24 to 64 bytes in base64 (Standard Webhooks 1.0.0). */
export function isWebhookSecret(text: string): boolean {
  const bytes = text.startsWith(PREFIX) ? Buffer.from(text.slice(PREFIX.length), 'base64') : null
  const isWhole = bytes !== null && PREFIX + bytes.toString('base64') === text
  return isWhole && bytes.length >= 24 && bytes.length <= 64
}

const PREFIX = 'whsec_'

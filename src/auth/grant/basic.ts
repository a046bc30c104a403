import type { ClientCredentials } from '../../domain/database/client'
import { SatchelError } from '../../domain/value/error'

/**
 * The client id and secret in an `Authorization: Basic` header, undefined when it has another
 * scheme or there is none (RFC 6749 §2.3.1). Throws `INVALID_CLIENT` when it cannot be read.
 */
export function readBasic(authorization: string | null): ClientCredentials | undefined {
  const [, encoded] = /^basic +(.*)$/i.exec(authorization ?? '') ?? []
  if (encoded === undefined) return undefined
  const decoded = Buffer.from(encoded, 'base64').toString('utf8')
  const colon = decoded.indexOf(':')
  const clientId = unescape(decoded.slice(0, Math.max(colon, 0)))
  const clientSecret = unescape(decoded.slice(colon + 1))
  if (colon > 0 && clientId !== undefined && clientSecret !== undefined) {
    return { clientId, clientSecret }
  }
  throw new SatchelError(
    'INVALID_CLIENT',
    'The Authorization header must hold the base64 of id:secret',
  )
}

/** Id and secret are form-encoded before they are joined. */
function unescape(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return undefined
  }
}

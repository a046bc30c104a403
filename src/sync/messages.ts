import { jsonOf } from '../domain/value/escape'

/** The fields of a message, unchecked. */
export type Fields = Readonly<Record<string, unknown>>

export const PONG = '{"type":"pong"}'
export const TOKEN_EXPIRED = '{"type":"token-expired"}'

/** The longest message that is read, in characters: a revision and a hash. */
const MAX_MESSAGE = 4_096

/** The message of a client; undefined when it is none. */
export function readMessage(text: string): Fields | undefined {
  if (text.length > MAX_MESSAGE) return undefined
  const message = jsonOf(text)
  return typeof message === 'object' && message !== null ? (message as Fields) : undefined
}

export function errorMessage(reason: string): string {
  return JSON.stringify({ type: 'error', error: reason })
}

/** Has the client pull, whatever it has. */
export function realmsChanged(hash: string): string {
  return JSON.stringify({ type: 'realms-changed', realmsHash: hash })
}

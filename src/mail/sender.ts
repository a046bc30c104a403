import { requireEmail } from '../domain/value/email'

/** The sender of a mail. */
export interface Sender {
  /** Empty when there is none. */
  readonly name: string
  readonly address: string
}

/** `Name <address>`, or the address alone. Throws an error with the expected form. */
export function parseSender(text: string): Sender {
  const [, name = '', bracketed] = /^\s*"?([^"<>\p{Cc}]*?)"?\s*<([^<>]*)>\s*$/u.exec(text) ?? []
  try {
    const address = requireEmail(bracketed ?? text)
    return { name: name.trim(), address }
  } catch (cause) {
    throw new Error('an address or a name and an address: My App <app@example.com>', { cause })
  }
}

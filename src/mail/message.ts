import type { Letter } from '../domain/store/mailer'
import { requireEmail } from '../domain/value/email'

/** A mail as it is handed to its transport. */
export interface Message {
  /** Every attempt to send the mail has this id. */
  readonly id: string
  readonly letter: Letter
  /** `Name <address>` */
  readonly from: string
  readonly subject: string
  readonly text: string
  readonly html: string
  /** ms since the epoch. */
  readonly date: number
}

/** Sends a message. Throws `DeliveryError`, and at once when `signal` aborts. */
export type Transport = (message: Message, signal: AbortSignal) => Promise<void>

/** The reason why a message could not be sent. */
export class DeliveryError extends Error {
  override readonly name = 'DeliveryError'

  constructor(
    message: string,
    /** True when another try is useless. */
    readonly isFinal: boolean,
    cause?: unknown,
  ) {
    super(message, cause === undefined ? undefined : { cause })
  }
}

/** The sender of a mail. */
export interface Sender {
  /** Empty when there is none. */
  readonly name: string
  readonly address: string
}

/** `Name <address>`, or the address alone. Throws an error with the expected form. */
export function parseSender(text: string): Sender {
  const [, before = '', bracketed] = /^([^<>]*)<([^<>]*)>$/.exec(text.trim()) ?? []
  const [, name] = /^"?([^"\p{Cc}]*)"?$/u.exec(before.trim()) ?? []
  try {
    const address = requireEmail(name === undefined ? text : (bracketed ?? text))
    return { name: name?.trim() ?? '', address }
  } catch (cause) {
    throw new Error('an address or a name and an address: My App <app@example.com>', { cause })
  }
}

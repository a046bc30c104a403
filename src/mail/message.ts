import type { Letter } from '../domain/store/mailer'

/** A mail as it is handed to its transport. */
export interface Message {
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

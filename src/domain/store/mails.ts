import { hashSecret } from '../value/secret'
import { foldEmail } from '../value/email'

/** A letter that waits to be sent. Reading it needs the secret key of the database. */
export interface QueuedMail {
  readonly id: string
  /** `recipientOf` the address. */
  readonly recipient: string
  readonly sealed: string
  /** How often it was tried. */
  readonly attempts: number
  /** ms since the epoch. */
  readonly created: number
  /** When to try next. */
  readonly due: number
  readonly expires: number
}

/** Finds the letters to an address without storing the address itself. */
export function recipientOf(address: string): string {
  return hashSecret(foldEmail(address))
}

export interface MailReader {
  /** Up to `limit` mails that are due at `now`, ms, the longest waiting first. */
  due(now: number, limit: number): QueuedMail[]
}

export interface MailWriter extends MailReader {
  put(mail: QueuedMail): void
  /** False when there was none. */
  remove(id: string): boolean
}

/** A mail in the list. The server tells codes, links and texts in development and in test mode only. */
export interface MailInfo {
  readonly id: string
  readonly kind: string
  readonly to: string
  /** ms since the epoch. */
  readonly at: number
  readonly state: string
  readonly subject?: string | null
  readonly otp?: string | null
  readonly link?: string | null
  readonly attempts?: number
  readonly failure?: string | null
}

export interface WholeMail extends MailInfo {
  readonly text?: string | null
  readonly html?: string | null
  readonly raw?: string | null
}

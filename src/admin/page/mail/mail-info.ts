/** A mail in the list. The server tells codes, links and texts in development and in test mode only; else they are null. */
export interface MailInfo {
  readonly id: string
  readonly kind: string
  readonly to: string
  /** When it was sent or given up, or came into the queue; ms since the epoch. */
  readonly at: number
  readonly state: string
  readonly attempts: number
  readonly failure: string | null
  readonly subject: string | null
  readonly otp: string | null
  readonly otpState: 'open' | 'used' | 'expired' | null
  readonly link: string | null
}

export interface MailList {
  readonly mails: readonly MailInfo[]
  /** True where codes and contents are told. */
  readonly isShown: boolean
}

export interface WholeMail extends MailInfo {
  readonly text: string | null
  readonly html: string | null
  /** The source of the mail. */
  readonly raw: string | null
}
